/* Opening a GPU, its memory, and the data sets on it. */
#include "backend/cuda/device.h"

#include "fugue_interface.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool cuda_ok(cudaError_t rc, const char *what, struct error *err)
{
    if (rc == cudaSuccess)
        return true;
    return host->error_set(err, ERROR_RUN, "the GPU failed (%s): %s", what, cudaGetErrorString(rc));
}

void *cuda_take(size_t bytes, const char *what, struct error *err)
{
    size_t free_bytes = 0, all = 0;
    void *memory = NULL;
    if (!cuda_ok(cudaMemGetInfo(&free_bytes, &all), "asking for its free memory", err))
        return NULL;
    if (bytes <= free_bytes && cudaMalloc(&memory, bytes) == cudaSuccess)
        return memory;
    (void)cudaGetLastError();
    host->error_set(err, ERROR_SYSTEM,
                    "out of GPU memory: %s need%s %.1f MB, %.1f MB of %.1f MB are free; fewer "
                    "models at a time (--max-parallel) or a smaller batch need less",
                    what, what[strlen(what) - 1] == 's' ? "" : "s", (double)bytes / 1e6,
                    (double)free_bytes / 1e6, (double)all / 1e6);
    return NULL;
}

/* ---- data sets ---- */

static bool same_source(const struct source *a, const struct source *b)
{
    return a->x == b->x && a->label == b->label && a->value == b->value && a->n == b->n;
}

static struct cuda_held *find_held(struct backend_device *dev, const struct source *source)
{
    for (int i = 0; i < dev->n_held; i++)
        if (dev->held[i].users > 0 && same_source(&dev->held[i].key, source))
            return &dev->held[i];
    return NULL;
}

static void release_held(struct cuda_held *h)
{
    for (int i = 0; i < 3; i++)
        cudaFree(h->memory[i]);
    memset(h, 0, sizeof *h);
}

static bool copy_source(struct cuda_held *h, const struct source *s, struct error *err)
{
    static const size_t widths[] = {[SOURCE_U8] = 1, [SOURCE_F32] = 4, [SOURCE_I32] = 4};
    const size_t n = (size_t)s->n, labels = s->label_count > 1 ? (size_t)s->label_count : 1;
    const void *from[3] = {s->x, s->label, s->value};
    const size_t bytes[3] = {n * s->sample_count * widths[s->type], 4 * n * labels, 4 * n};
    if (s->n < 1)
        return host->error_set(err, ERROR_INTERNAL, "a source of %lld samples", (long long)s->n);
    for (int i = 0; i < 3; i++) {
        if (!from[i])
            continue;
        h->memory[i] = cuda_take(bytes[i], "the data set's samples", err);
        if (!h->memory[i] ||
            !cuda_ok(cudaMemcpy(h->memory[i], from[i], bytes[i], cudaMemcpyHostToDevice),
                     "copying a data set to it", err))
            return false;
    }
    h->source = (struct cuda_source){.type = s->type,
                                     .x = h->memory[0],
                                     .sample_count = s->sample_count,
                                     .shape = s->shape,
                                     .divisor = s->divisor,
                                     .label = h->memory[1],
                                     .label_count = s->label_count,
                                     .value = h->memory[2],
                                     .crop_flip = s->crop_flip};
    return true;
}

static bool hold_new(struct backend_device *dev, const struct source *source, struct error *err)
{
    struct cuda_held *list = realloc(dev->held, (size_t)(dev->n_held + 1) * sizeof *list);
    if (!list)
        return host->error_set(err, ERROR_SYSTEM, "out of memory");
    dev->held = list;
    struct cuda_held h = {.key = *source, .users = 1};
    if (!copy_source(&h, source, err)) {
        release_held(&h);
        return false;
    }
    list[dev->n_held++] = h;
    return true;
}

bool cuda_source_hold(struct backend_device *dev, const struct source *source, struct error *err)
{
    pthread_mutex_lock(&dev->lock);
    struct cuda_held *h = find_held(dev, source);
    bool ok = true;
    if (h)
        h->users++;
    else
        ok = cuda_ok(cudaSetDevice(dev->gpu), "choosing it", err) && hold_new(dev, source, err);
    pthread_mutex_unlock(&dev->lock);
    return ok;
}

void cuda_source_drop(struct backend_device *dev, const struct source *source)
{
    pthread_mutex_lock(&dev->lock);
    struct cuda_held *h = find_held(dev, source);
    if (h && --h->users == 0) {
        release_held(h);
        *h = dev->held[--dev->n_held];
    }
    pthread_mutex_unlock(&dev->lock);
}

