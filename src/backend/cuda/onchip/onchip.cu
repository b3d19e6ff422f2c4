/* The persistent kernel: see onchip.h.  A block walks over chunks of rows; sequence number i stands
 * for (epoch, step, chunk).  While chunk i is trained on, inputs of i + 1 are fetched. */
#include "backend/cuda/onchip/onchip_gemm.cuh"
#include "backend/cuda/onchip/onchip_layout.h"
#include "base/rng.h"

#include <cooperative_groups.h>
#include <cuda_runtime.h>

struct launch {
    struct onchip_mlp net;
    struct onchip_plan plan;
    struct onchip_layout at;
    struct onchip_data data;
    enum optim_kind optim;
    const struct onchip_model *models;
};

struct block_state {
    float *smem;
    const struct onchip_model *m;
    int n_rows, permute, train;         /* m's */
    int rank, n_steps, n_chunks, n_seq; /* chunks a step, chunks in all */
    int group_chunks;                   /* chunks whose sample ids are made together */
};

struct place {
    int epoch, step, chunk;
    int n_valid;     /* rows of the batch, over all blocks */
    int first, rows; /* of this chunk: position in the epoch, rows (may be 0) */
};

static __device__ struct place place_of(const struct launch &L, const struct block_state &b, int i)
{
    struct place p;
    p.chunk = i % b.n_chunks;
    const int s = i / b.n_chunks;
    p.step = s % b.n_steps;
    p.epoch = s / b.n_steps;
    const int start = p.step * L.plan.batch;
    p.n_valid = min(L.plan.batch, b.n_rows - start);
    const int row = p.chunk * L.plan.chunk_rows; /* within the block's part */
    const int in_batch = b.rank * L.plan.block_rows + row;
    p.first = start + in_batch;
    const int part = min(L.plan.block_rows - row, p.n_valid - in_batch);
    p.rows = max(0, min(part, L.plan.chunk_rows));
    return p;
}

/* Sample ids of the chunks of group `group`, a thread a row, into its half of the table.  Every
 * thread makes the epoch's permutation itself: groups are rare, and may reach over epochs. */
static __device__ __noinline__ void fetch_ids(const struct launch &L, const struct block_state &b,
                                              int group)
{
    const int i = group * b.group_chunks + (int)threadIdx.x / L.plan.chunk_rows;
    const int r = (int)threadIdx.x % L.plan.chunk_rows;
    if (i >= b.n_seq || (int)threadIdx.x >= b.group_chunks * L.plan.chunk_rows)
        return;
    const struct place p = place_of(L, b, i);
    if (r >= p.rows)
        return;
    uint32_t at = (uint32_t)(p.first + r);
    if (b.permute) {
        const struct rng_perm perm = rng_perm_make((uint32_t)b.n_rows, b.m->seed, RNG_ORDER,
                                                   b.m->first_epoch + (uint32_t)p.epoch);
        at = rng_perm_at(&perm, at);
    }
    uint32_t *id = (uint32_t *)(b.smem + L.at.id);
    id[(group & 1) * ONCHIP_THREADS + threadIdx.x] = b.m->rows ? b.m->rows[at] : at;
}

static __device__ __forceinline__ void copy_async(float *to, const void *from, int bytes)
{
#if __CUDA_ARCH__ >= 800
    const uint32_t s = (uint32_t)__cvta_generic_to_shared(to);
    if (bytes == 16)
        asm volatile("cp.async.ca.shared.global [%0], [%1], 16;" ::"r"(s), "l"(from) : "memory");
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(s), "l"(from) : "memory");
#else
    if (bytes == 16)
        *(float4 *)to = *(const float4 *)from;
    else
        *to = *(const float *)from;
#endif
}

static __device__ __forceinline__ void copy_wait()
{
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}

