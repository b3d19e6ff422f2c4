/* A bucket on the GPU: one block of memory, and each program's launches, made once.
 *
 *     [slice x K][lane x K][workspace x K][models][counters][n_valid]
 *
 * Gradients lie in a lane from the plan's shard_grads on as parameters lie in a slice: with one
 * shard the plan's ranges add up to that very block.
 */
#include "backend/cuda/device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ALIGN_FLOATS 64 /* 256 bytes */

static size_t round_up(size_t n, size_t to)
{
    return (n + to - 1) / to * to;
}

static const struct cuda_kernel *kernel_of(const struct backend_device *dev,
                                           const struct plan_step *s)
{
    const bool no_op = s->kind == STEP_GRAD_SQUARES || s->kind == STEP_GRAD_SCALE ||
                       s->kind == STEP_UPDATE || s->kind == STEP_GATHER;
    return cuda_kernel_find(dev->reference, s->kind, no_op ? OP_INPUT : s->op);
}

/* ---- sizes ---- */

static size_t program_workspace(const struct backend_device *dev, const struct plan *plan,
                                const struct plan_program *p)
{
    size_t most = 0;
    for (int32_t i = 0; i < p->n_steps; i++) {
        const struct cuda_kernel *k = kernel_of(dev, &p->steps[i]);
        const size_t n = k && k->workspace ? k->workspace(&p->steps[i], plan->batch) : 0;
        most = n > most ? n : most;
    }
    return most;
}

/* Sizes of b's parts; the whole in bytes. */
static size_t lay_out(struct backend_bucket *b, const struct backend_device *dev,
                      const struct plan *plan, int n_models)
{
    const size_t train = program_workspace(dev, plan, &plan->train);
    const size_t eval = program_workspace(dev, plan, &plan->eval), n = (size_t)n_models;
    b->plan = plan;
    b->n_models = n_models;
    b->slice_stride = round_up(plan->slice_floats, ALIGN_FLOATS);
    b->lane_stride = round_up(plan->lane_floats, ALIGN_FLOATS);
    b->workspace_floats = round_up(train > eval ? train : eval, ALIGN_FLOATS);
    const size_t floats = n * (b->slice_stride + b->lane_stride + b->workspace_floats);
    return floats * sizeof(float) + n * CUDA_MAX_COUNTERS * sizeof(uint32_t) +
           n * sizeof(struct cuda_model) + n * sizeof(int32_t);
}

size_t cuda_bucket_bytes(const struct backend_device *dev, const struct plan *plan, int n_models)
{
    struct backend_bucket b = {0};
    return lay_out(&b, dev, plan, n_models);
}

/* ---- programs ---- */

/* The gradient of a parameter is one for the batch, by BACKWARD_PARAMS. */
static bool is_whole(const struct plan *plan, size_t param)
{
    for (int32_t i = 0; i < plan->n_grads; i++)
        if (param - plan->grads[i].first < plan->grads[i].count)
            return plan->grads[i].whole;
    return false;
}

static float *buffer_at(const struct backend_bucket *b, const struct plan_program *p, int32_t i)
{
    return i < 0 ? NULL : b->lanes + p->buffers[i].offset;
}

static void set_parameters(struct cuda_call *c, const struct backend_bucket *b,
                           const struct plan_step *s)
{
    const struct plan *plan = b->plan;
    float *buffers = b->slices + (size_t)(1 + plan->n_slots) * plan->param_floats;
    const bool parts = s->kind == STEP_BACKWARD_PARAMS;
    const bool gives = parts || s->kind == STEP_BACKWARD || s->kind == STEP_BN_BACK_REDUCE;
    for (int32_t i = 0; i < s->n_params; i++) {
        c->param[i] = b->slices + s->param[i];
        if (gives && is_whole(plan, s->param[i]) == parts)
            c->grad[i] = b->lanes + plan->shard_grads + s->param[i];
    }
    for (int32_t i = 0; i < s->n_buffers; i++)
        c->buffer[i] = buffers + s->buffer[i];
    c->params = b->slices;
    c->grads = b->lanes + plan->shard_grads;
    c->param_floats = plan->param_floats;
    c->n_slots = plan->n_slots;
    c->n_chunks = plan->n_chunks;
}

static void set_call(struct cuda_call *c, const struct backend_bucket *b,
                     const struct plan_program *p, const struct plan_step *s)
{
    *c = (struct cuda_call){
        .step = s,
        .stream = b->stream,
        .model = b->models,
        .n_valid = b->n_valid,
        .n_models = b->n_models,
        .batch = b->plan->batch,
        .training = p == &b->plan->train,
        .tf32 = b->dev->tf32,
        .lane = b->lane_stride,
        .slice = b->slice_stride,
        .y = buffer_at(b, p, s->y),
        .dy = buffer_at(b, p, s->dy),
        .saved = (int32_t *)(void *)buffer_at(b, p, s->saved),
        .target = buffer_at(b, p, p->target),
        .partial = buffer_at(b, p, s->partial),
        .whole = {buffer_at(b, p, s->whole[0]), buffer_at(b, p, s->whole[1])},
        .workspace = b->workspace,
        .workspace_floats = b->workspace_floats,
        .counters = b->counters,
    };
    for (int i = 0; i < OP_MAX_INPUTS; i++) {
        c->x[i] = buffer_at(b, p, s->x[i]);
        c->dx[i] = buffer_at(b, p, s->dx[i]);
    }
    set_parameters(c, b, s);
}

