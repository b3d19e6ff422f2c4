/* Large matrix products over small ones (gemm.h): B is taken in panels of columns and blocks of
 * rows, each copied side by side first, and A in blocks that stay in the second cache (copied too
 * where its rows are not contiguous), so that all streams through the caches whatever its stride.
 *
 *     C[i][j] (+)= sum over k of A[i][k] B[k][j] (+ bias[j], relu)
 *
 * A[i][k] lies at a[i a_row + k a_k]; B[k][j] at b[k ldb + j], turned at b[j ldb + k].  Blocks
 * along k depend on k alone, so an element's bits depend on neither m nor n.
 */
#ifndef BACKEND_CPU_ISA_PRODUCT_H
#define BACKEND_CPU_ISA_PRODUCT_H

#include "backend/cpu/isa/gemm.h"

#define PANEL        (2 * VW) /* columns of a panel */
#define PRODUCT_K    1024     /* rows of a block of B */
#define STRIDED_ROWS 64       /* rows of a block of A that is copied */

struct product {
    int32_t m, n, k;
    const float *a;
    ptrdiff_t a_row, a_k;
    const float *b;
    ptrdiff_t ldb;
    bool turned;
    float *c;
    ptrdiff_t ldc;
    const float *bias; /* may be NULL */
    bool add, relu;
};

/* scratch: product_scratch(k) floats. */
void ISA_FN(product)(const struct product *p, float *scratch);

static inline size_t product_scratch(int32_t k)
{
    return (size_t)(k < PRODUCT_K ? k : PRODUCT_K) * (PANEL + STRIDED_ROWS);
}

#endif