/* Inputs and targets of chunk i; rows past its end become zero, so that they contribute nothing. */
static __device__ void fetch_inputs(const struct launch &L, const struct block_state &b, int i)
{
    if (i >= b.n_seq)
        return;
    const struct place p = place_of(L, b, i);
    const int width = L.net.width[0], ld = onchip_ld(width), half = (i & 1) * L.plan.chunk_rows;
    const int group = i / b.group_chunks;
    const uint32_t *id = (const uint32_t *)(b.smem + L.at.id) + (group & 1) * ONCHIP_THREADS +
                         (i - group * b.group_chunks) * L.plan.chunk_rows;
    float *x = b.smem + L.at.x + half * ld, *target = b.smem + L.at.target + half;
    const void *targets = L.net.loss == ONCHIP_MSE ? (const void *)L.data.value : L.data.label;
    for (int r = threadIdx.x; r < p.rows; r += ONCHIP_THREADS)
        copy_async(target + r, (const float *)targets + id[r], 4);
    const bool plain = !L.data.is_u8 && L.data.divisor == 1.0f;
    const int vec = plain && width % 4 == 0 && ((uintptr_t)L.data.x & 15) == 0 ? 4 : 1;
    const int per_row = width / vec;
    for (int e = threadIdx.x; e < L.plan.chunk_rows * per_row; e += ONCHIP_THREADS) {
        const int r = e / per_row, c = (e - r * per_row) * vec;
        float *to = x + r * ld + c;
        if (r >= p.rows) {
            for (int j = 0; j < vec; j++)
                to[j] = 0.0f;
            continue;
        }
        const size_t from = (size_t)id[r] * width + c;
        if (plain)
            copy_async(to, (const float *)L.data.x + from, vec * 4);
        else
            *to = (L.data.is_u8 ? (float)((const uint8_t *)L.data.x)[from]
                                : ((const float *)L.data.x)[from]) /
                  L.data.divisor;
    }
}

template <bool TF32, int TM>
static __device__ __forceinline__ void layer_forward(const struct launch &L, float *smem, int l,
                                                     const float *in, int rows)
{
    const int ldi = onchip_ld(L.net.width[l]), ldo = onchip_ld(L.net.width[l + 1]);
    const int n_in = onchip_round4(L.net.width[l]), n_out = onchip_round4(L.net.width[l + 1]);
    const float *w = smem + L.at.w[l];
    float *out = smem + L.at.h[l];
    const bool relu = l + 1 < L.net.n_layers;
    if constexpr (TF32) {
        const enum tile_end end = relu ? END_FORWARD_RELU : END_FORWARD;
        const float *bias = w + n_in * ldo;
        if (rows / 16 * ((n_out + 31) / 32) >= ONCHIP_WARPS)
            product_tf32<4>(in, ldi, 1, w, ldo, 1, bias, out, ldo, rows, n_out, n_in, end);
        else
            product_tf32<2>(in, ldi, 1, w, ldo, 1, bias, out, ldo, rows, n_out, n_in, end);
        return;
    }
    forward_fma<TM>(in, ldi, w, ldo, out, rows, n_in, n_out, relu);
}

template <bool TF32>
static __device__ __forceinline__ void layer_weight_grad(const struct launch &L, float *smem, int l,
                                                         const float *in, int rows, bool add)
{
    const int ldi = onchip_ld(L.net.width[l]), ldo = onchip_ld(L.net.width[l + 1]);
    const int n_in = onchip_round4(L.net.width[l]), n_out = onchip_round4(L.net.width[l + 1]);
    const float *dz = smem + L.at.h[l];
    float *g = smem + L.at.grad + L.at.w[l];
    if constexpr (TF32) {
        const enum tile_end end = add ? END_ADD : END_STORE;
        if ((n_in + 15) / 16 * ((n_out + 31) / 32) >= ONCHIP_WARPS)
            product_tf32<4>(in, 1, ldi, dz, ldo, 1, nullptr, g, ldo, n_in, n_out, rows, end);
        else
            product_tf32<2>(in, 1, ldi, dz, ldo, 1, nullptr, g, ldo, n_in, n_out, rows, end);
    } else if ((n_in + 63) / 64 * ((n_out + 15) / 16) >= ONCHIP_WARPS) {
        weight_grad_fma<2>(in, ldi, dz, ldo, g, rows, n_in, n_out, add);
    } else {
        weight_grad_fma<1>(in, ldi, dz, ldo, g, rows, n_in, n_out, add);
    }
    if (L.net.bias[l] != ONCHIP_NO_BIAS)
        bias_grad(dz, ldo, g + n_in * ldo, rows, n_out, add);
}

template <bool TF32, int TM>
static __device__ __forceinline__ void layer_data_grad(const struct launch &L, float *smem, int l,
                                                       int rows)
{
    const int ldi = onchip_ld(L.net.width[l]), ldo = onchip_ld(L.net.width[l + 1]);
    const int n_in = onchip_round4(L.net.width[l]), n_out = onchip_round4(L.net.width[l + 1]);
    const float *dz = smem + L.at.h[l], *w = smem + L.at.w[l];
    float *h = smem + L.at.h[l - 1];
    if constexpr (TF32) {
        if (rows / 16 * ((n_in + 31) / 32) >= ONCHIP_WARPS)
            product_tf32<4>(dz, ldo, 1, w, 1, ldo, nullptr, h, ldi, rows, n_in, n_out, END_MASK);
        else
            product_tf32<2>(dz, ldo, 1, w, 1, ldo, nullptr, h, ldi, rows, n_in, n_out, END_MASK);
        return;
    }
    data_grad_fma<TM>(dz, w, ldo, h, ldi, rows, n_out, n_in);
}