static bool make_program(struct backend_bucket *b, const struct plan_program *p,
                         struct cuda_program *out, struct error *err)
{
    out->plan = p;
    out->calls = calloc((size_t)p->n_steps + 1, sizeof *out->calls);
    out->kernels = calloc((size_t)p->n_steps + 1, sizeof *out->kernels);
    if (!out->calls || !out->kernels) {
        host->error_set(err, ERROR_SYSTEM, "out of memory for a program of %d steps",
                        (int)p->n_steps);
        return false;
    }
    for (int32_t i = 0; i < p->n_steps; i++) {
        const struct plan_step *s = &p->steps[i];
        out->kernels[i] = kernel_of(b->dev, s);
        if (!out->kernels[i])
            return host->error_set(err, ERROR_INTERNAL,
                                   "cuda has no kernel for step %d (kind %d, %s)", (int)i,
                                   (int)s->kind, host->ops[s->op].name);
        set_call(&out->calls[i], b, p, s);
    }
    return true;
}

void cuda_launch_step(const struct backend_bucket *b, const struct cuda_program *p)
{
    cuda_begin_step(b->models, b->n_valid, b->n_models, b->plan->batch, b->progress, b->stream);
    for (int32_t i = 0; i < p->plan->n_steps; i++)
        p->kernels[i]->launch(&p->calls[i]);
}

/* ---- graphs ---- */

static bool capture(struct backend_bucket *b, const struct cuda_program *p, int steps,
                    cudaGraphExec_t *out, struct error *err)
{
    cudaGraph_t graph = NULL;
    cudaError_t rc = cudaStreamBeginCapture(b->stream, cudaStreamCaptureModeRelaxed);
    for (int i = 0; rc == cudaSuccess && i < steps; i++)
        cuda_launch_step(b, p);
    if (rc == cudaSuccess)
        rc = cudaStreamEndCapture(b->stream, &graph);
    if (rc == cudaSuccess)
        rc = cudaGraphInstantiate(out, graph, 0);
    if (graph)
        cudaGraphDestroy(graph);
    if (rc == cudaSuccess)
        rc = cudaGraphUpload(*out, b->stream);
    return cuda_ok(rc, "making a graph of a step", err);
}

/* Short programs go in groups: from graph to graph the device waits longer than between the
 * kernels of one. */
#define SHORT_STEPS 48

static bool compile_program(struct backend_bucket *b, struct cuda_program *p, struct error *err)
{
    return capture(b, p, 1, &p->one, err) &&
           (p->plan->n_steps > SHORT_STEPS || capture(b, p, CUDA_UNROLL, &p->many, err));
}

bool cuda_bucket_compile(struct backend_bucket *b, struct error *err)
{
    return cuda_ok(cudaSetDevice(b->dev->gpu), "choosing it", err) &&
           compile_program(b, &b->train, err) && compile_program(b, &b->eval, err) &&
           cuda_ok(cudaStreamSynchronize(b->stream), "making graphs", err);
}

/* ---- a bucket ---- */

static bool take_memory(struct backend_bucket *b, size_t bytes, struct error *err)
{
    const size_t n = (size_t)b->n_models;
    char what[80];
    snprintf(what, sizeof what, "%d model%s of this shape", b->n_models,
             b->n_models == 1 ? "" : "s, all");
    b->memory = cuda_take(bytes, what, err);
    if (!b->memory)
        return false;
    b->slices = (float *)(void *)b->memory;
    b->lanes = b->slices + n * b->slice_stride;
    b->workspace = b->lanes + n * b->lane_stride;
    b->models = (struct cuda_model *)(void *)(b->workspace + n * b->workspace_floats);
    b->counters = (uint32_t *)(void *)(b->models + n);
    b->n_valid = (int32_t *)(void *)(b->counters + n * CUDA_MAX_COUNTERS);
    /* Padding floats of parameters and gradients are zero for good. */
    return cuda_ok(cudaMemsetAsync(b->memory, 0, bytes, b->stream), "clearing memory", err) &&
           cuda_ok(cudaHostAlloc((void **)&b->host_models, n * sizeof *b->host_models,
                                 cudaHostAllocDefault),
                   "pinning memory", err) &&
           cuda_ok(
               cudaHostAlloc((void **)&b->progress, n * sizeof *b->progress, cudaHostAllocMapped),
               "pinning memory", err);
}

