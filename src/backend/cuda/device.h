/* A GPU: what is open on it, and the data sets that lie in its memory. */
#ifndef BACKEND_CUDA_DEVICE_H
#define BACKEND_CUDA_DEVICE_H

#include "backend/cuda/kernel.h"
#include "backend/load.h"

#include <pthread.h>
#include <stdatomic.h>

/* The program this module was opened by. */
extern const struct cuda_host *host;

/* A data set's part on the device, and how many hold it. */
struct cuda_held {
    struct source key;
    struct cuda_source source;
    void *memory[3]; /* x, labels, values */
    int users;
};

struct backend_device {
    int gpu;
    char variant[24]; /* "sm_90" */
    bool tf32, compile;
    pthread_mutex_t lock;
    struct cuda_held *held;
    int n_held;
    /* The run in progress. */
    _Atomic bool stopping;
};

/* True when rc is success; else the error "the GPU failed (what): reason". */
bool cuda_ok(cudaError_t rc, const char *what, struct error *err);
/* Memory of the device; the error says bytes needed and free.  `what` as in "15 models of this
 * shape". */
void *cuda_take(size_t bytes, const char *what, struct error *err);

bool cuda_source_hold(struct backend_device *dev, const struct source *source, struct error *err);
void cuda_source_drop(struct backend_device *dev, const struct source *source);
/* What a held source is on the device; NULL when nobody holds it. */
const struct cuda_source *cuda_source_find(struct backend_device *dev, const struct source *source);

/* ---- bucket.c ---- */

/* A program of the plan with everything of its launches but the stream's place in time. */
struct cuda_program {
    const struct plan_program *plan;
    struct cuda_call *calls; /* one a step */
    const struct cuda_kernel **kernels;
    /* Compiled: one step, and CUDA_UNROLL steps in one go; NULL: none. */
    cudaGraphExec_t one, many;
};

/* A list of rows that stays on the device as long as the bucket. */
struct cuda_list {
    const uint32_t *key;
    int64_t n;
    uint32_t *rows;
};

/* What a round needs beside the plan, taken when it is first needed and then kept. */
struct cuda_room {
    void *memory;
    size_t bytes;
};

struct backend_bucket {
    struct backend_device *dev;
    const struct plan *plan;
    int n_models;
    cudaStream_t stream;
    cudaEvent_t window[2];
    char *memory; /* one allocation: all below but rooms and lists */
    float *slices, *lanes, *workspace;
    size_t slice_stride, lane_stride, workspace_floats;
    uint32_t *counters;
    struct cuda_model *models;
    struct cuda_model *host_models; /* pinned */
    struct cuda_progress *progress; /* pinned, mapped */
    struct cuda_program train, eval;
    struct cuda_list *lists;
    int n_lists;
    struct cuda_room rows, rules;
};

#define CUDA_UNROLL 8

size_t cuda_bucket_bytes(const struct backend_device *dev, const struct plan *plan, int n_models);
struct backend_bucket *cuda_bucket_new(struct backend_device *dev, const struct plan *plan,
                                       int n_models, struct error *err);
void cuda_bucket_free(struct backend_bucket *b);
bool cuda_bucket_compile(struct backend_bucket *b, struct error *err);
void cuda_model_write(struct backend_bucket *b, int k, const float *params, const float *slots,
                      const float *buffers);
void cuda_model_read(const struct backend_bucket *b, int k, float *params, float *slots,
                     float *buffers);
/* Launches one step of a program: every model's next batch. */
void cuda_launch_step(const struct backend_bucket *b, const struct cuda_program *p);

/* ---- run.c ---- */

bool cuda_run(struct backend_device *dev, struct model_run *const *runs, int n,
              const struct run_hooks *hooks, struct error *err);

#endif
