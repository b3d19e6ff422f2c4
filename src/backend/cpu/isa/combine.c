/* Sums, products and concatenations of values. */
#include "backend/cpu/isa/kernels.h"

/* b may be repeated: over the pixels of the image a, or over its channels. */
enum repeat { REPEAT_NONE, REPEAT_PIXELS, REPEAT_CHANNELS };

struct extent {
    enum repeat repeat;
    size_t pixels, channels; /* of a row of a */
    size_t n_b;              /* elements of a row of b */
};

static struct extent extent_of(const struct plan_step *s)
{
    const struct shape a = s->in[0], b = s->in[1];
    struct extent e = {REPEAT_NONE, 1, shape_count(a), shape_count(b)};
    if (shape_equal(a, b))
        return e;
    const bool one_pixel = b.rank == 1 || (b.d[0] == 1 && b.d[1] == 1);
    e.channels = (size_t)a.d[a.rank - 1];
    e.pixels = shape_count(a) / e.channels;
    e.repeat = one_pixel && e.n_b == e.channels ? REPEAT_PIXELS : REPEAT_CHANNELS;
    return e;
}

/* ---- forward ---- */

static void add_forward(const struct op_call *c)
{
    const struct extent e = extent_of(c->step);
    const float *a = c->x, *b = c->more_x[0];
    float *y = c->y;
    if (e.repeat == REPEAT_NONE && c->relu) {
        for (size_t i = 0; i < (size_t)c->rows * e.channels; i++) {
            const float sum = a[i] + b[i];
            y[i] = sum < 0 ? 0 : sum;
        }
        return;
    }
    if (e.repeat == REPEAT_NONE) {
        for (size_t i = 0; i < (size_t)c->rows * e.channels; i++)
            y[i] = a[i] + b[i];
        return;
    }
    for (int32_t r = 0; r < c->rows; r++, b += e.n_b)
        for (size_t p = 0; p < e.pixels; p++, a += e.channels, y += e.channels) {
            for (size_t i = 0; i < e.channels; i++)
                y[i] = a[i] + (e.repeat == REPEAT_PIXELS ? b[i] : b[p]);
            for (size_t i = 0; c->relu && i < e.channels; i++)
                y[i] = y[i] < 0 ? 0 : y[i];
        }
}

static void multiply_forward(const struct op_call *c)
{
    const struct extent e = extent_of(c->step);
    const float *a = c->x, *b = c->more_x[0];
    float *y = c->y;
    if (e.repeat == REPEAT_NONE) {
        for (size_t i = 0; i < (size_t)c->rows * e.channels; i++)
            y[i] = a[i] * b[i];
        return;
    }
    for (int32_t r = 0; r < c->rows; r++, b += e.n_b)
        for (size_t p = 0; p < e.pixels; p++, a += e.channels, y += e.channels)
            if (e.repeat == REPEAT_PIXELS)
                for (size_t i = 0; i < e.channels; i++)
                    y[i] = a[i] * b[i];
            else
                for (size_t i = 0; i < e.channels; i++)
                    y[i] = a[i] * b[p];
}

/* ---- backward: b's gradient first, as a's may be written over dy ---- */

/* a's gradient is dy, or dy times b. */
static void give(float *to, bool add, const float *dy, size_t n)
{
    if (add)
        for (size_t i = 0; i < n; i++)
            to[i] += dy[i];
    else if (to != dy)
        memcpy(to, dy, n * sizeof *to);
}

static void give_product(float *to, bool add, const float *dy, const float *factor, size_t n)
{
    if (add)
        for (size_t i = 0; i < n; i++)
            to[i] += dy[i] * factor[i];
    else
        for (size_t i = 0; i < n; i++)
            to[i] = dy[i] * factor[i];
}

/* The sum of n values, or of n products, in 16 interleaved parts. */
static float sum_of(const float *dy, const float *factor, size_t n)
{
    float part[16] = {0}, sum = 0;
    size_t i = 0;
    for (; i + 16 <= n; i += 16)
        for (size_t k = 0; k < 16; k++)
            part[k] += factor ? dy[i + k] * factor[i + k] : dy[i + k];
    for (size_t k = 0; k < 16; k++)
        sum += part[k];
    for (; i < n; i++)
        sum += factor ? dy[i] * factor[i] : dy[i];
    return sum;
}

/* The gradient of a repeated b: sums over what it was repeated for.  x: NULL for a sum. */
static void repeated_gradient(const struct op_call *c, const struct extent *e, const float *x)
{
    const bool add = c->add_more_dx & 1;
    const float *dy = c->dy;
    float *db = c->more_dx[0];
    for (int32_t r = 0; r < c->rows; r++, db += e->n_b) {
        if (!add)
            memset(db, 0, e->n_b * sizeof *db);
        for (size_t p = 0; p < e->pixels; p++, dy += e->channels, x += x ? e->channels : 0) {
            if (e->repeat == REPEAT_CHANNELS)
                db[p] += sum_of(dy, x, e->channels);
            else if (x)
                give_product(db, true, dy, x, e->channels);
            else
                give(db, true, dy, e->channels);
        }
    }
}