/* One step in which every model is frozen: loads all kernels, so that no epoch waits for that. */
static bool warm_up(const struct backend_bucket *b, struct error *err)
{
    cuda_launch_step(b, &b->train);
    cuda_launch_step(b, &b->eval);
    return cuda_ok(cudaGetLastError(), "launching a step", err) &&
           cuda_ok(cudaStreamSynchronize(b->stream), "its first step", err);
}

static bool bucket_init(struct backend_bucket *b, struct error *err)
{
    const size_t bytes = lay_out(b, b->dev, b->plan, b->n_models);
    if (b->plan->n_shards != 1 || b->n_models < 1 || b->n_models > 65535)
        return host->error_set(err, ERROR_INTERNAL,
                               "a plan of %d shards for %d models: the GPU takes one shard and up "
                               "to 65535 models",
                               (int)b->plan->n_shards, b->n_models);
    return cuda_ok(cudaSetDevice(b->dev->gpu), "choosing it", err) &&
           cuda_ok(cudaStreamCreateWithFlags(&b->stream, cudaStreamNonBlocking), "a stream", err) &&
           cuda_ok(cudaEventCreateWithFlags(&b->window[0], cudaEventDisableTiming), "an event",
                   err) &&
           cuda_ok(cudaEventCreateWithFlags(&b->window[1], cudaEventDisableTiming), "an event",
                   err) &&
           take_memory(b, bytes, err) && make_program(b, &b->plan->train, &b->train, err) &&
           make_program(b, &b->plan->eval, &b->eval, err) && cuda_mlp_make(b, err) &&
           warm_up(b, err);
}

struct backend_bucket *cuda_bucket_new(struct backend_device *dev, const struct plan *plan,
                                       int n_models, struct error *err)
{
    struct backend_bucket *b = calloc(1, sizeof *b);
    if (!b) {
        host->error_set(err, ERROR_SYSTEM, "out of memory");
        return NULL;
    }
    b->dev = dev;
    b->plan = plan;
    b->n_models = n_models;
    if (bucket_init(b, err))
        return b;
    cuda_bucket_free(b);
    return NULL;
}

static void release_program(struct cuda_program *p)
{
    if (p->one)
        cudaGraphExecDestroy(p->one);
    if (p->many)
        cudaGraphExecDestroy(p->many);
    free((void *)p->kernels);
    free(p->calls);
}

void cuda_bucket_free(struct backend_bucket *b)
{
    if (!b)
        return;
    cudaSetDevice(b->dev->gpu);
    release_program(&b->train);
    release_program(&b->eval);
    cuda_mlp_release(&b->mlp);
    for (int i = 0; i < b->n_lists; i++)
        cudaFree(b->lists[i].rows);
    free(b->lists);
    cudaFree(b->rows.memory);
    cudaFree(b->rules.memory);
    cudaFree(b->memory);
    cudaFreeHost(b->host_models);
    cudaFreeHost(b->progress);
    for (int i = 0; i < 2; i++)
        if (b->window[i])
            cudaEventDestroy(b->window[i]);
    if (b->stream)
        cudaStreamDestroy(b->stream);
    free(b);
}

/* ---- models in and out ---- */

/* The parts of a slice, in order: where each starts and how long it is. */
struct part {
    float *at;
    size_t floats;
};

static void slice_parts(const struct backend_bucket *b, int k, struct part part[3])
{
    const struct plan *p = b->plan;
    part[0] = (struct part){b->slices + (size_t)k * b->slice_stride, p->param_floats};
    part[1] = (struct part){part[0].at + p->param_floats, (size_t)p->n_slots * p->param_floats};
    part[2] = (struct part){part[1].at + part[1].floats, p->buffer_floats};
}

/* A failure shows at the next call of the run, which waits: errors of the device stay. */
static void copy_part(void *to, const void *from, size_t floats, enum cudaMemcpyKind kind,
                      cudaStream_t stream)
{
    if (to && from && floats > 0)
        cudaMemcpyAsync(to, from, floats * sizeof(float), kind, stream);
}

void cuda_model_write(struct backend_bucket *b, int k, const float *params, const float *slots,
                      const float *buffers)
{
    const float *from[3] = {params, slots, buffers};
    struct part part[3];
    slice_parts(b, k, part);
    cudaSetDevice(b->dev->gpu);
    for (int i = 0; i < 3; i++)
        copy_part(part[i].at, from[i], part[i].floats, cudaMemcpyHostToDevice, b->stream);
    cudaStreamSynchronize(b->stream);
}

void cuda_model_read(const struct backend_bucket *b, int k, float *params, float *slots,
                     float *buffers)
{
    float *to[3] = {params, slots, buffers};
    struct part part[3];
    slice_parts(b, k, part);
    cudaSetDevice(b->dev->gpu);
    for (int i = 0; i < 3; i++)
        copy_part(to[i], part[i].at, part[i].floats, cudaMemcpyDeviceToHost, b->stream);
    cudaStreamSynchronize(b->stream);
}
