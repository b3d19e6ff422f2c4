/* Plain kernels: embeddings, positions, the first token, the tied product. */
#include "backend/cpu/reference.h"

#include <math.h>
#include <string.h>

/* ---- tables ---- */

/* Zeroes rows [from, to) of a table's gradient, unless it is being added to. */
static void start_table(const struct CALL *c, int32_t d, int32_t from, int32_t to)
{
    if (!(c->add_grad & 1))
        memset(c->grad[0] + (size_t)from * (size_t)d, 0,
               (size_t)(to - from) * (size_t)d * sizeof(REAL));
}

static void add_row(const struct CALL *c, int32_t d, int32_t row, const REAL *dy, REAL scale)
{
    for (int32_t i = 0; i < d; i++)
        c->grad[0][(size_t)row * (size_t)d + (size_t)i] += scale * dy[i];
}

static void embedding_forward(const struct CALL *c)
{
    const struct op_attr *a = &c->step->attr;
    const size_t d = (size_t)last_of(c->step->out), n = vectors_of(c, c->step->out);
    const int32_t *id = tokens_of(c, 0);
    for (size_t v = 0; v < n; v++)
        for (size_t i = 0; i < d; i++)
            c->y[v * d + i] = id[v] >= 0 && id[v] < a->rows
                                  ? (REAL)a->scale * c->param[0][(size_t)id[v] * d + i]
                                  : (REAL)NAN;
}

static void embedding_backward(const struct CALL *c)
{
    const struct op_attr *a = &c->step->attr;
    const int32_t d = last_of(c->step->out), *id = tokens_of(c, 0);
    const size_t n = vectors_of(c, c->step->out);
    int32_t from, to;
    if (!c->grad[0])
        return;
    part_of(c, a->rows, &from, &to);
    start_table(c, d, from, to);
    for (size_t v = 0; v < n; v++)
        if (id[v] >= from && id[v] < to && id[v] != a->pad_id)
            add_row(c, d, id[v], c->dy + v * (size_t)d, (REAL)a->scale);
}

/* Row of the table at each place, one place at a time: `count` counts the tokens met. */
static int32_t position_at(const struct CALL *c, size_t v, int32_t *count)
{
    const struct op_attr *a = &c->step->attr;
    const int32_t place = (int32_t)(v % (size_t)c->step->in[0].d[0]);
    if (a->position != POSITION_OF_TOKENS)
        return a->position == POSITION_INDEX ? place : 0;
    if (place == 0)
        *count = 0;
    return tokens_of(c, 1)[v] == a->pad_id ? a->pad_id : a->pad_id + ++*count;
}

static void positions_forward(const struct CALL *c)
{
    const size_t d = (size_t)last_of(c->step->in[0]), n = vectors_of(c, c->step->in[0]);
    int32_t count = 0;
    for (size_t v = 0; v < n; v++) {
        const size_t row = (size_t)position_at(c, v, &count);
        for (size_t i = 0; i < d; i++)
            c->y[v * d + i] = c->x[v * d + i] + c->param[0][row * d + i];
    }
}

static void positions_backward(const struct CALL *c)
{
    const struct op_attr *a = &c->step->attr;
    const int32_t d = last_of(c->step->in[0]);
    const size_t n = vectors_of(c, c->step->in[0]);
    int32_t count = 0;
    if (c->grad[0]) {
        start_table(c, d, 0, a->rows);
        for (size_t v = 0; v < n; v++) {
            const int32_t row = position_at(c, v, &count);
            if (a->position != POSITION_OF_TOKENS || row != a->pad_id)
                add_row(c, d, row, c->dy + v * (size_t)d, 1);
        }
    }
    for (size_t i = 0; c->dx && i < n * (size_t)d; i++)
        put(&c->dx[i], c->add_dx, c->dy[i]);
}

/* ---- the first token ---- */

static void first_token_forward(const struct CALL *c)
{
    const size_t n = shape_count(c->step->in[0]), d = shape_count(c->step->out);
    for (int32_t r = 0; r < c->rows; r++)
        memcpy(c->y + (size_t)r * d, c->x + (size_t)r * n, d * sizeof(REAL));
}

static void first_token_backward(const struct CALL *c)
{
    const size_t n = shape_count(c->step->in[0]), d = shape_count(c->step->out);
    for (size_t i = 0; i < (size_t)c->rows * n; i++)
        put(&c->dx[i], c->add_dx, i % n < d ? c->dy[i / n * d + i % n] : 0);
}

/* ---- the tied product: weight (n, d), one row an output ---- */

static void tied_forward(const struct CALL *c)
{
    const size_t d = (size_t)last_of(c->step->in[0]), n = (size_t)last_of(c->step->out);
    const size_t vectors = vectors_of(c, c->step->in[0]);
    for (size_t v = 0; v < vectors; v++)
        for (size_t o = 0; o < n; o++) {
            REAL sum = 0;
            for (size_t i = 0; i < d; i++)
                sum += c->x[v * d + i] * c->param[0][o * d + i];
            c->y[v * n + o] = sum;
        }
}

static void tied_weight_gradient(const struct CALL *c)
{
    const size_t d = (size_t)last_of(c->step->in[0]), n = (size_t)last_of(c->step->out);
    const size_t vectors = vectors_of(c, c->step->in[0]);
    int32_t from, to;
    part_of(c, (int32_t)n, &from, &to);
    for (size_t o = (size_t)from; o < (size_t)to; o++)
        for (size_t i = 0; i < d; i++) {
            REAL sum = 0;
            for (size_t v = 0; v < vectors; v++)
                sum += c->dy[v * n + o] * c->x[v * d + i];
            put(&c->grad[0][o * d + i], c->add_grad & 1, sum);
        }
}

static void tied_backward(const struct CALL *c)
{
    const size_t d = (size_t)last_of(c->step->in[0]), n = (size_t)last_of(c->step->out);
    const size_t vectors = vectors_of(c, c->step->in[0]);
    if (c->grad[0])
        tied_weight_gradient(c);
    for (size_t v = 0; c->dx && v < vectors; v++)
        for (size_t i = 0; i < d; i++) {
            REAL sum = 0;
            for (size_t o = 0; o < n; o++)
                sum += c->dy[v * n + o] * c->param[0][o * d + i];
            put(&c->dx[v * d + i], c->add_dx, sum);
        }
}

const struct KERNEL REFERENCE(sequence)[] = {
    {STEP_FORWARD, OP_EMBEDDING, "reference embedding", embedding_forward, NULL, false},
    {STEP_BACKWARD, OP_EMBEDDING, "reference embedding", embedding_backward, NULL, false},
    {STEP_BACKWARD_PARAMS, OP_EMBEDDING, "reference embedding", embedding_backward, NULL, false},
    {STEP_FORWARD, OP_POSITIONS, "reference positions", positions_forward, NULL, false},
    {STEP_BACKWARD, OP_POSITIONS, "reference positions", positions_backward, NULL, false},
    {STEP_FORWARD, OP_FIRST_TOKEN, "reference first_token", first_token_forward, NULL, false},
    {STEP_BACKWARD, OP_FIRST_TOKEN, "reference first_token", first_token_backward, NULL, false},
    {STEP_FORWARD, OP_TIED_LINEAR, "reference tied_linear", tied_forward, NULL, false},
    {STEP_BACKWARD, OP_TIED_LINEAR, "reference tied_linear", tied_backward, NULL, false},
    {STEP_BACKWARD_PARAMS, OP_TIED_LINEAR, "reference tied_linear", tied_weight_gradient, NULL,
     false},
    {0},
};
