/* Dropout.  The mask (mask.c) is drawn again in the backward pass, never kept; it counts elements
 * in N,C,H,W order. */
#include "backend/cpu/isa/dropout.h"

#include "backend/cpu/isa/gemm.h"
#include "backend/cpu/isa/kernels.h"

static void apply(const struct op_call *c, const float *from, float *to, bool add)
{
    const struct shape s = c->step->out;
    const size_t n = shape_count(s);
    const int32_t channels = s.rank == 3 ? s.d[2] : 1, pixels = (int32_t)(n / (size_t)channels);
    float *turned = c->scratch + n + DROPOUT_ROOM;
    for (int32_t r = 0; r < c->rows; r++, from += n, to += n) {
        const float *f =
            ISA_FN(dropout_factors)(c, ((size_t)c->first_row + (size_t)r) * n, n, c->scratch);
        if (channels > 1 && pixels > 1) {
            ISA_FN(transpose)(f, pixels, channels, pixels, turned);
            f = turned;
        }
        if (add)
            for (size_t i = 0; i < n; i++)
                to[i] += from[i] * f[i];
        else
            for (size_t i = 0; i < n; i++)
                to[i] = from[i] * f[i];
    }
}

static void forward(const struct op_call *c)
{
    if (c->training)
        apply(c, c->x, c->y, false);
    else if (c->y != c->x)
        memcpy(c->y, c->x, (size_t)c->rows * shape_count(c->step->out) * sizeof(float));
}

static void backward(const struct op_call *c)
{
    apply(c, c->dy, c->dx, c->add_dx);
}

static size_t scratch(const struct plan_step *step, int32_t rows_per_shard)
{
    (void)rows_per_shard;
    return 2 * shape_count(step->out) + DROPOUT_ROOM;
}

const struct cpu_kernel ISA_FN(dropout_kernels)[] = {
    {STEP_FORWARD, OP_DROPOUT, "dropout", forward, scratch, false},
    {STEP_BACKWARD, OP_DROPOUT, "dropout", backward, scratch, false},
    {0},
};
