/* A bucket on the CPU: one block of memory, and the plan's programs with a kernel for each step.
 *
 *     [slice x n_models][lane x n_lanes][scratch x threads][claims x n_lanes]
 *
 * slice: parameters, optimiser slots, running statistics of a model (plan.h); lane: what one model
 * needs while it is being stepped; claims: which units of a stage are taken (run.c).
 */
#ifndef BACKEND_CPU_BUCKET_H
#define BACKEND_CPU_BUCKET_H

#include "backend/cpu/kernel.h"

#include <stdatomic.h>

/* Where the gradient of a parameter of a step lies: in the lane (plan_grad_range). */
struct exec_grad {
    size_t offset, stride;
    bool whole;
};

/* A step, or a region of them, with the kernel that runs it. */
struct exec_step {
    const struct plan_step *step;
    const struct cpu_kernel *kernel; /* NULL: done by unit.c (gradients, update) */
    int32_t y;                       /* buffer of the result: the last step's in a region */
    bool relu;                       /* the region ends in a relu */
    struct exec_grad grad[OP_MAX_PARAMS];
};

struct exec_stage {
    int32_t first, n; /* in steps */
    enum unit_kind unit;
};

struct exec_program {
    const struct plan_program *plan;
    struct exec_step *steps;
    int32_t n_steps;
    struct exec_stage *stages;
    int32_t n_stages;
};

struct lane {
    bool used;            /* under the device's lock */
    uint64_t next_serial; /* stages run in it so far, from 1: what claims are stamped with */
};

struct backend_bucket {
    struct backend_device *dev;
    const struct plan *plan;
    int n_models, n_lanes;
    struct exec_program train, eval;
    cpu_update_fn update;
    void *memory;
    float *slices, *lanes, *scratch;
    _Atomic uint64_t *claims;
    size_t slice_stride, lane_stride, scratch_stride; /* floats */
    size_t claims_stride;                             /* claims */
    struct lane *lane_state;
};

/* Kernels and threads a bucket is made for. */
struct bucket_use {
    const struct cpu_isa *isa;
    bool fuse;
    int threads;
};

/* False when a step has no kernel or memory is short.  b is all zero before; bucket_release also
 * after a failure. */
bool bucket_init(struct backend_bucket *b, const struct bucket_use *use, const struct plan *plan,
                 int n_models, struct error *err);
void bucket_release(struct backend_bucket *b);
size_t bucket_size_bytes(const struct bucket_use *use, const struct plan *plan, int n_models);

float *bucket_slice(const struct backend_bucket *b, int k);

#endif