static void add_backward(const struct op_call *c)
{
    const struct extent e = extent_of(c->step);
    const size_t n = (size_t)c->rows * e.pixels * e.channels;
    float *db = c->more_dx[0];
    /* One value twice: its gradient is written by the first and added to by the second. */
    const bool twice = db && db == c->dx;
    if (db && e.repeat != REPEAT_NONE)
        repeated_gradient(c, &e, NULL);
    else if (db && !twice)
        give(db, c->add_more_dx & 1, c->dy, n);
    if (c->dx)
        give(c->dx, c->add_dx, c->dy, n);
    if (twice)
        give(db, c->add_more_dx & 1, c->dy, n);
}

/* dx over all rows where b is repeated. */
static void repeated_product(const struct op_call *c, const struct extent *e)
{
    const float *dy = c->dy, *b = c->more_x[0];
    float *dx = c->dx;
    for (int32_t r = 0; r < c->rows; r++, b += e->n_b)
        for (size_t p = 0; p < e->pixels; p++, dy += e->channels, dx += e->channels)
            if (e->repeat == REPEAT_PIXELS)
                give_product(dx, c->add_dx, dy, b, e->channels);
            else
                for (size_t i = 0; i < e->channels; i++)
                    dx[i] = (c->add_dx ? dx[i] : 0) + dy[i] * b[p];
}

static void multiply_backward(const struct op_call *c)
{
    const struct extent e = extent_of(c->step);
    const size_t n = (size_t)c->rows * e.pixels * e.channels;
    const float *dy = c->dy, *a = c->x, *b = c->more_x[0];
    float *da = c->dx, *db = c->more_dx[0];
    const bool add_b = c->add_more_dx & 1;
    if (e.repeat != REPEAT_NONE) {
        if (db)
            repeated_gradient(c, &e, a);
        if (da)
            repeated_product(c, &e);
    } else if (da && db) { /* element by element: da may be dy, or db */
        for (size_t i = 0; i < n; i++) {
            const float d = dy[i];
            da[i] = (c->add_dx ? da[i] : 0) + d * b[i];
            db[i] = (add_b ? db[i] : 0) + d * a[i];
        }
    } else if (da) {
        give_product(da, c->add_dx, dy, b, n);
    } else if (db) {
        give_product(db, add_b, dy, a, n);
    }
}

/* ---- concatenation along the last dimension ---- */

static int32_t width_of(const struct plan_step *s, int i)
{
    return s->in[i].rank > 0 ? s->in[i].d[s->in[i].rank - 1] : 0;
}

static size_t vectors_of(const struct op_call *c)
{
    const struct shape out = c->step->out;
    return (size_t)c->rows * shape_count(out) / (size_t)out.d[out.rank - 1];
}

static void concatenate_forward(const struct op_call *c)
{
    const size_t out = (size_t)c->step->out.d[c->step->out.rank - 1], n = vectors_of(c);
    size_t first = 0;
    for (int i = 0; i < OP_MAX_INPUTS; i++) {
        const size_t d = (size_t)width_of(c->step, i);
        const float *x = i == 0 ? c->x : c->more_x[i - 1];
        for (size_t v = 0; d > 0 && v < n; v++)
            memcpy(c->y + v * out + first, x + v * d, d * sizeof *x);
        first += d;
    }
}

static void concatenate_backward(const struct op_call *c)
{
    const size_t out = (size_t)c->step->out.d[c->step->out.rank - 1], n = vectors_of(c);
    size_t first = 0;
    for (int i = 0; i < OP_MAX_INPUTS; i++) {
        const size_t d = (size_t)width_of(c->step, i);
        float *dx = i == 0 ? c->dx : c->more_dx[i - 1];
        const bool add = i == 0 ? c->add_dx : c->add_more_dx >> (i - 1) & 1;
        for (size_t v = 0; dx && d > 0 && v < n; v++)
            give(dx + v * d, add, c->dy + v * out + first, d);
        first += d;
    }
}

const struct cpu_kernel ISA_FN(combine_kernels)[] = {
    {STEP_FORWARD, OP_ADD, "add", add_forward, NULL, true},
    {STEP_BACKWARD, OP_ADD, "add", add_backward, NULL, false},
    {STEP_FORWARD, OP_MULTIPLY, "multiply", multiply_forward, NULL, false},
    {STEP_BACKWARD, OP_MULTIPLY, "multiply", multiply_backward, NULL, false},
    {STEP_FORWARD, OP_CONCATENATE, "concatenate", concatenate_forward, NULL, false},
    {STEP_BACKWARD, OP_CONCATENATE, "concatenate", concatenate_backward, NULL, false},
    {0},
};
