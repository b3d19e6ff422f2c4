/* Small matrix products: C[m][n] = sum over k of A[m][k] * B[k][n], with what follows it.
 *
 * A is read one element at a time, from anywhere: row i starts at a + (a_rows ? a_rows[i] :
 * i * a_row); along k it is n_seg runs of seg_len elements, a_k apart, run s starting at
 * a_rows' element + seg[s] (seg NULL: one run at 0).  So one kernel serves a plain product
 * (a_k 1), a product with A transposed (a_row 1, a_k = row stride) and a convolution read straight
 * from the image (a row is an output pixel, a run is a row of the window).
 * B's rows are ldb apart and contiguous along n.
 *
 * An element of C is summed over k in order, by itself: neither m nor n nor where the element lies
 * in a tile changes its bits.  The exception is a plain product with one column, which is summed in
 * VW interleaved parts; it too is the same for every m.
 */
#ifndef BACKEND_CPU_ISA_GEMM_H
#define BACKEND_CPU_ISA_GEMM_H

#include "backend/cpu/isa/simd.h"

#include <stdbool.h>
#include <stddef.h>

struct gemm {
    int32_t m, n;
    const float *a;
    const int32_t *a_rows;
    ptrdiff_t a_row, a_k;
    const int32_t *seg;
    int32_t n_seg, seg_len; /* seg NULL: n_seg 1 */
    const float *b;
    ptrdiff_t ldb;
    float *c;
    ptrdiff_t ldc;
    const float *bias; /* n, added to every row; may be NULL */
    bool add;          /* C += instead of C = */
    bool relu;
};

void ISA_FN(gemm)(const struct gemm *g);

/* to[c][r] = from[r][c]; from is rows x cols with row stride ld. */
void ISA_FN(transpose)(const float *from, ptrdiff_t ld, int32_t rows, int32_t cols, float *to);

/* out[c] = sum over rows of x[r][c], rows in order. */
void ISA_FN(column_sums)(const float *x, size_t rows, int32_t cols, float *out);

#endif
