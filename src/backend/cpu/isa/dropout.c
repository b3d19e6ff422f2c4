/* Dropout.  The mask is drawn again in the backward pass, never kept: a block of Philox gives four
 * neighbours in N,C,H,W order, and LANES blocks are computed side by side. */
#include "backend/cpu/isa/dropout.h"

#include "backend/cpu/isa/gemm.h"
#include "backend/cpu/isa/kernels.h"
#include "base/rng.h"

#define LANES (DROPOUT_ROOM / 8)

/* The 4 * LANES words of blocks first_quad ... as rng_block_at gives them. */
static void draw_words(const struct op_call *c, uint32_t first_quad, uint32_t words[4][LANES])
{
    uint32_t c0[LANES], c1[LANES], c2[LANES], c3[LANES];
    uint32_t k0 = (uint32_t)c->seed, k1 = (uint32_t)(c->seed >> 32);
    const uint32_t purpose = (uint32_t)RNG_DROPOUT << 24 | ((uint32_t)c->step->ordinal & 0xFFFFFFu);
    for (uint32_t i = 0; i < LANES; i++) {
        c0[i] = purpose;
        c1[i] = c->epoch;
        c2[i] = c->batch;
        c3[i] = first_quad + i;
    }
    for (int round = 0; round < 10; round++, k0 += 0x9E3779B9u, k1 += 0xBB67AE85u)
        for (int i = 0; i < LANES; i++) {
            const uint64_t a = (uint64_t)0xD2511F53u * c0[i];
            const uint64_t b = (uint64_t)0xCD9E8D57u * c2[i];
            c0[i] = (uint32_t)(b >> 32) ^ c1[i] ^ k0;
            c2[i] = (uint32_t)(a >> 32) ^ c3[i] ^ k1;
            c1[i] = (uint32_t)b;
            c3[i] = (uint32_t)a;
        }
    memcpy(words[0], c0, sizeof c0);
    memcpy(words[1], c1, sizeof c1);
    memcpy(words[2], c2, sizeof c2);
    memcpy(words[3], c3, sizeof c3);
}

const float *ISA_FN(dropout_factors)(const struct op_call *c, size_t first, size_t n, float *out)
{
    const float p = c->step->attr.p, scale = 1.0f / (1.0f - p);
    const uint32_t quad = (uint32_t)(first / 4), skip = (uint32_t)(first % 4);
    uint32_t words[4][LANES];
    for (size_t at = 0; at < skip + n; at += 4 * LANES) {
        draw_words(c, quad + (uint32_t)(at / 4), words);
        for (int w = 0; w < 4; w++)
            for (int i = 0; i < LANES; i++)
                out[at + 4 * (size_t)i + (size_t)w] = rng_unit(words[w][i]) >= p ? scale : 0.0f;
    }
    return out + skip;
}

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
