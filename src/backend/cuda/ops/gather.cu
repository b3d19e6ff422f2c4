/* The batch: each model's next rows, and their samples from the data set on the device. */
#include "backend/cuda/ops/common.cuh"
#include "base/rng.h"

/* ---- the step ---- */

static __global__ void begin_step(struct cuda_model *models, int n_models, int batch,
                                  struct cuda_progress *progress)
{
    for (int k = threadIdx.x; k < n_models; k += blockDim.x) {
        struct cuda_model *m = &models[k];
        const int64_t first = m->steps * batch, left = m->n_rows - first;
        const bool active = left > 0;
        progress[k].loss_sum = m->sums.loss_sum;
        progress[k].rows = first < m->n_rows ? first : m->n_rows;
        m->n_valid = active ? (int32_t)(left < batch ? left : batch) : 0;
        if (!active)
            continue;
        m->ids = m->rows + first;
        m->batch = (uint32_t)m->steps;
        if (m->rules)
            m->rule = m->rules[m->steps];
        m->steps++;
    }
}

void cuda_begin_step(struct cuda_model *models, int n_models, int batch,
                     struct cuda_progress *progress, cudaStream_t stream)
{
    begin_step<<<1, n_models < 128 ? 128 : 1024, 0, stream>>>(models, n_models, batch, progress);
}

static __global__ void shuffle_rows(const uint32_t *list, struct rng_perm p, uint32_t *rows)
{
    FOR_ELEMENTS(i, p.n)
    rows[i] = list[rng_perm_at(&p, (uint32_t)i)];
}

void cuda_shuffle_rows(const uint32_t *list, int64_t n, uint64_t seed, uint32_t epoch,
                       uint32_t *rows, cudaStream_t stream)
{
    const struct rng_perm p = rng_perm_make((uint32_t)n, seed, RNG_ORDER, epoch);
    shuffle_rows<<<(unsigned)((n + BLOCK - 1) / BLOCK), BLOCK, 0, stream>>>(list, p, rows);
}

/* ---- samples ---- */

/* Element of the sample that output element i shows; false: padding (data/dataset.h,
 * AUGMENT_CROP_FLIP). */
static __device__ bool moved_index(struct shape s, const struct rng_block &b, uint32_t i,
                                   uint32_t *from)
{
    const int channels = s.d[2], pixel = (int)i / channels, x = pixel % s.d[1];
    const bool flip = b.v[2] & 1;
    const int row = pixel / s.d[1] + (int)(b.v[0] % 9) - 4;
    const int col = (flip ? s.d[1] - 1 - x : x) + (int)(b.v[1] % 9) - 4;
    if (row < 0 || row >= s.d[0] || col < 0 || col >= s.d[1])
        return false;
    *from = (uint32_t)((row * s.d[1] + col) * channels + (int)i % channels);
    return true;
}

static __device__ float value_at(const struct cuda_source *s, size_t i)
{
    const float v = s->type == SOURCE_U8    ? (float)((const uint8_t *)s->x)[i]
                    : s->type == SOURCE_F32 ? ((const float *)s->x)[i]
                                            : (float)((const int32_t *)s->x)[i];
    return v / s->divisor;
}

/* Block (row, k); targets of the row too. */
static __global__ void gather(struct lanes l, float *y, float *target, bool tokens, bool training)
{
    const int k = blockIdx.y, row = blockIdx.x;
    const struct cuda_model *m = &l.model[k];
    if (row >= m->n_valid)
        return;
    const struct cuda_source *s = &m->source;
    const uint32_t id = m->ids[row], n = (uint32_t)s->sample_count;
    const size_t base = (size_t)id * n;
    const bool moves = s->crop_flip && training;
    struct rng_block window = {{0, 0, 0, 0}};
    if (moves)
        window = rng_block_at(m->seed, RNG_AUGMENT, 0, m->epoch, id, 0);
    y = part(y, l.lane, k) + (size_t)row * n;
    for (uint32_t i = threadIdx.x; i < n; i += blockDim.x) {
        uint32_t from = i;
        if (tokens)
            ((int32_t *)y)[i] = ((const int32_t *)s->x)[base + i];
        else
            y[i] = moves && !moved_index(s->shape, window, i, &from) ? 0
                                                                     : value_at(s, base + from);
    }
    const int32_t n_target = s->label && s->label_count > 1 ? s->label_count : 1;
    const float *targets = s->label ? (const float *)s->label : s->value;
    target = part(target, l.lane, k) + (size_t)row * n_target;
    for (int i = threadIdx.x; i < n_target; i += blockDim.x)
        target[i] = targets[(size_t)id * n_target + i];
}

static void launch_gather(const struct cuda_call *c)
{
    const size_t n = count_of(c->step->out);
    const unsigned threads = n <= 32 ? 32 : n <= 512 ? 128 : 256;
    gather<<<dim3((unsigned)c->batch, (unsigned)c->n_models), threads, 0, c->stream>>>(
        lanes_of(c), c->y, c->target, c->step->attr.is_tokens, c->training);
}

const struct cuda_kernel cuda_gather_kernels[] = {
    {STEP_GATHER, OP_INPUT, "cuda gather", launch_gather, NULL}, {}};
