/* Small networks of linear layers and relus: a training pass is one launch (onchip/onchip.h), for
 * all models of the bucket. */
#include "backend/cuda/device.h"

#include <stdlib.h>
#include <string.h>

/* Appends the layer of a linear step. */
static bool add_layer(struct onchip_mlp *net, const struct plan_step *s)
{
    const int32_t i = net->n_layers;
    if (i >= ONCHIP_MAX_LAYERS || s->in[0].rank != 1 || s->out.rank != 1)
        return false;
    net->width[i] = s->in[0].d[0];
    net->width[i + 1] = s->out.d[0];
    net->weight[i] = (int64_t)s->param[0];
    net->bias[i] = s->n_params > 1 ? (int64_t)s->param[1] : ONCHIP_NO_BIAS;
    net->n_layers++;
    return true;
}

/* The batch, linear layers with relus between them, the loss: nothing else. */
static bool match(const struct plan *plan, struct onchip_mlp *net)
{
    const struct plan_program *p = &plan->train;
    const struct plan_step *s = p->steps;
    if (plan->clips || s->kind != STEP_GATHER || s->attr.is_tokens)
        return false;
    *net = (struct onchip_mlp){.n_slots = plan->n_slots};
    bool linear_next = true;
    for (s++; s->kind == STEP_FORWARD; s++, linear_next = !linear_next)
        if (s->op != (linear_next ? OP_LINEAR : OP_RELU) || (linear_next && !add_layer(net, s)))
            return false;
    if (s->kind != STEP_LOSS || linear_next || net->n_layers < 1)
        return false;
    net->loss = s->op == OP_MSE ? ONCHIP_MSE : ONCHIP_CROSS_ENTROPY;
    net->label_smoothing = (float)s->attr.label_smoothing;
    return true;
}

static bool read_chip(int gpu, struct onchip_chip *chip)
{
    int major = 0;
    if (cudaDeviceGetAttribute(&chip->n_sm, cudaDevAttrMultiProcessorCount, gpu) != cudaSuccess ||
        cudaDeviceGetAttribute(&chip->smem_bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, gpu) !=
            cudaSuccess ||
        cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, gpu) != cudaSuccess)
        return false;
    chip->max_cluster = major >= 9 ? 8 : 1;
    return true;
}

bool cuda_mlp_make(struct backend_bucket *b, struct error *err)
{
    struct cuda_mlp *m = &b->mlp;
    struct onchip_chip chip;
    if (b->dev->reference || !match(b->plan, &m->net) || !read_chip(b->dev->gpu, &chip))
        return true;
    bool fits;
    while ((fits = onchip_plan_make(&m->net, b->plan->batch, b->n_models, &chip, b->dev->tf32,
                                    &m->plan)) &&
           m->plan.cluster > 1 && onchip_resident(&m->plan, chip.n_sm) < b->n_models)
        chip.max_cluster = m->plan.cluster / 2;
    if (!fits)
        return true;
    const size_t n = (size_t)b->n_models;
    m->models = cuda_take(n * (sizeof *m->models + sizeof *m->sums), "the models' passes", err);
    m->host = calloc(n, sizeof *m->host + sizeof *m->host_sums);
    if (!m->models)
        return false;
    if (!m->host) {
        host->error_set(err, ERROR_SYSTEM, "out of memory for %d models", b->n_models);
        return false;
    }
    m->sums = (struct onchip_sums *)(void *)(m->models + n);
    m->host_sums = (struct onchip_sums *)(void *)(m->host + n);
    m->usable = true;
    return true;
}

void cuda_mlp_release(struct cuda_mlp *m)
{
    cudaFree(m->models);
    free(m->host);
}

/* The models of a round read one source of a kind the kernel reads, as it is. */
static const struct cuda_source *source_of(const struct backend_bucket *b)
{
    const struct cuda_source *first = NULL;
    for (int k = 0; k < b->n_models; k++) {
        const struct cuda_model *m = &b->host_models[k];
        if (m->n_rows == 0)
            continue;
        if (!first)
            first = &m->source;
        if (m->source.x != first->x || m->source.crop_flip || m->source.type == SOURCE_I32)
            return NULL;
    }
    return first;
}

bool cuda_mlp_usable(const struct backend_bucket *b)
{
    return b->mlp.usable && source_of(b) != NULL;
}

bool cuda_mlp_train(struct backend_bucket *b, struct error *err)
{
    struct cuda_mlp *m = &b->mlp;
    const struct cuda_source *s = source_of(b);
    const size_t n = (size_t)b->n_models, p = b->plan->param_floats;
    for (size_t k = 0; k < n; k++) {
        const struct cuda_model *from = &b->host_models[k];
        m->host[k] = (struct onchip_model){.params = b->slices + k * b->slice_stride,
                                           .slots = b->slices + k * b->slice_stride + p,
                                           .slot_stride = (int64_t)p,
                                           .rows = from->rows,
                                           .sums = m->sums + k,
                                           .steps = from->rules,
                                           .first_update = 1,
                                           .seed = from->seed,
                                           .first_epoch = from->epoch,
                                           .n_rows = (int32_t)from->n_rows,
                                           .n_epochs = from->n_rows > 0,
                                           .train = 1};
    }
    const struct onchip_data data = {.x = s->x,
                                     .is_u8 = s->type == SOURCE_U8,
                                     .divisor = s->divisor,
                                     .value = s->value,
                                     .label = s->label};
    return cuda_ok(cudaMemcpyAsync(m->models, m->host, n * sizeof *m->models,
                                   cudaMemcpyHostToDevice, b->stream),
                   "sending a pass", err) &&
           cuda_ok((cudaError_t)onchip_launch(&m->net, &m->plan, b->plan->optim, &data, m->models,
                                              b->n_models, b->stream),
                   "launching an epoch", err) &&
           cuda_ok(cudaMemcpyAsync(m->host_sums, m->sums, n * sizeof *m->sums,
                                   cudaMemcpyDeviceToHost, b->stream),
                   "reading sums", err) &&
           cuda_ok(cudaStreamSynchronize(b->stream), "training", err);
}

void cuda_mlp_sums(struct backend_bucket *b)
{
    for (int k = 0; k < b->n_models; k++) {
        const struct onchip_sums *s = &b->mlp.host_sums[k];
        if (b->host_models[k].n_rows > 0)
            b->host_models[k].sums = (struct pass_sums){.n = s->n,
                                                        .loss_sum = s->loss_sum,
                                                        .n_correct = s->n_correct,
                                                        .target_sum = s->target_sum,
                                                        .target_sq_sum = s->target_sq_sum};
    }
}
