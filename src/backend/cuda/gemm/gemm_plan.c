#include "backend/cuda/gemm/gemm_internal.h"

#define ERROR_INVALID_VALUE 1 /* cudaErrorInvalidValue: planning is plain C */

const struct gemm_tile_info gemm_tiles[GEMM_N_TILES] = {{128, 64}, {64, 64}};

struct gemm_shape gemm_linear(int32_t n_models, int32_t batch, int32_t rows, int32_t in,
                              int32_t out)
{
    const struct gemm_shape s = {n_models, batch, rows, 1, in, rows, 1, out, 1,
                                 1,        1,     1,    0, 0,  1,    1, 1};
    return s;
}

int64_t gemm_rows(enum gemm_pass pass, const struct gemm_shape *s)
{
    if (pass == GEMM_FORWARD)
        return (int64_t)s->batch * s->out_h * s->out_w;
    if (pass == GEMM_WEIGHT_GRAD)
        return (int64_t)s->kernel_h * s->kernel_w * (s->in_c / s->groups);
    return (int64_t)s->batch * ((s->in_h + s->stride_h - 1) / s->stride_h) *
           ((s->in_w + s->stride_w - 1) / s->stride_w);
}

int64_t gemm_columns(enum gemm_pass pass, const struct gemm_shape *s)
{
    return (pass == GEMM_DATA_GRAD ? s->in_c : s->out_c) / s->groups;
}

int64_t gemm_depth(enum gemm_pass pass, const struct gemm_shape *s)
{
    const int64_t taps = (int64_t)s->kernel_h * s->kernel_w;
    if (pass == GEMM_FORWARD)
        return taps * (s->in_c / s->groups);
    if (pass == GEMM_WEIGHT_GRAD)
        return (int64_t)s->batch * s->out_h * s->out_w;
    return (taps + s->stride_h * s->stride_w - 1) / (s->stride_h * s->stride_w) *
           (s->out_c / s->groups);
}

size_t gemm_out_floats(enum gemm_pass pass, const struct gemm_shape *s)
{
    if (pass == GEMM_WEIGHT_GRAD)
        return (size_t)s->kernel_h * (size_t)s->kernel_w * (size_t)(s->in_c / s->groups) *
               (size_t)s->out_c;
    if (pass == GEMM_FORWARD)
        return (size_t)s->batch * (size_t)s->out_h * (size_t)s->out_w * (size_t)s->out_c;
    return (size_t)s->batch * (size_t)s->in_h * (size_t)s->in_w * (size_t)s->in_c;
}

bool gemm_is_valid(const struct gemm_shape *s)
{
    if (s->n_models < 1 || s->batch < 1 || s->in_c < 1 || s->out_c < 1 || s->groups < 1 ||
        s->in_c % s->groups || s->out_c % s->groups || s->stride_h < 1 || s->stride_w < 1)
        return false;
    const int64_t most = 0x7FFFFFFF; /* kernels count floats of a model in 32 bits */
    return (int64_t)s->kernel_h * s->kernel_w <= GEMM_MAX_TAPS &&
           (int64_t)s->batch * s->in_h * s->in_w * s->in_c <= most &&
           (int64_t)s->batch * s->out_h * s->out_w * s->out_c <= most &&
           (int64_t)s->n_models * s->groups * s->stride_h * s->stride_w <= 65535;
}

/* Splits worth trying: none; enough for one wave of blocks; half and twice that.  A range keeps at
 * least 128 of the depth. */
static int split_counts(int64_t blocks, int64_t depth, int64_t z, int n_sm, int out[4])
{
    int64_t most = depth / 128;
    if (most > 32)
        most = 32;
    if (most * z > 65535)
        most = 65535 / z;
    int64_t wave = (2 * (int64_t)n_sm + blocks - 1) / blocks; /* two blocks a multiprocessor */
    if (wave > most)
        wave = most;
    if (wave <= 1) {
        out[0] = 1;
        return 1;
    }
    int n = 0;
    out[n++] = (int)wave;
    if (wave / 2 > 1)
        out[n++] = (int)(wave / 2);
    if (wave * 2 <= most)
        out[n++] = (int)(wave * 2);
    out[n++] = 1;
    return n;
}

int gemm_choices(enum gemm_pass pass, enum gemm_math math, const struct gemm_shape *s, int n_sm,
                 struct gemm_choice *out, int max)
{
    (void)math; /* all three have the same tiles */
    if (!gemm_is_valid(s))
        return 0;
    const int64_t rows = gemm_rows(pass, s), cols = gemm_columns(pass, s);
    int64_t z = (int64_t)s->n_models * s->groups;
    if (pass == GEMM_DATA_GRAD)
        z *= s->stride_h * s->stride_w;
    /* The large tile first where it fills the chip twice. */
    const int64_t large = (rows + 127) / 128 * ((cols + 63) / 64) * z;
    const int first = large >= 2 * n_sm ? 0 : 1;
    int n = 0;
    for (int i = 0; i < GEMM_N_TILES; i++) {
        const int tile = i == 0 ? first : 1 - first;
        const int bm = gemm_tiles[tile].rows;
        int splits[4];
        const int64_t blocks = (rows + bm - 1) / bm * ((cols + 63) / 64) * z;
        const int n_splits = split_counts(blocks, gemm_depth(pass, s), z, n_sm, splits);
        for (int j = 0; j < n_splits && n < max; j++) {
            out[n].tile = (int16_t)tile;
            out[n++].splits = (int16_t)splits[j];
        }
    }
    return n;
}

const char *gemm_tile_name(enum gemm_math math, struct gemm_choice choice)
{
    static const char *const names[2][GEMM_N_TILES] = {{"128x64x16", "64x64x16"},
                                                       {"128x64x32", "64x64x32"}};
    if (choice.tile < 0 || choice.tile >= GEMM_N_TILES)
        return "?";
    return names[math == GEMM_BF16][choice.tile];
}

size_t gemm_workspace_bytes(enum gemm_pass pass, const struct gemm_shape *shape,
                            struct gemm_choice choice)
{
    if (choice.splits <= 1)
        return 0;
    return (size_t)shape->n_models * (size_t)choice.splits * gemm_out_floats(pass, shape) *
           sizeof(float);
}

static bool can_use_vectors(const struct gemm_shape *s, const struct gemm_args *a)
{
    return s->in_c / s->groups % 4 == 0 && s->out_c / s->groups % 4 == 0 && a->a_stride % 4 == 0 &&
           a->b_stride % 4 == 0 && (uintptr_t)a->a % 16 == 0 && (uintptr_t)a->b % 16 == 0;
}

int gemm_launch(enum gemm_pass pass, enum gemm_math math, const struct gemm_shape *shape,
                struct gemm_choice choice, const struct gemm_args *args, void *stream)
{
    static gemm_run_fn *const run[] = {
        [GEMM_F32] = gemm_run_f32, [GEMM_TF32] = gemm_run_tf32, [GEMM_BF16] = gemm_run_bf16};
    if (!gemm_is_valid(shape) || choice.tile < 0 || choice.tile >= GEMM_N_TILES ||
        choice.splits < 1 || (choice.splits > 1 && !args->workspace))
        return ERROR_INVALID_VALUE;
    const int e = run[math](pass, shape, choice, args, can_use_vectors(shape, args), stream);
    if (e != 0 || choice.splits == 1)
        return e;
    return gemm_reduce(pass, shape, choice, args, stream);
}
