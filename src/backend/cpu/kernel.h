/* Kernels of the CPU backend: single-threaded functions over one shard of one model.
 *
 * Every (step kind, operation) has a plain kernel in reference.c; instruction sets put tuned ones
 * with the same signature beside it (isa/ *.c, compiled once for each).  A kernel's result depends
 * on its call alone: same shapes, same values, same bits, whatever else runs.
 */
#ifndef BACKEND_CPU_KERNEL_H
#define BACKEND_CPU_KERNEL_H

#include "backend/backend.h"
#include "nn/optim_rule.h"

#define REAL   float
#define CALL   op_call
#define KERNEL cpu_kernel
#include "backend/cpu/call.h"
#undef REAL
#undef CALL
#undef KERNEL

/* The update step: one chunk of one model's parameters. */
struct update_call {
    struct optim_step rule;
    int32_t n_slots;
    float *param;        /* the chunk's first parameter */
    float *slot[3];      /* its state */
    const float *grads;  /* shard 0's gradient of that parameter; */
    size_t grads_stride; /* floats to the next shard's */
    int32_t n_grads;     /* shards that had rows: always the first ones */
    int32_t count;       /* parameters in the chunk */
};
typedef void (*cpu_update_fn)(const struct update_call *call);

struct gemm;

/* A set of kernels compiled for one instruction set. */
struct cpu_isa {
    const char *name;                        /* backend.variant */
    bool (*usable)(void);                    /* this machine has the instructions */
    const struct cpu_kernel *const *kernels; /* arrays of kernels, NULL at the end */
    cpu_update_fn update;
    void (*gemm)(const struct gemm *g); /* isa/gemm.h; NULL in the reference */
};

/* Plain kernels, one for every (step kind, operation) of a network. */
extern const struct cpu_isa cpu_isa_reference;

/* Best first, NULL at the end; the reference is not among them. */
extern const struct cpu_isa *const cpu_isas[];

/* The kernel for a step: the set's own, else the reference; NULL when there is none at all. */
const struct cpu_kernel *cpu_kernel_find(const struct cpu_isa *isa, enum step_kind kind,
                                         enum op_kind op);

/* As backend.h: what this build has. */
bool cpu_variant_at(int i, struct backend_variant *out);
const char *cpu_kernel_at(int i, enum step_kind kind, enum op_kind op);

/* The set of this name ("reference", "generic", "avx2", "avx512"); name NULL: the best one.  NULL
 * when unknown or not usable on this machine. */
const struct cpu_isa *cpu_isa_find(const char *name);

/* backend_cpu.open with a choice of kernels, for tests and benchmarks: fuse false runs every step
 * by itself. */
struct backend_device *cpu_open(int threads, const struct cpu_isa *isa, bool fuse,
                                struct error *err);

#endif
