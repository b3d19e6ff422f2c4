/* Vectors of channels that lie side by side: full ones, and a masked one at the end. */
#ifndef BACKEND_CPU_ISA_COLUMNS_H
#define BACKEND_CPU_ISA_COLUMNS_H

#include "backend/cpu/isa/simd.h"

#include <stdbool.h>

struct columns {
    bool whole;
    vm mask;
};

/* Of n, from `at` on. */
ALWAYS_INLINE struct columns columns_from(int32_t at, int32_t n)
{
    const int32_t left = n - at;
    struct columns k = {left >= VW, v_first(left >= VW ? VW - 1 : left)};
    return k;
}

ALWAYS_INLINE vf columns_load(const float *p, struct columns k)
{
    return k.whole ? v_load(p) : v_load_m(p, k.mask);
}

ALWAYS_INLINE void columns_store(float *p, vf x, struct columns k)
{
    if (k.whole)
        v_store(p, x);
    else
        v_store_m(p, x, k.mask);
}

#endif
