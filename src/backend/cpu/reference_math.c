/* Plain kernels: functions of one element, sums and products of two values, layer norm. */
#include "backend/cpu/reference.h"

#include <math.h>
#include <string.h>

#define SQRT_HALF       0.70710678118654752440
#define INV_SQRT_TWO_PI 0.39894228040143267794

/* ---- functions of one element: value, and slope from x or from y ---- */

static double gelu(double x)
{
    return 0.5 * x * (1 + erf(x * SQRT_HALF));
}

static double gelu_slope(double x)
{
    return 0.5 * (1 + erf(x * SQRT_HALF)) + x * INV_SQRT_TWO_PI * exp(-0.5 * x * x);
}

/* min(max(t, 0), 6), which keeps what is not a number. */
static double relu6(double t)
{
    return t < 0 ? 0 : t > 6 ? 6 : t;
}

static double hardswish(double x)
{
    return x * relu6(x + 3) / 6;
}

static double hardswish_slope(double x)
{
    return x <= -3 ? 0 : x >= 3 ? 1 : (2 * x + 3) / 6;
}

static double hardsigmoid(double x)
{
    return relu6(x + 3) / 6;
}

static double hardsigmoid_slope(double x)
{
    return x > -3 && x < 3 ? 1.0 / 6.0 : 0;
}

static double sigmoid(double x)
{
    const double e = exp(x < 0 ? x : -x);
    return (x < 0 ? e : 1) / (1 + e);
}

static double sigmoid_slope(double y)
{
    return y * (1 - y);
}

static double tanh_slope(double y)
{
    return 1 - y * y;
}

static void apply(const struct CALL *c, double (*f)(double))
{
    const size_t n = (size_t)c->rows * shape_count(c->step->out);
    for (size_t i = 0; i < n; i++)
        c->y[i] = (REAL)f((double)c->x[i]);
}

static void back(const struct CALL *c, const REAL *at, double (*slope)(double))
{
    const size_t n = (size_t)c->rows * shape_count(c->step->out);
    for (size_t i = 0; i < n; i++)
        put(&c->dx[i], c->add_dx, (REAL)((double)c->dy[i] * slope((double)at[i])));
}

#define FUNCTION(name, f, at, slope)                                                               \
    static void name##_forward(const struct CALL *c)                                               \
    {                                                                                              \
        apply(c, f);                                                                               \
    }                                                                                              \
    static void name##_backward(const struct CALL *c)                                              \
    {                                                                                              \
        back(c, at, slope);                                                                        \
    }

FUNCTION(gelu, gelu, c->x, gelu_slope)
FUNCTION(hardswish, hardswish, c->x, hardswish_slope)
FUNCTION(hardsigmoid, hardsigmoid, c->x, hardsigmoid_slope)
FUNCTION(sigmoid, sigmoid, c->y, sigmoid_slope)
FUNCTION(tanh, tanh, c->y, tanh_slope)

/* ---- add and multiply; b may be repeated over pixels or channels ---- */

enum repeat { REPEAT_NONE, REPEAT_PIXELS, REPEAT_CHANNELS };

static enum repeat repeat_of(const struct CALL *c)
{
    const struct shape a = c->step->in[0], b = c->step->in[1];
    if (shape_equal(a, b))
        return REPEAT_NONE;
    const bool one_pixel = b.rank == 1 || (b.d[0] == 1 && b.d[1] == 1);
    return one_pixel && last_of(b) == last_of(a) ? REPEAT_PIXELS : REPEAT_CHANNELS;
}

/* Element of b that goes with element i of a, both counted from the shard's first row. */
static size_t partner(const struct CALL *c, enum repeat repeat, size_t i)
{
    const size_t n = shape_count(c->step->in[0]), channels = (size_t)last_of(c->step->in[0]);
    const size_t row = i / n * shape_count(c->step->in[1]);
    return repeat == REPEAT_NONE     ? i
           : repeat == REPEAT_PIXELS ? row + i % channels
                                     : row + i % n / channels;
}

static void add_forward(const struct CALL *c)
{
    const size_t n = (size_t)c->rows * shape_count(c->step->out);
    const enum repeat repeat = repeat_of(c);
    for (size_t i = 0; i < n; i++)
        c->y[i] = c->x[i] + c->more_x[0][partner(c, repeat, i)];
}

static void multiply_forward(const struct CALL *c)
{
    const size_t n = (size_t)c->rows * shape_count(c->step->out);
    const enum repeat repeat = repeat_of(c);
    for (size_t i = 0; i < n; i++)
        c->y[i] = c->x[i] * c->more_x[0][partner(c, repeat, i)];
}

/* The second input's gradient first: the first one's may be written over dy. */
static void binary_backward(const struct CALL *c, bool product)
{
    const size_t n = (size_t)c->rows * shape_count(c->step->out);
    const enum repeat repeat = repeat_of(c);
    REAL *da = c->dx, *db = c->more_dx[0];
    const bool add_db = c->add_more_dx & 1;
    if (db && repeat != REPEAT_NONE) {
        if (!add_db)
            memset(db, 0, (size_t)c->rows * shape_count(c->step->in[1]) * sizeof(REAL));
        for (size_t i = 0; i < n; i++)
            db[partner(c, repeat, i)] += product ? c->dy[i] * c->x[i] : c->dy[i];
        db = NULL;
    }
    for (size_t i = 0; i < n; i++) {
        const REAL d = c->dy[i];
        if (da)
            put(&da[i], c->add_dx, product ? d * c->more_x[0][partner(c, repeat, i)] : d);
        if (db)
            put(&db[i], add_db, product ? d * c->x[i] : d);
    }
}

