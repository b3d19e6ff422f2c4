/* The masks of dropout. */
#ifndef BACKEND_CPU_ISA_DROPOUT_H
#define BACKEND_CPU_ISA_DROPOUT_H

#include "backend/cpu/isa/simd.h"
#include "backend/cpu/kernel.h"

#define DROPOUT_ROOM 128

/* Factors (0 or 1 / (1 - p)) of elements first ... first + n of the batch in the step's logical
 * order; `out` has room for n + DROPOUT_ROOM.  Returns where the first one lies in it. */
const float *ISA_FN(dropout_factors)(const struct op_call *c, size_t first, size_t n, float *out);

#endif
