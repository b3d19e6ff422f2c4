/* What the files of plain kernels share: the element type, and how a call is read.
 *
 * A plain kernel is the definition every tuned kernel is held to: obvious loops, nothing else.  The
 * files are built for float, and for double by the tests (which define REFERENCE_DOUBLE and include
 * them).
 */
#ifndef BACKEND_CPU_REFERENCE_H
#define BACKEND_CPU_REFERENCE_H

#include "backend/cpu/kernel.h"

#ifdef REFERENCE_DOUBLE
#define REAL            double
#define CALL            op_call_f64
#define KERNEL          cpu_kernel_f64
#define REFERENCE(name) cpu_reference_##name##_f64
#include "backend/cpu/call.h"
#else
#define REAL            float
#define CALL            op_call
#define KERNEL          cpu_kernel
#define REFERENCE(name) cpu_reference_##name
#endif

extern const struct KERNEL REFERENCE(kernels)[], REFERENCE(math)[], REFERENCE(image)[],
    REFERENCE(sequence)[], REFERENCE(attention)[];
/* All of these, NULL at the end. */
extern const struct KERNEL *const REFERENCE(lists)[];

static inline const REAL *input_of(const struct CALL *c, int i)
{
    return i == 0 ? c->x : c->more_x[i - 1];
}

static inline REAL *gradient_of(const struct CALL *c, int i)
{
    return i == 0 ? c->dx : c->more_dx[i - 1];
}

static inline bool adds_to(const struct CALL *c, int i)
{
    return i == 0 ? c->add_dx : c->add_more_dx >> (i - 1) & 1;
}

static inline int inputs_of(const struct CALL *c)
{
    int n = 0;
    while (n < OP_MAX_INPUTS && c->step->in[n].rank > 0)
        n++;
    return n;
}

/* Token ids lie as int32, whatever the element type. */
static inline const int32_t *tokens_of(const struct CALL *c, int i)
{
    return (const int32_t *)(const void *)input_of(c, i);
}

static inline void put(REAL *to, bool add, REAL value)
{
    *to = add ? *to + value : value;
}

static inline int32_t last_of(struct shape s)
{
    return s.d[s.rank - 1];
}

/* Vectors the rows of this call hold: a sequence has one at each place. */
static inline size_t vectors_of(const struct CALL *c, struct shape s)
{
    return (size_t)c->rows * (s.rank == 2 ? (size_t)s.d[0] : 1);
}

/* Rows [from, to) of a tensor of n rows in memory whose gradient this call gives. */
static inline void part_of(const struct CALL *c, int32_t n, int32_t *from, int32_t *to)
{
    *from = c->parts > 0 ? (int32_t)((int64_t)n * c->part / c->parts) : 0;
    *to = c->parts > 0 ? (int32_t)((int64_t)n * (c->part + 1) / c->parts) : n;
}

#endif
