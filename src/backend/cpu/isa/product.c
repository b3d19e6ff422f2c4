#include "backend/cpu/isa/product.h"

/* With so few rows a copy of B would cost more than it saves. */
#define FEW_ROWS 8

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

/* Columns j ... of C, from rows k ... of B. */
static void block(const struct product *p, int32_t k, int32_t n_k, int32_t j, int32_t n_j,
                  const float *b, ptrdiff_t ldb)
{
    const struct gemm g = {.m = p->m,
                           .n = n_j,
                           .a = p->a + k * p->a_k,
                           .a_row = p->a_row,
                           .a_k = p->a_k,
                           .n_seg = 1,
                           .seg_len = n_k,
                           .b = b,
                           .ldb = ldb,
                           .c = p->c + j,
                           .ldc = p->ldc,
                           .bias = p->bias && k == 0 ? p->bias + j : NULL,
                           .add = p->add || k > 0,
                           .relu = p->relu && k + n_k == p->k};
    ISA_FN(gemm)(&g);
}

void ISA_FN(product)(const struct product *p, float *scratch)
{
    const bool direct = !p->turned && (p->m <= FEW_ROWS || p->ldb <= PANEL);
    const int32_t width = direct ? p->n : PANEL;
    for (int32_t j = 0; j < p->n; j += width)
        for (int32_t k = 0; k < p->k; k += PRODUCT_K) {
            const int32_t n_j = p->n - j < width ? p->n - j : width;
            const int32_t n_k = p->k - k < PRODUCT_K ? p->k - k : PRODUCT_K;
            if (direct) {
                block(p, k, n_k, j, n_j, p->b + k * p->ldb + j, p->ldb);
                continue;
            }
            pack_panel(p, k, n_k, j, n_j, scratch);
            block(p, k, n_k, j, n_j, scratch, n_j);
        }
}
