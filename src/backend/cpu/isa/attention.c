/* The attention core, one head of one row at a time: its scores stay in the second cache.  The
 * backward pass computes the probabilities again. */
#include "backend/cpu/isa/dropout.h"
#include "backend/cpu/isa/kernels.h"
#include "backend/cpu/isa/math.h"
#include "backend/cpu/isa/product.h"

#define LANES 16 /* interleaved parts of a maximum or a sum */

/* A head of a row: queries, keys and values are ld apart, outputs d. */
struct head {
    const float *q, *k, *v, *dy;
    float *y, *dq, *dk, *dv; /* gradients: NULL where nobody needs it */
    ptrdiff_t ld, d;
    int32_t length, width; /* of the sequence, of the head */
    float scale;
    size_t first_index; /* of dropout: of the first probability */
};

/* length x length each; hidden: 0, or -infinity for keys nobody may look at. */
struct room {
    float *p, *dp, *factors, *hidden, *product;
};

static size_t round16(size_t n)
{
    return (n + 15) / 16 * 16;
}

static int values_of(const struct plan_step *s)
{
    int n = 0;
    while (n < OP_MAX_INPUTS && s->in[n].rank > 0)
        n++;
    return n - (s->attr.masked != 0);
}

static struct room room_at(const struct plan_step *s, float *scratch, size_t *floats)
{
    const size_t length = (size_t)s->in[0].d[0], scores = round16(length * length);
    const int32_t width = s->out.d[1] / s->attr.heads;
    const size_t panel = product_scratch((int32_t)length > width ? (int32_t)length : width);
    *floats = 3 * scores + DROPOUT_ROOM + round16(length) + panel;
    struct room r = {0};
    if (scratch) {
        r.p = scratch;
        r.dp = r.p + scores;
        r.factors = r.dp + scores;
        r.hidden = r.factors + scores + DROPOUT_ROOM;
        r.product = r.hidden + round16(length);
    }
    return r;
}

static struct head head_at(const struct op_call *c, int32_t r, int32_t n)
{
    const struct op_attr *a = &c->step->attr;
    const size_t length = (size_t)c->step->in[0].d[0], d = (size_t)c->step->out.d[1];
    const bool packed = values_of(c->step) == 1;
    struct head h = {.ld = (ptrdiff_t)(packed ? 3 * d : d),
                     .d = (ptrdiff_t)d,
                     .length = (int32_t)length,
                     .width = (int32_t)d / a->heads};
    const ptrdiff_t at = (ptrdiff_t)((size_t)r * length) * h.ld + (ptrdiff_t)n * h.width;
    const ptrdiff_t out = (ptrdiff_t)((size_t)r * length * d) + (ptrdiff_t)n * h.width;
    h.scale = (float)(1 / sqrt((double)h.width));
    h.first_index =
        (((size_t)c->first_row + (size_t)r) * (size_t)a->heads + (size_t)n) * length * length;
    h.y = c->y ? c->y + out : NULL;
    h.dy = c->dy ? c->dy + out : NULL;
    h.q = c->x + at;
    h.k = packed ? h.q + d : c->more_x[0] + at;
    h.v = packed ? h.q + 2 * d : c->more_x[1] + at;
    h.dq = c->dx ? c->dx + at : NULL;
    if (packed) {
        h.dk = c->dx ? h.dq + d : NULL;
        h.dv = c->dx ? h.dq + 2 * d : NULL;
    } else {
        h.dk = c->more_dx[0] ? c->more_dx[0] + at : NULL;
        h.dv = c->more_dx[1] ? c->more_dx[1] + at : NULL;
    }
    return h;
}

static void hide_keys(const struct op_call *c, int32_t r, float *hidden)
{
    const int32_t length = c->step->in[0].d[0];
    const int n = values_of(c->step);
    memset(hidden, 0, (size_t)length * sizeof *hidden);
    if (!c->step->attr.masked)
        return;
    const int32_t *tokens = (const int32_t *)(const void *)c->more_x[n - 1] + (size_t)r * length;
    for (int32_t j = 0; j < length; j++)
        if (tokens[j] == c->step->attr.pad_id)
            hidden[j] = -INFINITY;
}

