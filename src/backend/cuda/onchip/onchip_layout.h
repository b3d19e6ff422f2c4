/* Where a network lies in a block's shared memory (floats).  Widths are rounded up to 4, and rows
 * are 4 modulo 8 floats long, so that 8 rows of 16-byte vectors meet no bank twice.  Padding is
 * zero and stays zero: padded weights get zero gradients and every rule keeps a zero at zero. */
#ifndef BACKEND_CUDA_ONCHIP_LAYOUT_H
#define BACKEND_CUDA_ONCHIP_LAYOUT_H

#include "backend/cuda/onchip/onchip.h"

#define ONCHIP_THREADS    512 /* of a block */
#define ONCHIP_STEP_TABLE 32  /* updates whose scalars are prepared at once */

#if defined(__CUDACC__)
#define LAYOUT_FUNC static inline __host__ __device__
#else
#define LAYOUT_FUNC static inline
#endif

LAYOUT_FUNC int32_t onchip_round4(int32_t n)
{
    return (n + 3) & ~3;
}

LAYOUT_FUNC int32_t onchip_ld(int32_t width)
{
    return onchip_round4(width) | 4;
}

struct onchip_layout {
    int32_t w[ONCHIP_MAX_LAYERS]; /* weights of a layer: round4(in) rows, then the bias's row */
    int32_t n_params;             /* of all layers, padded; a multiple of 4 */
    int32_t slice;                /* parameters a block of the cluster owns */
    int32_t grad, slot;           /* gradients; slots, `slice` floats each */
    int32_t x;                    /* two chunks of inputs */
    int32_t h[ONCHIP_MAX_LAYERS]; /* outputs of a layer, then the gradient of its sums */
    int32_t target, id;           /* two chunks; two groups of ONCHIP_THREADS */
    int32_t sums;                 /* per row of a chunk: 4 doubles */
    int32_t step;                 /* ONCHIP_STEP_TABLE struct optim_step */
    int32_t total;                /* floats */
};

LAYOUT_FUNC struct onchip_layout onchip_layout_make(const struct onchip_mlp *net, int32_t cluster,
                                                    int32_t chunk)
{
    struct onchip_layout l;
    int32_t at = 0;
    for (int i = 0; i < net->n_layers; i++) {
        l.w[i] = at;
        at += (onchip_round4(net->width[i]) + 1) * onchip_ld(net->width[i + 1]);
    }
    l.n_params = at;
    l.slice = (at / 4 + cluster - 1) / cluster * 4;
    l.grad = at;
    at += l.n_params;
    l.slot = at;
    at += net->n_slots * l.slice;
    l.x = at;
    at += 2 * chunk * onchip_ld(net->width[0]);
    for (int i = 0; i < net->n_layers; i++) {
        l.h[i] = at;
        at += chunk * onchip_ld(net->width[i + 1]);
    }
    l.target = at;
    at += 2 * chunk;
    l.id = at;
    at += 2 * ONCHIP_THREADS;
    l.sums = at;
    at += chunk * 8;
    l.step = at;
    at += ONCHIP_STEP_TABLE * (int32_t)(sizeof(struct optim_step) / 4);
    /* Tiles of tensor cores may read (never use) up to 32 columns past the last row. */
    l.total = at + 32;
    return l;
}

#endif
