/* One operation on made-up or given values: runs its kernels over all shards of a batch, forward
 * and backward, for a set of kernels in float or for the reference kernels in double. Everything in
 * and out is double, in memory order (NHWC, [in][out], [kh][kw][in][out]).
 */
#ifndef TESTS_BACKEND_HELPER_CASE_H
#define TESTS_BACKEND_HELPER_CASE_H

#include "backend/cpu/kernel.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct op_case {
    enum op_kind op;
    struct op_attr attr;
    struct shape in; /* of input 0 */
    int32_t batch, rows_per_shard, n_valid;
    struct shape more[OP_MAX_INPUTS - 1]; /* of inputs 1 ...; rank 0: none */
    bool evaluation;
    bool add_dx;       /* dx starts at 0.5 and is added to */
    bool relu;         /* the fused region */
    bool add_grad;     /* parameter gradients start at 0.25 and are added to */
    bool by_parts;     /* the weight's gradient by BACKWARD_PARAMS */
    bool forward_only; /* no backward steps: dx and grad mean nothing */
    uint64_t seed;
};

/* Values of a case; counts follow from it.  grad: sums over shards. */
struct op_values {
    size_t n_x, n_y, n_param[2], n_buffer[2];
    double *x, *y, *dy, *dx, *param[2], *grad[2], *buffer[2];
    size_t n_more[OP_MAX_INPUTS - 1];
    double *more_x[OP_MAX_INPUTS - 1], *more_dx[OP_MAX_INPUTS - 1];
    int32_t *tokens; /* what an input of tokens holds (x or more_x is then not looked at) */
    int32_t *label;  /* cross-entropy */
    float *value;    /* mean squared error */
    struct pass_sums sums;
};

/* What a row beyond n_valid holds before, and must hold after. */
#define UNTOUCHED 77.0

/* Counts and made-up values for a case: x, dy, param, buffer, targets. */
void values_init(struct op_values *v, const struct op_case *c);
void values_release(struct op_values *v);

/* Fill y, dx, grad, buffer (new running statistics), sums.  isa NULL: reference kernels in double.
 */
void case_run(const struct op_case *c, const struct cpu_isa *isa, struct op_values *v);

/* |a - b| <= tolerance * largest |b| everywhere; the message names what. */
void assert_close(const double *a, const double *b, size_t n, double tolerance, const char *what);
/* assert_close of all results. */
void assert_values_close(const struct op_values *a, const struct op_values *b, double tolerance,
                         const char *what);

/* "conv2d 5x4x3 batch 7 (2 a shard, 5 valid)" in a static buffer. */
const char *case_name(const struct op_case *c);

struct plan_step case_step(const struct op_case *c);

/* The double build of the reference kernels. */
#define REAL   double
#define CALL   op_call_f64
#define KERNEL cpu_kernel_f64
#include "backend/cpu/call.h"
#undef REAL
#undef CALL
#undef KERNEL
extern const struct cpu_kernel_f64 *const cpu_reference_lists_f64[];

#endif