static void add_backward(const struct CALL *c)
{
    binary_backward(c, false);
}

static void multiply_backward(const struct CALL *c)
{
    binary_backward(c, true);
}

/* ---- layer norm ---- */

static void moments(const struct CALL *c, const REAL *x, int32_t d, REAL *mean, REAL *inv_std)
{
    double sum = 0, squares = 0;
    for (int32_t i = 0; i < d; i++)
        sum += (double)x[i];
    for (int32_t i = 0; i < d; i++)
        squares += ((double)x[i] - sum / d) * ((double)x[i] - sum / d);
    *mean = (REAL)(sum / d);
    *inv_std = (REAL)(1 / sqrt(squares / d + (double)c->step->attr.eps));
}

static void layer_norm_forward(const struct CALL *c)
{
    const int32_t d = last_of(c->step->in[0]);
    const size_t n = (size_t)c->rows * shape_count(c->step->in[0]) / (size_t)d;
    for (size_t v = 0; v < n; v++) {
        REAL mean, inv_std;
        moments(c, c->x + v * (size_t)d, d, &mean, &inv_std);
        for (int32_t i = 0; i < d; i++) {
            const size_t at = v * (size_t)d + (size_t)i;
            c->y[at] = (c->x[at] - mean) * inv_std * c->param[0][i] + c->param[1][i];
        }
    }
}

static void layer_norm_vector(const struct CALL *c, const REAL *x, const REAL *dy, REAL *dx)
{
    const int32_t d = last_of(c->step->in[0]);
    REAL mean, inv_std;
    double sum = 0, sum_hat = 0;
    moments(c, x, d, &mean, &inv_std);
    for (int32_t i = 0; i < d; i++) {
        const REAL hat = (x[i] - mean) * inv_std;
        const double g = (double)dy[i] * (double)c->param[0][i];
        if (c->grad[0])
            c->grad[0][i] += dy[i] * hat;
        if (c->grad[1])
            c->grad[1][i] += dy[i];
        sum += g;
        sum_hat += g * (double)hat;
    }
    for (int32_t i = 0; dx && i < d; i++) {
        const double hat = (double)((x[i] - mean) * inv_std);
        const double g = (double)dy[i] * (double)c->param[0][i];
        put(&dx[i], c->add_dx, (REAL)((double)inv_std * (g - sum / d - hat * sum_hat / d)));
    }
}

static void layer_norm_backward(const struct CALL *c)
{
    const size_t d = (size_t)last_of(c->step->in[0]);
    const size_t n = (size_t)c->rows * shape_count(c->step->in[0]) / d;
    for (int p = 0; p < 2; p++)
        if (c->grad[p] && !(c->add_grad >> p & 1))
            memset(c->grad[p], 0, d * sizeof(REAL));
    for (size_t v = 0; v < n; v++)
        layer_norm_vector(c, c->x + v * d, c->dy + v * d, c->dx ? c->dx + v * d : NULL);
}

const struct KERNEL REFERENCE(math)[] = {
    {STEP_FORWARD, OP_GELU, "reference gelu", gelu_forward, NULL, false},
    {STEP_BACKWARD, OP_GELU, "reference gelu", gelu_backward, NULL, false},
    {STEP_FORWARD, OP_HARDSWISH, "reference hardswish", hardswish_forward, NULL, false},
    {STEP_BACKWARD, OP_HARDSWISH, "reference hardswish", hardswish_backward, NULL, false},
    {STEP_FORWARD, OP_HARDSIGMOID, "reference hardsigmoid", hardsigmoid_forward, NULL, false},
    {STEP_BACKWARD, OP_HARDSIGMOID, "reference hardsigmoid", hardsigmoid_backward, NULL, false},
    {STEP_FORWARD, OP_SIGMOID, "reference sigmoid", sigmoid_forward, NULL, false},
    {STEP_BACKWARD, OP_SIGMOID, "reference sigmoid", sigmoid_backward, NULL, false},
    {STEP_FORWARD, OP_TANH, "reference tanh", tanh_forward, NULL, false},
    {STEP_BACKWARD, OP_TANH, "reference tanh", tanh_backward, NULL, false},
    {STEP_FORWARD, OP_ADD, "reference add", add_forward, NULL, false},
    {STEP_BACKWARD, OP_ADD, "reference add", add_backward, NULL, false},
    {STEP_FORWARD, OP_MULTIPLY, "reference multiply", multiply_forward, NULL, false},
    {STEP_BACKWARD, OP_MULTIPLY, "reference multiply", multiply_backward, NULL, false},
    {STEP_FORWARD, OP_LAYER_NORM, "reference layer_norm", layer_norm_forward, NULL, false},
    {STEP_BACKWARD, OP_LAYER_NORM, "reference layer_norm", layer_norm_backward, NULL, false},
    {0},
};