struct row_sums {
    double loss, target, target_sq;
    int64_t n_correct;
};

static __device__ void loss_mse(float *logit, float target, float two_over_n, struct row_sums *s)
{
    const float diff = logit[0] - target;
    s->loss += (double)diff * diff;
    s->target += target;
    s->target_sq += (double)target * target;
    logit[0] = diff * two_over_n;
}

static __device__ void loss_cross_entropy(float *logit, int n, int label, float one_over_n,
                                          float smoothing, struct row_sums *s)
{
    float best = logit[0];
    int arg = 0;
    for (int c = 1; c < n; c++)
        if (logit[c] > best) {
            best = logit[c];
            arg = c;
        }
    float sum = 0.0f, total = 0.0f;
    for (int c = 0; c < n; c++) {
        sum += expf(logit[c] - best);
        total += logit[c] - best;
    }
    const float log_sum = logf(sum), even = smoothing / (float)n;
    const bool known = label >= 0 && label < n;
    const float at = known ? logit[label] - best : nanf("");
    s->loss += -(1.0f - smoothing) * (double)(at - log_sum) - even * (double)(total - n * log_sum);
    s->n_correct += arg == label;
    for (int c = 0; c < n; c++) {
        const float p = expf(logit[c] - best) / sum;
        const float want = even + (c == label ? 1.0f - smoothing : 0.0f);
        logit[c] = known ? (p - want) * one_over_n : nanf("");
    }
}

/* Logits become the gradient of the batch's mean loss; a thread a row. */
static __device__ void losses(const struct launch &L, float *smem, const struct place &p, int half,
                              int rows)
{
    const int n = L.net.width[L.net.n_layers], ld = onchip_ld(n);
    const float *target = smem + L.at.target + half;
    for (int r = threadIdx.x; r < rows; r += ONCHIP_THREADS) {
        float *logit = smem + L.at.h[L.net.n_layers - 1] + r * ld;
        struct row_sums *s = (struct row_sums *)(smem + L.at.sums) + r;
        if (r < p.rows) {
            if (L.net.loss == ONCHIP_MSE)
                loss_mse(logit, target[r], 2.0f / (float)p.n_valid, s);
            else
                loss_cross_entropy(logit, n, __float_as_int(target[r]), 1.0f / (float)p.n_valid,
                                   L.net.label_smoothing, s);
        }
        for (int c = r < p.rows ? n : 0; c < ld; c++)
            logit[c] = 0.0f;
    }
}

/* Forward, loss and backward of chunk i; gradients stored (first chunk of a step) or added. */
template <bool TF32, int TM>
static __device__ __forceinline__ void
train_chunk(const struct launch &L, const struct block_state &b, int i, const struct place &p)
{
    const int half = (i & 1) * L.plan.chunk_rows, n_layers = L.net.n_layers;
    const int rows = (p.rows + 8 * TM - 1) / (8 * TM) * 8 * TM;
    const float *x = b.smem + L.at.x + half * onchip_ld(L.net.width[0]);
    for (int l = 0; l < n_layers; l++) {
        layer_forward<TF32, TM>(L, b.smem, l, l ? b.smem + L.at.h[l - 1] : x, rows);
        __syncthreads();
    }
    losses(L, b.smem, p, half, rows);
    __syncthreads();
    if (!b.train)
        return;
    for (int l = n_layers - 1; l >= 0; l--) {
        layer_weight_grad<TF32>(L, b.smem, l, l ? b.smem + L.at.h[l - 1] : x, rows, p.chunk > 0);
        if (l > 0) {
            __syncthreads();
            layer_data_grad<TF32, TM>(L, b.smem, l, rows);
        }
        __syncthreads();
    }
}

static __device__ __noinline__ void prepare_step(struct optim_step *to, enum optim_kind kind,
                                                 const struct optim_args *args, int64_t t)
{
    *to = optim_step_prepare(kind, args, t);
}

