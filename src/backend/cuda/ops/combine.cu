/* Sums and products of two values; the second may be repeated over pixels or over channels. */
#include "backend/cuda/ops/common.cuh"

enum repeat { REPEAT_NONE, REPEAT_PIXELS, REPEAT_CHANNELS };

struct pair {
    enum repeat repeat;
    uint32_t per_row, channels, b_per_row;
    bool product;
};

/* Element of b that goes with element i of a. */
static __device__ __forceinline__ size_t partner(const struct pair &p, size_t i)
{
    if (p.repeat == REPEAT_NONE)
        return i;
    const size_t row = i / p.per_row * p.b_per_row;
    const uint32_t at = (uint32_t)(i % p.per_row);
    return row + (p.repeat == REPEAT_PIXELS ? at % p.channels : at / p.channels);
}

static __global__ void forward(struct lanes l, struct pair p, const float *a, const float *b,
                               float *y)
{
    const int k = blockIdx.y;
    const size_t n = (size_t)l.model[k].n_valid * p.per_row;
    a = part(a, l.lane, k);
    b = part(b, l.lane, k);
    y = part(y, l.lane, k);
    FOR_ELEMENTS(i, n)
    {
        const float other = b[partner(p, i)];
        y[i] = p.product ? a[i] * other : a[i] + other;
    }
}

/* Gradients of both inputs where b is as long as a; of a alone (db NULL) where b is repeated. */
static __global__ void backward(struct lanes l, struct pair p, const float *a, const float *b,
                                const float *dy, float *da, float *db, bool add_a, bool add_b)
{
    const int k = blockIdx.y;
    const size_t n = (size_t)l.model[k].n_valid * p.per_row;
    a = part(a, l.lane, k);
    b = part(b, l.lane, k);
    dy = part(dy, l.lane, k);
    da = part(da, l.lane, k);
    db = part(db, l.lane, k);
    FOR_ELEMENTS(i, n)
    {
        const float d = dy[i];
        const float own = p.product && db ? a[i] : 0;
        if (da)
            put(&da[i], add_a, p.product ? d * b[partner(p, i)] : d);
        if (db)
            put(&db[i], add_b, p.product ? d * own : d);
    }
}

/* Gradient of a repeated b: a warp sums all elements one element of b went with, in order. */
static __global__ void backward_repeated(struct lanes l, struct pair p, const float *a,
                                         const float *dy, float *db, bool add)
{
    const int k = blockIdx.y, lane = threadIdx.x % 32;
    const size_t n = (size_t)l.model[k].n_valid * p.b_per_row;
    const size_t warps = (size_t)gridDim.x * (blockDim.x / 32);
    const uint32_t n_sum = p.per_row / p.b_per_row;
    a = part(a, l.lane, k);
    dy = part(dy, l.lane, k);
    db = part(db, l.lane, k);
    for (size_t j = (size_t)blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32; j < n; j += warps) {
        const size_t row = j / p.b_per_row * p.per_row, at = j % p.b_per_row;
        float sum = 0;
        for (uint32_t s = lane; s < n_sum; s += 32) {
            const size_t i =
                row + (p.repeat == REPEAT_PIXELS ? s * p.channels + at : at * p.channels + s);
            sum += p.product ? dy[i] * a[i] : dy[i];
        }
        sum = warp_sum(sum);
        if (lane == 0)
            put(&db[j], add, sum);
    }
}

static struct pair pair_of(const struct cuda_call *c)
{
    const struct shape a = c->step->in[0], b = c->step->in[1];
    const bool one_pixel = b.rank == 1 || (b.d[0] == 1 && b.d[1] == 1);
    struct pair p;
    p.repeat = shape_equal(a, b)                         ? REPEAT_NONE
               : one_pixel && last_of(b) == last_of(a) ? REPEAT_PIXELS
                                                         : REPEAT_CHANNELS;
    p.per_row = (uint32_t)count_of(a);
    p.b_per_row = (uint32_t)count_of(b);
    p.channels = (uint32_t)last_of(a);
    p.product = c->step->op == OP_MULTIPLY;
    return p;
}

static void launch_forward(const struct cuda_call *c)
{
    const struct pair p = pair_of(c);
    forward<<<grid_over(c, (size_t)p.per_row * c->batch), BLOCK, 0, c->stream>>>(
        lanes_of(c), p, c->x[0], c->x[1], c->y);
}

/* The second input's gradient first: the first one's may be written over dy. */
static void launch_backward(const struct cuda_call *c)
{
    const struct pair p = pair_of(c);
    const bool repeated = p.repeat != REPEAT_NONE;
    if (c->dx[1] && repeated)
        backward_repeated<<<grid_over(c, (size_t)p.b_per_row * c->batch * 8), BLOCK, 0,
                            c->stream>>>(lanes_of(c), p, c->x[0], c->dy, c->dx[1], adds_dx(c, 1));
    float *db = repeated ? NULL : c->dx[1];
    /* One value that stands twice: its second share is added after the first. */
    if (db && db == c->dx[0]) {
        backward<<<grid_over(c, (size_t)p.per_row * c->batch), BLOCK, 0, c->stream>>>(
            lanes_of(c), p, c->x[0], c->x[1], c->dy, c->dx[0], NULL, adds_dx(c, 0), false);
        backward<<<grid_over(c, (size_t)p.per_row * c->batch), BLOCK, 0, c->stream>>>(
            lanes_of(c), p, c->x[0], c->x[1], c->dy, NULL, db, false, adds_dx(c, 1));
    } else if (c->dx[0] || db) {
        backward<<<grid_over(c, (size_t)p.per_row * c->batch), BLOCK, 0, c->stream>>>(
            lanes_of(c), p, c->x[0], c->x[1], c->dy, c->dx[0], db, adds_dx(c, 0), adds_dx(c, 1));
    }
}

const struct cuda_kernel cuda_combine_kernels[] = {
    {STEP_FORWARD, OP_ADD, "cuda add", launch_forward, NULL},
    {STEP_BACKWARD, OP_ADD, "cuda add", launch_backward, NULL},
    {STEP_FORWARD, OP_MULTIPLY, "cuda multiply", launch_forward, NULL},
    {STEP_BACKWARD, OP_MULTIPLY, "cuda multiply", launch_backward, NULL},
    {}};
