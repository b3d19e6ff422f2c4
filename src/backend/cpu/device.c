#include "backend/cpu/device.h"

#include "base/os.h"

#include <stdlib.h>
#include <string.h>

#define MAX_THREADS 1024

static void device_close(struct backend_device *dev)
{
    if (!dev)
        return;
    pthread_mutex_lock(&dev->lock);
    dev->closing = true;
    pthread_cond_broadcast(&dev->work);
    pthread_mutex_unlock(&dev->lock);
    for (int i = 0; i < dev->n_started; i++)
        pthread_join(dev->workers[i].thread, NULL);
    pthread_cond_destroy(&dev->finished);
    pthread_cond_destroy(&dev->work);
    pthread_mutex_destroy(&dev->lock);
    free(dev->workers);
    free(dev->places);
    free(dev);
}

static bool start_workers(struct backend_device *dev, struct error *err)
{
    for (int i = 0; i < dev->use.threads; i++) {
        struct worker *w = &dev->workers[i];
        w->dev = dev;
        w->index = i;
        const int rc = pthread_create(&w->thread, NULL, cpu_thread_main, w);
        if (rc != 0)
            return error_errno(err, rc, "cannot start thread %d of %d", i + 1, dev->use.threads);
        dev->n_started++;
    }
    return true;
}

struct backend_device *cpu_open(int threads, const struct cpu_isa *isa, bool fuse,
                                struct error *err)
{
    const int cores = os_cpu_count();
    const int n = threads > 0 ? threads : cores;
    if (n > MAX_THREADS) {
        error_set(err, ERROR_USAGE, "%d threads: at most %d are of use", n, MAX_THREADS);
        return NULL;
    }
    struct backend_device *dev = calloc(1, sizeof *dev);
    if (dev) {
        dev->workers = calloc((size_t)n, sizeof *dev->workers);
        const size_t size = (size_t)n * sizeof *dev->places;
        dev->places = aligned_alloc(_Alignof(struct place), size);
        if (dev->places)
            memset(dev->places, 0, size);
    }
    if (!dev || !dev->workers || !dev->places) {
        if (dev) {
            free(dev->workers);
            free(dev->places);
        }
        free(dev);
        error_set(err, ERROR_SYSTEM, "out of memory for %d threads", n);
        return NULL;
    }
    dev->use = (struct bucket_use){.isa = isa, .fuse = fuse, .threads = n};
    /* Only who has all cores pins: several processes with a part each would all take the first. */
    dev->pin = n > 1 && n == cores;
    pthread_mutex_init(&dev->lock, NULL);
    pthread_cond_init(&dev->work, NULL);
    pthread_cond_init(&dev->finished, NULL);
    if (!start_workers(dev, err)) {
        device_close(dev);
        return NULL;
    }
    return dev;
}

static struct backend_device *device_open(const struct backend_options *options, struct error *err)
{
    return cpu_open(options->threads, cpu_isa_find(NULL), true, err);
}

static int device_threads(const struct backend_device *dev)
{
    return dev->use.threads;
}

static const char *device_variant(const struct backend_device *dev)
{
    return dev->use.isa->name;
}

static size_t device_bucket_bytes(const struct backend_device *dev, const struct plan *plan,
                                  int n_models)
{
    return bucket_size_bytes(&dev->use, plan, n_models);
}

static void device_bucket_free(struct backend_bucket *b)
{
    if (!b)
        return;
    bucket_release(b);
    free(b);
}

static struct backend_bucket *device_bucket_new(struct backend_device *dev, const struct plan *plan,
                                                int n_models, struct error *err)
{
    struct backend_bucket *b = calloc(1, sizeof *b);
    if (!b) {
        error_set(err, ERROR_SYSTEM, "out of memory");
        return NULL;
    }
    b->dev = dev;
    if (!bucket_init(b, &dev->use, plan, n_models, err)) {
        device_bucket_free(b);
        return NULL;
    }
    return b;
}

/* The parts of a slice, in order: where each starts and how long it is. */
struct part {
    float *at;
    size_t floats;
};

static void slice_parts(const struct backend_bucket *b, int k, struct part part[3])
{
    const struct plan *p = b->plan;
    part[0] = (struct part){bucket_slice(b, k), p->param_floats};
    part[1] = (struct part){part[0].at + p->param_floats, (size_t)p->n_slots * p->param_floats};
    part[2] = (struct part){part[1].at + part[1].floats, p->buffer_floats};
}

static void device_model_write(struct backend_bucket *b, int k, const float *params,
                               const float *slots, const float *buffers)
{
    const float *from[3] = {params, slots, buffers};
    struct part part[3];
    slice_parts(b, k, part);
    for (int i = 0; i < 3; i++)
        if (from[i] && part[i].floats > 0)
            memcpy(part[i].at, from[i], part[i].floats * sizeof(float));
}

static void device_model_read(const struct backend_bucket *b, int k, float *params, float *slots,
                              float *buffers)
{
    float *to[3] = {params, slots, buffers};
    struct part part[3];
    slice_parts(b, k, part);
    for (int i = 0; i < 3; i++)
        if (to[i] && part[i].floats > 0)
            memcpy(to[i], part[i].at, part[i].floats * sizeof(float));
}

const struct backend backend_cpu = {
    .name = "cpu",
    .variant_at = cpu_variant_at,
    .kernel_at = cpu_kernel_at,
    .open = device_open,
    .close = device_close,
    .threads = device_threads,
    .variant = device_variant,
    .bucket_bytes = device_bucket_bytes,
    .bucket_new = device_bucket_new,
    .bucket_free = device_bucket_free,
    .model_write = device_model_write,
    .model_read = device_model_read,
    .run = device_run,
};