/* Scalars of the next ONCHIP_STEP_TABLE updates; update is counted within the launch. */
static __device__ void fill_steps(const struct launch &L, const struct block_state &b, int update)
{
    struct optim_step *table = (struct optim_step *)(b.smem + L.at.step);
    const int n_updates = b.m->n_epochs * b.n_steps, i = update + (int)threadIdx.x;
    if (threadIdx.x >= ONCHIP_STEP_TABLE || i >= n_updates)
        return;
    if (b.m->steps)
        table[threadIdx.x] = b.m->steps[i];
    else
        prepare_step(table + threadIdx.x, L.optim, &b.m->optim, b.m->first_update + i);
}

static __device__ __forceinline__ float *peer(float *p, int rank)
{
#if __CUDA_ARCH__ >= 900
    return cooperative_groups::this_cluster().map_shared_rank(p, rank);
#else
    (void)rank;
    return p;
#endif
}

static __device__ __forceinline__ void cluster_barrier(int cluster)
{
#if __CUDA_ARCH__ >= 900
    if (cluster > 1) {
        cooperative_groups::this_cluster().sync();
        return;
    }
#endif
    (void)cluster;
    __syncthreads();
}

static __device__ __forceinline__ float update_one(enum optim_kind kind, const struct optim_step &s,
                                                   float w, float g, float &s0, float &s1,
                                                   float &s2)
{
    return kind == OPTIM_SGD ? optim_sgd(&s, w, g, &s0) : optim_adam(&s, w, g, &s0, &s1, &s2);
}

static __device__ __forceinline__ float4 update_four(const struct launch &L,
                                                     const struct optim_step &s, float4 w, float4 g,
                                                     float *slot)
{
    const int n = L.at.slice, n_slots = L.net.n_slots;
    const float4 zero = make_float4(0, 0, 0, 0);
    float4 s0 = n_slots > 0 ? load4(slot) : zero, s1 = n_slots > 1 ? load4(slot + n) : zero;
    float4 s2 = n_slots > 2 ? load4(slot + 2 * n) : zero;
    w.x = update_one(L.optim, s, w.x, g.x, s0.x, s1.x, s2.x);
    w.y = update_one(L.optim, s, w.y, g.y, s0.y, s1.y, s2.y);
    w.z = update_one(L.optim, s, w.z, g.z, s0.z, s1.z, s2.z);
    w.w = update_one(L.optim, s, w.w, g.w, s0.w, s1.w, s2.w);
    if (n_slots > 0)
        *(float4 *)slot = s0;
    if (n_slots > 1)
        *(float4 *)(slot + n) = s1;
    if (n_slots > 2)
        *(float4 *)(slot + 2 * n) = s2;
    return w;
}

/* Sum of the cluster's gradients in order of rank; 8 loads are on their way at a time. */
static __device__ __forceinline__ float4 cluster_sum(float *grad, int cluster)
{
    float4 g = load4(peer(grad, 0));
    for (int first = 1; first < cluster; first += 7) {
        float4 part[7];
#pragma unroll
        for (int r = 0; r < 7; r++)
            if (first + r < cluster)
                part[r] = load4(peer(grad, first + r));
#pragma unroll
        for (int r = 0; r < 7; r++)
            if (first + r < cluster)
                g = make_float4(g.x + part[r].x, g.y + part[r].y, g.z + part[r].z, g.w + part[r].w);
    }
    return g;
}

/* Adds the blocks' gradients of this block's slice, updates, tells all blocks; 4 neighbours a
 * thread. */
static __device__ void update_slice(const struct launch &L, const struct block_state &b,
                                    const struct optim_step &s)
{
    const int cluster = L.plan.cluster, first = b.rank * L.at.slice;
    const int n = min(L.at.slice, L.at.n_params - first);
    float *w = b.smem + first, *grad = b.smem + L.at.grad + first, *slot = b.smem + L.at.slot;
    for (int e = threadIdx.x * 4; e < n; e += ONCHIP_THREADS * 4) {
        const float4 g = cluster == 1 ? load4(grad + e) : cluster_sum(grad + e, cluster);
        const float4 v = update_four(L, s, load4(w + e), g, slot + e);
        if (cluster == 1) {
            *(float4 *)(w + e) = v;
            continue;
        }
#pragma unroll 4
        for (int r = 0; r < cluster; r++)
            *(float4 *)peer(w + e, r) = v;
    }
}

