/* Plain kernels: the attention core, one head of one row at a time.  The backward pass computes the
 * probabilities again. */
#include "backend/cpu/reference.h"

#include "base/rng.h"

#include <math.h>
#include <string.h>

/* Queries, keys and values of one row, from one packed input or three; rows are ld apart. */
struct head {
    const REAL *q, *k, *v;
    REAL *dq, *dk, *dv; /* NULL where nobody needs it */
    size_t ld;
    int32_t length, width; /* of the sequence, of the head */
    const int32_t *tokens; /* of the row; NULL: no mask */
    size_t first_index;    /* of dropout: of the head's first probability */
};

static struct head head_at(const struct CALL *c, int32_t r, int32_t h)
{
    const struct op_attr *a = &c->step->attr;
    const int n = inputs_of(c);
    const bool packed = n - (a->masked != 0) == 1;
    const size_t length = (size_t)c->step->in[0].d[0], d = (size_t)c->step->out.d[1];
    struct head head = {.ld = packed ? 3 * d : d, .length = (int32_t)length};
    head.width = (int32_t)d / a->heads;
    const size_t at = (size_t)r * length * head.ld + (size_t)h * (size_t)head.width;
    head.q = c->x + at;
    head.k = packed ? head.q + d : c->more_x[0] + at;
    head.v = packed ? head.q + 2 * d : c->more_x[1] + at;
    head.dq = c->dx ? c->dx + at : NULL;
    if (packed) {
        head.dk = c->dx ? head.dq + d : NULL;
        head.dv = c->dx ? head.dq + 2 * d : NULL;
    } else {
        head.dk = c->more_dx[0] ? c->more_dx[0] + at : NULL;
        head.dv = c->more_dx[1] ? c->more_dx[1] + at : NULL;
    }
    head.tokens = a->masked ? tokens_of(c, n - 1) + (size_t)r * length : NULL;
    head.first_index =
        (((size_t)c->first_row + (size_t)r) * (size_t)a->heads + (size_t)h) * length * length;
    return head;
}

static bool sees(const struct CALL *c, const struct head *h, int32_t i, int32_t j)
{
    return (!c->step->attr.causal || j <= i) &&
           (!h->tokens || h->tokens[j] != c->step->attr.pad_id);
}

static REAL dot(const REAL *a, const REAL *b, int32_t n)
{
    REAL sum = 0;
    for (int32_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

/* Probabilities of query i over all keys: 0 where it may not look, all 0 where it sees none. */
static void probabilities(const struct CALL *c, const struct head *h, int32_t i, REAL *p)
{
    const REAL scale = (REAL)(1 / sqrt((double)h->width));
    double top = -INFINITY, sum = 0;
    for (int32_t j = 0; j < h->length; j++) {
        p[j] = scale * dot(h->q + (size_t)i * h->ld, h->k + (size_t)j * h->ld, h->width);
        if (sees(c, h, i, j) && !((double)p[j] <= top))
            top = (double)p[j];
    }
    for (int32_t j = 0; j < h->length; j++) {
        p[j] = sees(c, h, i, j) ? (REAL)exp((double)p[j] - top) : 0;
        sum += (double)p[j];
    }
    for (int32_t j = 0; j < h->length; j++)
        p[j] = sum == 0 ? 0 : (REAL)((double)p[j] / sum);
}

/* What dropout multiplies P[i][j] with. */
static REAL factor(const struct CALL *c, const struct head *h, int32_t i, int32_t j)
{
    const float p = c->step->attr.p;
    if (!c->training || p == 0)
        return 1;
    const size_t index = h->first_index + (size_t)i * (size_t)h->length + (size_t)j;
    const uint32_t word = rng_u32_at(c->seed, RNG_DROPOUT, (uint32_t)c->step->ordinal, c->epoch,
                                     c->batch, (uint32_t)index);
    return rng_unit(word) >= p ? (REAL)(1.0f / (1.0f - p)) : 0;
}

static void forward(const struct CALL *c)
{
    const int32_t d = c->step->out.d[1], length = c->step->out.d[0];
    for (int32_t r = 0; r < c->rows; r++)
        for (int32_t n = 0; n < c->step->attr.heads; n++) {
            const struct head h = head_at(c, r, n);
            for (int32_t i = 0; i < length; i++) {
                REAL *y = c->y + ((size_t)r * length + i) * d + n * h.width;
                probabilities(c, &h, i, c->scratch);
                memset(y, 0, (size_t)h.width * sizeof(REAL));
                for (int32_t j = 0; j < length; j++)
                    for (int32_t e = 0; sees(c, &h, i, j) && e < h.width; e++)
                        y[e] += factor(c, &h, i, j) * c->scratch[j] * h.v[j * h.ld + e];
            }
        }
}

/* The gradients query i gives its head, from dy of its output. */
static void backward_query(const struct CALL *c, const struct head *h, int32_t i, const REAL *dy)
{
    const REAL scale = (REAL)(1 / sqrt((double)h->width));
    REAL *p = c->scratch, *dp = p + h->length, sum = 0;
    probabilities(c, h, i, p);
    for (int32_t j = 0; j < h->length; j++) {
        dp[j] = factor(c, h, i, j) * dot(dy, h->v + (size_t)j * h->ld, h->width);
        if (p[j] != 0)
            sum += p[j] * dp[j];
    }
    for (int32_t j = 0; j < h->length; j++) {
        if (!sees(c, h, i, j))
            continue;
        const REAL kept = factor(c, h, i, j) * p[j], ds = scale * p[j] * (dp[j] - sum);
        for (int32_t e = 0; e < h->width; e++) {
            if (h->dv)
                h->dv[j * h->ld + e] += kept * dy[e];
            if (h->dq)
                h->dq[i * h->ld + e] += ds * h->k[j * h->ld + e];
            if (h->dk)
                h->dk[j * h->ld + e] += ds * h->q[i * h->ld + e];
        }
    }
}

static void backward(const struct CALL *c)
{
    const int32_t d = c->step->out.d[1], length = c->step->out.d[0];
    for (int n = 0; n < inputs_of(c) - (c->step->attr.masked != 0); n++)
        if (gradient_of(c, n) && !adds_to(c, n))
            memset(gradient_of(c, n), 0,
                   (size_t)c->rows * shape_count(c->step->in[n]) * sizeof(REAL));
    for (int32_t r = 0; r < c->rows; r++)
        for (int32_t n = 0; n < c->step->attr.heads; n++) {
            const struct head h = head_at(c, r, n);
            for (int32_t i = 0; i < length; i++)
                backward_query(c, &h, i, c->dy + ((size_t)r * length + i) * d + n * h.width);
        }
}

static size_t scratch(const struct plan_step *step, int32_t rows_per_shard)
{
    (void)rows_per_shard;
    return 2 * (size_t)step->in[0].d[0];
}

const struct KERNEL REFERENCE(attention)[] = {
    {STEP_FORWARD, OP_ATTENTION, "reference attention", forward, scratch, false},
    {STEP_BACKWARD, OP_ATTENTION, "reference attention", backward, scratch, false},
    {0},
};