static float maximum(const float *x, int32_t n)
{
    float part[LANES], top = -INFINITY;
    int32_t i = 0;
    for (int k = 0; k < LANES; k++)
        part[k] = -INFINITY;
    for (; i + LANES <= n; i += LANES)
        for (int k = 0; k < LANES; k++)
            part[k] = x[i + k] > part[k] ? x[i + k] : part[k];
    for (int k = 0; k < LANES; k++)
        top = part[k] > top ? part[k] : top;
    for (; i < n; i++)
        top = x[i] > top ? x[i] : top;
    return top;
}

static float total(const float *x, int32_t n)
{
    float part[LANES] = {0}, sum = 0;
    int32_t i = 0;
    for (; i + LANES <= n; i += LANES)
        for (int k = 0; k < LANES; k++)
            part[k] += x[i + k];
    for (int k = 0; k < LANES; k++)
        sum += part[k];
    for (; i < n; i++)
        sum += x[i];
    return sum;
}

static bool all_hidden(const float *hidden, int32_t n)
{
    int32_t j = 0;
    while (j < n && hidden[j] != 0)
        j++;
    return j == n;
}

/* Scores of one query to probabilities over its first `n` keys, 0 for the others; all 0 where it
 * sees none. */
static void softmax(float *p, int32_t n, int32_t length, float scale, const float *hidden)
{
    for (int32_t j = 0; j < n; j++)
        p[j] = p[j] * scale + hidden[j];
    const float top = maximum(p, n);
    for (int32_t j = 0; j < n; j++)
        p[j] = exp_of(p[j] - top);
    const float sum = total(p, n);
    const bool none = top == -INFINITY && all_hidden(hidden, n);
    for (int32_t j = 0; j < n; j++)
        p[j] = none ? 0 : p[j] * (1 / sum);
    memset(p + n, 0, (size_t)(length - n) * sizeof *p);
}

static void probabilities(const struct op_call *c, const struct head *h, const struct room *room)
{
    const int32_t length = h->length;
    const struct product scores = {.m = length,
                                   .n = length,
                                   .k = h->width,
                                   .a = h->q,
                                   .a_row = h->ld,
                                   .a_k = 1,
                                   .b = h->k,
                                   .ldb = h->ld,
                                   .turned = true,
                                   .c = room->p,
                                   .ldc = length};
    ISA_FN(product)(&scores, room->product);
    for (int32_t i = 0; i < length; i++)
        softmax(room->p + (ptrdiff_t)i * length, c->step->attr.causal ? i + 1 : length, length,
                h->scale, room->hidden);
}

static bool drops(const struct op_call *c)
{
    return c->training && c->step->attr.p > 0;
}

static void forward_head(const struct op_call *c, const struct head *h, const struct room *room)
{
    const size_t n = (size_t)h->length * (size_t)h->length;
    probabilities(c, h, room);
    if (drops(c)) {
        const float *f = ISA_FN(dropout_factors)(c, h->first_index, n, room->factors);
        for (size_t i = 0; i < n; i++)
            room->p[i] *= f[i];
    }
    const struct product y = {.m = h->length,
                              .n = h->width,
                              .k = h->length,
                              .a = room->p,
                              .a_row = h->length,
                              .a_k = 1,
                              .b = h->v,
                              .ldb = h->ld,
                              .c = h->y,
                              .ldc = h->d};
    ISA_FN(product)(&y, room->product);
}

static void forward(const struct op_call *c)
{
    size_t floats;
    const struct room room = room_at(c->step, c->scratch, &floats);
    for (int32_t r = 0; r < c->rows; r++) {
        hide_keys(c, r, room.hidden);
        for (int32_t n = 0; n < c->step->attr.heads; n++) {
            const struct head h = head_at(c, r, n);
            forward_head(c, &h, &room);
        }
    }
}

