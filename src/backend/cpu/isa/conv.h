/* The ways a convolution is computed.  conv.c takes the first that fits the shapes, for each pass
 * by itself.
 */
#ifndef BACKEND_CPU_ISA_CONV_H
#define BACKEND_CPU_ISA_CONV_H

#include "backend/cpu/isa/simd.h"
#include "backend/cpu/kernel.h"

enum conv_pass { CONV_FORWARD, CONV_DATA_GRADIENT, CONV_WEIGHT_GRADIENT, CONV_PASSES };

struct conv_way {
    bool (*fits)(const struct plan_step *s, enum conv_pass pass);
    /* The weight gradient: of the part the call gives.  Bias gradients are conv.c's. */
    void (*run[CONV_PASSES])(const struct op_call *c);
    size_t (*scratch[CONV_PASSES])(const struct plan_step *s, int32_t rows_per_shard);
};

/* A group of one channel: vectors of channels, no product at all. */
extern const struct conv_way ISA_FN(conv_depthwise);
/* 1x1: a product of all pixels with the weights. */
extern const struct conv_way ISA_FN(conv_pointwise);
/* Many channels: pixels that see the same taps of the window are one product (conv_taps.c). */
extern const struct conv_way ISA_FN(conv_taps);
/* Everything else: the image is padded, and read window by window (conv_padded.c). */
extern const struct conv_way ISA_FN(conv_padded);

/* Rows [from, to) of the weights in memory, taps x inputs, whose gradient the call gives. */
static inline void conv_part(const struct op_call *c, int32_t *from, int32_t *to)
{
    const int64_t rows = (int64_t)(c->step->param_count[0] / (size_t)c->step->out.d[2]);
    *from = c->parts > 0 ? (int32_t)(rows * c->part / c->parts) : 0;
    *to = c->parts > 0 ? (int32_t)(rows * (c->part + 1) / c->parts) : (int32_t)rows;
}

#endif