const struct cuda_source *cuda_source_find(struct backend_device *dev, const struct source *source)
{
    pthread_mutex_lock(&dev->lock);
    const struct cuda_held *h = find_held(dev, source);
    pthread_mutex_unlock(&dev->lock);
    return h ? &h->source : NULL;
}

/* ---- the device ---- */

/* Kernels are built for compute capability 8.0 and up. */
#define LEAST_MAJOR 8

static bool find_gpu(int gpu, int *major, int *minor, struct error *err)
{
    int n = 0;
    const cudaError_t rc = cudaGetDeviceCount(&n);
    if (rc != cudaSuccess || n < 1)
        return host->error_set(err, ERROR_USAGE,
                               "no GPU can be used here (%s): check nvidia-smi and "
                               "CUDA_VISIBLE_DEVICES, or use --device cpu",
                               rc == cudaSuccess ? "none is visible" : cudaGetErrorString(rc));
    if (gpu < 0 || gpu >= n)
        return host->error_set(err, ERROR_USAGE,
                               "there is no GPU %d: %d can be seen, counted from 0 "
                               "(CUDA_VISIBLE_DEVICES chooses which)",
                               gpu, n);
    if (!cuda_ok(cudaDeviceGetAttribute(major, cudaDevAttrComputeCapabilityMajor, gpu),
                 "asking what it is", err) ||
        !cuda_ok(cudaDeviceGetAttribute(minor, cudaDevAttrComputeCapabilityMinor, gpu),
                 "asking what it is", err))
        return false;
    if (*major < LEAST_MAJOR)
        return host->error_set(err, ERROR_USAGE,
                               "GPU %d has compute capability %d.%d, and this build needs %d.0 or "
                               "newer; use --device cpu",
                               gpu, *major, *minor, LEAST_MAJOR);
    return true;
}

static bool device_check(const struct backend_options *options, struct error *err)
{
    int major, minor;
    return find_gpu(options->gpu, &major, &minor, err);
}

static struct backend_device *device_open(const struct backend_options *options, struct error *err)
{
    struct backend_device *dev = calloc(1, sizeof *dev);
    if (!dev) {
        host->error_set(err, ERROR_SYSTEM, "out of memory");
        return NULL;
    }
    dev->gpu = options->gpu;
    dev->tf32 = options->tf32;
    dev->compile = options->compile;
    int major, minor;
    if (!find_gpu(dev->gpu, &major, &minor, err) ||
        !cuda_ok(cudaSetDevice(dev->gpu), "opening it", err) ||
        !cuda_ok(cudaFree(NULL), "starting on it", err)) {
        free(dev);
        return NULL;
    }
    snprintf(dev->variant, sizeof dev->variant, "sm_%d%d", major, minor);
    pthread_mutex_init(&dev->lock, NULL);
    return dev;
}

static void device_close(struct backend_device *dev)
{
    if (!dev)
        return;
    for (int i = 0; i < dev->n_held; i++)
        release_held(&dev->held[i]);
    pthread_mutex_destroy(&dev->lock);
    free(dev->held);
    free(dev);
}

/* Threads of the host that train: one drives the GPU. */
static int device_threads(const struct backend_device *dev)
{
    (void)dev;
    return 1;
}

static const char *device_variant(const struct backend_device *dev)
{
    return dev->variant;
}

static const struct backend backend_cuda = {
    .name = "cuda",
    .one_shard = true,
    .shuffles = true,
    .variant_at = cuda_variant_at,
    .kernel_at = cuda_kernel_at,
    .check = device_check,
    .open = device_open,
    .close = device_close,
    .threads = device_threads,
    .variant = device_variant,
    .bucket_bytes = cuda_bucket_bytes,
    .bucket_new = cuda_bucket_new,
    .bucket_free = cuda_bucket_free,
    .bucket_compile = cuda_bucket_compile,
    .source_hold = cuda_source_hold,
    .source_drop = cuda_source_drop,
    .model_write = cuda_model_write,
    .model_read = cuda_model_read,
    .run = cuda_run,
};

/* ---- the module ---- */

const struct cuda_host *host;

__attribute__((visibility("default"))) const struct backend *
fugue_cuda_module(const char *interface, const struct cuda_host *program);

const struct backend *fugue_cuda_module(const char *interface, const struct cuda_host *program)
{
    if (strcmp(interface, FUGUE_INTERFACE) != 0)
        return NULL;
    host = program;
    return &backend_cuda;
}