/* dp becomes the gradient of the scores; p becomes what multiplied the values. */
static void score_gradients(const struct head *h, const struct room *room, const float *factors)
{
    for (int32_t i = 0; i < h->length; i++) {
        float *p = room->p + (ptrdiff_t)i * h->length, *dp = room->dp + (ptrdiff_t)i * h->length;
        float part[LANES] = {0};
        int32_t j = 0;
        for (int32_t k = 0; factors && k < h->length; k++)
            dp[k] *= factors[(ptrdiff_t)i * h->length + k];
        for (; j + LANES <= h->length; j += LANES)
            for (int k = 0; k < LANES; k++)
                part[k] += p[j + k] * dp[j + k];
        float sum = total(part, LANES);
        for (; j < h->length; j++)
            sum += p[j] * dp[j];
        for (int32_t k = 0; k < h->length; k++)
            dp[k] = h->scale * p[k] * (dp[k] - sum);
        for (int32_t k = 0; factors && k < h->length; k++)
            p[k] *= factors[(ptrdiff_t)i * h->length + k];
    }
}

/* to (+)= A b, or A' b, with the scores A. */
static void through(const struct head *h, const struct room *room, const float *scores,
                    bool transposed, const float *b, ptrdiff_t ldb, float *to, bool add)
{
    const struct product p = {.m = h->length,
                              .n = h->width,
                              .k = h->length,
                              .a = scores,
                              .a_row = transposed ? 1 : h->length,
                              .a_k = transposed ? h->length : 1,
                              .b = b,
                              .ldb = ldb,
                              .c = to,
                              .ldc = h->ld,
                              .add = add};
    if (to)
        ISA_FN(product)(&p, room->product);
}

static void backward_head(const struct op_call *c, const struct head *h, const struct room *room)
{
    const size_t n = (size_t)h->length * (size_t)h->length;
    const bool packed = values_of(c->step) == 1;
    const float *factors =
        drops(c) ? ISA_FN(dropout_factors)(c, h->first_index, n, room->factors) : NULL;
    probabilities(c, h, room);
    const struct product dp = {.m = h->length,
                               .n = h->length,
                               .k = h->width,
                               .a = h->dy,
                               .a_row = h->d,
                               .a_k = 1,
                               .b = h->v,
                               .ldb = h->ld,
                               .turned = true,
                               .c = room->dp,
                               .ldc = h->length};
    ISA_FN(product)(&dp, room->product);
    score_gradients(h, room, factors);
    through(h, room, room->dp, false, h->k, h->ld, h->dq, c->add_dx);
    through(h, room, room->dp, true, h->q, h->ld, h->dk, packed ? c->add_dx : c->add_more_dx & 1);
    through(h, room, room->p, true, h->dy, h->d, h->dv, packed ? c->add_dx : c->add_more_dx & 2);
}

static void backward(const struct op_call *c)
{
    size_t floats;
    const struct room room = room_at(c->step, c->scratch, &floats);
    for (int32_t r = 0; r < c->rows; r++) {
        hide_keys(c, r, room.hidden);
        for (int32_t n = 0; n < c->step->attr.heads; n++) {
            const struct head h = head_at(c, r, n);
            backward_head(c, &h, &room);
        }
    }
}

static size_t scratch(const struct plan_step *step, int32_t rows_per_shard)
{
    size_t floats;
    (void)rows_per_shard;
    room_at(step, NULL, &floats);
    return floats;
}

const struct cpu_kernel ISA_FN(attention_kernels)[] = {
    {STEP_FORWARD, OP_ATTENTION, "attention", forward, scratch, false},
    {STEP_BACKWARD, OP_ATTENTION, "attention", backward, scratch, false},
    {0},
};