/* Totals of this block's rows, in order, where other blocks can read them: row 0's place. */
static __device__ void total_rows(const struct launch &L, const struct block_state &b)
{
    struct row_sums *s = (struct row_sums *)(b.smem + L.at.sums);
    struct row_sums t = s[0];
    for (int r = 1; r < L.plan.chunk_rows; r++) {
        t.loss += s[r].loss;
        t.target += s[r].target;
        t.target_sq += s[r].target_sq;
        t.n_correct += s[r].n_correct;
        s[r] = {0, 0, 0, 0};
    }
    s[0] = t;
}

static __device__ void write_sums(const struct launch &L, const struct block_state &b, int epoch)
{
    struct onchip_sums out = {b.n_rows, 0, 0, 0, 0};
    for (int r = 0; r < L.plan.cluster; r++) {
        const struct row_sums *s =
            (const struct row_sums *)(L.plan.cluster > 1 ? peer(b.smem + L.at.sums, r)
                                                         : b.smem + L.at.sums);
        out.n_correct += s->n_correct;
        out.loss_sum += s->loss;
        out.target_sum += s->target;
        out.target_sq_sum += s->target_sq;
    }
    b.m->sums[epoch] = out;
}

/* What ends a step: sums at an epoch's end, gradients together, update. */
static __device__ void end_step(const struct launch &L, const struct block_state &b,
                                const struct place &p)
{
    const bool last = p.step == b.n_steps - 1;
    const int update = p.epoch * b.n_steps + p.step;
    if (last && threadIdx.x == 0)
        total_rows(L, b);
    if (b.train && update % ONCHIP_STEP_TABLE == 0)
        fill_steps(L, b, update);
    if (!b.train && !last)
        return;
    cluster_barrier(L.plan.cluster);
    if (last && b.rank == 0 && threadIdx.x == 0)
        write_sums(L, b, p.epoch);
    if (b.train) {
        const struct optim_step s =
            ((const struct optim_step *)(b.smem + L.at.step))[update % ONCHIP_STEP_TABLE];
        update_slice(L, b, s);
    }
    cluster_barrier(L.plan.cluster);
    if (last && threadIdx.x == 0)
        *(struct row_sums *)(b.smem + L.at.sums) = {0, 0, 0, 0};
}

/* Moves parameters (slot -1) or a slot between the model's block and the padded layout; a block
 * has all parameters, and its slice of the slots. */
static __device__ void transfer(const struct launch &L, const struct block_state &b, int slot,
                                bool out)
{
    float *mem = slot < 0 ? b.m->params : b.m->slots + slot * b.m->slot_stride;
    const int first = slot < 0 && !out ? 0 : b.rank * L.at.slice;
    const int end = slot < 0 && !out ? L.at.n_params : min(first + L.at.slice, L.at.n_params);
    float *at = slot < 0 ? b.smem : b.smem + L.at.slot + slot * L.at.slice - first;
    for (int l = 0; l < L.net.n_layers; l++) {
        const int n_in = L.net.width[l], n_out = L.net.width[l + 1], ld = onchip_ld(n_out);
        const int n = n_in * n_out + (L.net.bias[l] != ONCHIP_NO_BIAS ? n_out : 0);
        for (int e = threadIdx.x; e < n; e += ONCHIP_THREADS) {
            const int row = e / n_out, col = e - row * n_out;
            const bool is_bias = row == n_in;
            const int s = L.at.w[l] + (is_bias ? onchip_round4(n_in) : row) * ld + col;
            float *g = mem + (is_bias ? L.net.bias[l] + col : L.net.weight[l] + e);
            if (s < first || s >= end)
                continue;
            if (out)
                *g = at[s];
            else
                at[s] = *g;
        }
    }
}

