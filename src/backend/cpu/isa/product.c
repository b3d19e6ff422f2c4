#include "backend/cpu/isa/product.h"

/* With so few rows a copy of B would cost more than it saves. */
#define FEW_ROWS     8
#define BLOCK_FLOATS (96 * 1024) /* of A: stay in the second cache */

static void pack_panel(const struct product *p, int32_t k, int32_t n_k, int32_t j, int32_t n_j,
                       float *to)
{
    if (p->turned) {
        ISA_FN(transpose)(p->b + j * p->ldb + k, p->ldb, n_j, n_k, to);
        return;
    }
    const float *from = p->b + k * p->ldb + j;
    if (n_j == PANEL)
        for (int32_t i = 0; i < n_k; i++) {
            v_store(to + i * PANEL, v_load(from + i * p->ldb));
            v_store(to + i * PANEL + VW, v_load(from + i * p->ldb + VW));
        }
    else
        for (int32_t i = 0; i < n_k; i++)
            memcpy(to + i * n_j, from + i * p->ldb, (size_t)n_j * sizeof *to);
}

/* A block of the product: rows i ... of A and C, rows k ... of B. */
struct block {
    int32_t i, n_i, k, n_k;
    const float *a; /* of the block's first element */
    ptrdiff_t a_row, a_k;
};

static void multiply(const struct product *p, const struct block *block, int32_t j, int32_t n_j,
                     const float *b, ptrdiff_t ldb)
{
    const struct gemm g = {.m = block->n_i,
                           .n = n_j,
                           .a = block->a,
                           .a_row = block->a_row,
                           .a_k = block->a_k,
                           .n_seg = 1,
                           .seg_len = block->n_k,
                           .b = b,
                           .ldb = ldb,
                           .c = p->c + block->i * p->ldc + j,
                           .ldc = p->ldc,
                           .bias = p->bias && block->k == 0 ? p->bias + j : NULL,
                           .add = p->add || block->k > 0,
                           .relu = p->relu && block->k + block->n_k == p->k};
    ISA_FN(gemm)(&g);
}

/* Copies A's block to [k][i]. */
static void pack_rows(const struct product *p, struct block *block, float *to)
{
    const float *from = block->a;
    for (int32_t k = 0; k < block->n_k; k++, from += p->a_k)
        memcpy(to + (ptrdiff_t)k * block->n_i, from, (size_t)block->n_i * sizeof *to);
    block->a = to;
    block->a_row = 1;
    block->a_k = block->n_i;
}

static void block_run(const struct product *p, const struct block *block, float *panel)
{
    const bool direct = !p->turned && (p->m <= FEW_ROWS || p->ldb <= PANEL);
    const int32_t width = direct ? p->n : PANEL;
    for (int32_t j = 0; j < p->n; j += width) {
        const int32_t n_j = p->n - j < width ? p->n - j : width;
        if (direct) {
            multiply(p, block, j, n_j, p->b + block->k * p->ldb + j, p->ldb);
            continue;
        }
        pack_panel(p, block->k, block->n_k, j, n_j, panel);
        multiply(p, block, j, n_j, panel, n_j);
    }
}

void ISA_FN(product)(const struct product *p, float *scratch)
{
    const bool strided = p->a_row == 1 && p->a_k > 1;
    for (int32_t k = 0; k < p->k; k += PRODUCT_K) {
        const int32_t n_k = p->k - k < PRODUCT_K ? p->k - k : PRODUCT_K;
        const int32_t rows = strided ? STRIDED_ROWS : BLOCK_FLOATS / n_k;
        for (int32_t i = 0; i < p->m; i += rows) {
            struct block block = {.i = i,
                                  .n_i = p->m - i < rows ? p->m - i : rows,
                                  .k = k,
                                  .n_k = n_k,
                                  .a = p->a + i * p->a_row + k * p->a_k,
                                  .a_row = p->a_row,
                                  .a_k = p->a_k};
            if (strided && p->n > PANEL)
                pack_rows(p, &block, scratch + (ptrdiff_t)n_k * PANEL);
            block_run(p, &block, scratch);
        }
    }
}