template <bool TF32, int TM>
__global__ void __launch_bounds__(ONCHIP_THREADS, 1)
    onchip_kernel(const __grid_constant__ struct launch L)
{
    extern __shared__ float4 shared[];
    struct block_state b;
    b.smem = (float *)shared;
    b.m = L.models + blockIdx.x / L.plan.cluster;
    b.n_rows = b.m->n_rows;
    b.permute = b.m->permute;
    b.train = b.m->train;
    b.rank = (int)blockIdx.x % L.plan.cluster;
    b.n_steps = (b.n_rows + L.plan.batch - 1) / L.plan.batch;
    b.n_chunks = (L.plan.block_rows + L.plan.chunk_rows - 1) / L.plan.chunk_rows;
    b.n_seq = b.m->n_epochs * b.n_steps * b.n_chunks;
    b.group_chunks = ONCHIP_THREADS / L.plan.chunk_rows;
    if (b.n_seq == 0)
        return; /* all blocks of the model */
    for (int e = threadIdx.x; e < L.at.total; e += ONCHIP_THREADS)
        b.smem[e] = 0.0f;
    __syncthreads();
    for (int slot = -1; slot < (b.train ? L.net.n_slots : 0); slot++)
        transfer(L, b, slot, false);
    fetch_ids(L, b, 0);
    __syncthreads();
    fetch_inputs(L, b, 0);
    copy_wait();
    cluster_barrier(L.plan.cluster);
    for (int i = 0; i < b.n_seq; i++) {
        const struct place p = place_of(L, b, i);
        fetch_inputs(L, b, i + 1);
        if (p.rows > 0)
            train_chunk<TF32, TM>(L, b, i, p);
        else if (p.chunk == 0 && b.train)
            for (int e = threadIdx.x; e < L.at.n_params; e += ONCHIP_THREADS)
                b.smem[L.at.grad + e] = 0.0f;
        /* Group g + 1 while g's first chunk is trained on: its half was last read for chunk i. */
        if (i % b.group_chunks == 0)
            fetch_ids(L, b, i / b.group_chunks + 1);
        if (p.chunk == b.n_chunks - 1)
            end_step(L, b, p);
        copy_wait();
        __syncthreads();
    }
    for (int slot = -1; b.train && slot < L.net.n_slots; slot++)
        transfer(L, b, slot, true);
}

/* Rows a thread computes together, over chunks of 64 and of fewer rows. */
#define ONCHIP_TM_LONG  2
#define ONCHIP_TM_SHORT 1

typedef void kernel_fn(const struct launch);

static kernel_fn *kernel_of(const struct onchip_plan *plan)
{
    if (plan->chunk_rows % 32 == 0 && plan->chunk_rows >= 64)
        return plan->tf32 ? onchip_kernel<true, ONCHIP_TM_LONG>
                          : onchip_kernel<false, ONCHIP_TM_LONG>;
    return plan->tf32 ? onchip_kernel<true, ONCHIP_TM_SHORT>
                      : onchip_kernel<false, ONCHIP_TM_SHORT>;
}

static cudaError_t configure(kernel_fn *kernel, const struct onchip_plan *plan, int32_t n_models,
                             cudaLaunchConfig_t *config, cudaLaunchAttribute *cluster)
{
    cudaError_t e =
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, plan->smem_bytes);
    if (e == cudaSuccess && plan->cluster > 8)
        e = cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1);
    *config = {};
    config->gridDim = dim3((unsigned)(n_models * plan->cluster));
    config->blockDim = dim3(ONCHIP_THREADS);
    config->dynamicSmemBytes = (size_t)plan->smem_bytes;
    cluster->id = cudaLaunchAttributeClusterDimension;
    cluster->val.clusterDim.x = (unsigned)plan->cluster;
    cluster->val.clusterDim.y = cluster->val.clusterDim.z = 1;
    config->attrs = cluster;
    config->numAttrs = plan->cluster > 1 ? 1 : 0;
    return e;
}

extern "C" int onchip_resident(const struct onchip_plan *plan, int n_sm)
{
    cudaLaunchConfig_t config;
    cudaLaunchAttribute attribute;
    int n = 0;
    kernel_fn *kernel = kernel_of(plan);
    if (configure(kernel, plan, 1, &config, &attribute) != cudaSuccess)
        return 0;
    if (plan->cluster == 1)
        return n_sm;
    return cudaOccupancyMaxActiveClusters(&n, kernel, &config) == cudaSuccess ? n : 0;
}

extern "C" int onchip_launch(const struct onchip_mlp *net, const struct onchip_plan *plan,
                             enum optim_kind optim, const struct onchip_data *data,
                             const struct onchip_model *models, int32_t n_models, void *stream)
{
    struct launch L;
    L.net = *net;
    L.plan = *plan;
    L.at = onchip_layout_make(net, plan->cluster, plan->chunk_rows);
    L.data = *data;
    L.optim = optim;
    L.models = models;
    if (n_models < 1 || L.at.total * 4 != plan->smem_bytes)
        return cudaErrorInvalidValue;
    cudaLaunchConfig_t config;
    cudaLaunchAttribute attribute;
    kernel_fn *kernel = kernel_of(plan);
    const cudaError_t e = configure(kernel, plan, n_models, &config, &attribute);
    if (e != cudaSuccess)
        return e;
    config.stream = (cudaStream_t)stream;
    return cudaLaunchKernelEx(&config, kernel, L);
}
