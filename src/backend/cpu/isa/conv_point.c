/* Convolution by single pixels: 1x1, without stride or padding.  A pixel is a row of the product.
 */
#include "backend/cpu/isa/conv.h"

#include "backend/cpu/isa/product.h"

#define BLOCK_FLOATS 65536 /* of pixels that are worked on at a time: stay in the second cache */

static bool fits(const struct plan_step *s, enum conv_pass pass)
{
    (void)pass;
    const struct op_attr *a = &s->attr;
    return a->kernel_h == 1 && a->kernel_w == 1 && a->stride_h == 1 && a->stride_w == 1 &&
           a->pad_h == 0 && a->pad_w == 0 && a->groups == 1;
}

static int32_t pixels_at_once(const struct plan_step *s)
{
    const int32_t n = BLOCK_FLOATS / (s->in[0].d[2] + s->out.d[2]);
    return n < 64 ? 64 : n;
}

static int64_t pixels_of(const struct op_call *c)
{
    return (int64_t)c->rows * c->step->out.d[0] * c->step->out.d[1];
}

/* Rows a few at a time; p is the product of the first of them. */
static void each_block(const struct op_call *c, struct product p)
{
    const int64_t pixels = pixels_of(c);
    const int32_t block = pixels_at_once(c->step);
    for (int64_t i = 0; i < pixels; i += block) {
        p.m = pixels - i < block ? (int32_t)(pixels - i) : block;
        ISA_FN(product)(&p, c->scratch);
        p.a += block * p.a_row;
        p.c += block * p.ldc;
    }
}

static void forward(const struct op_call *c)
{
    const int32_t in = c->step->in[0].d[2], out = c->step->out.d[2];
    each_block(c, (struct product){.n = out,
                                   .k = in,
                                   .a = c->x,
                                   .a_row = in,
                                   .a_k = 1,
                                   .b = c->param[0],
                                   .ldb = out,
                                   .c = c->y,
                                   .ldc = out,
                                   .bias = c->param[1],
                                   .relu = c->relu});
}

static void data_gradient(const struct op_call *c)
{
    const int32_t in = c->step->in[0].d[2], out = c->step->out.d[2];
    each_block(c, (struct product){.n = in,
                                   .k = out,
                                   .a = c->dy,
                                   .a_row = out,
                                   .a_k = 1,
                                   .b = c->param[0],
                                   .ldb = out,
                                   .turned = true,
                                   .c = c->dx,
                                   .ldc = in,
                                   .add = c->add_dx});
}

static void weight_gradient(const struct op_call *c)
{
    const int32_t in = c->step->in[0].d[2], out = c->step->out.d[2];
    const int64_t pixels = pixels_of(c);
    const int32_t block = pixels_at_once(c->step);
    int32_t from, to;
    conv_part(c, &from, &to);
    struct product p = {.m = to - from,
                        .n = out,
                        .a = c->x + from,
                        .a_row = 1,
                        .a_k = in,
                        .b = c->dy,
                        .ldb = out,
                        .c = c->grad[0] + (ptrdiff_t)from * out,
                        .ldc = out,
                        .add = c->add_grad & 1};
    for (int64_t i = 0; i < pixels && to > from; i += block, p.add = true) {
        p.k = pixels - i < block ? (int32_t)(pixels - i) : block;
        ISA_FN(product)(&p, c->scratch);
        p.a += (ptrdiff_t)block * in;
        p.b += (ptrdiff_t)block * out;
    }
}

static size_t forward_scratch(const struct plan_step *s, int32_t rows_per_shard)
{
    (void)rows_per_shard;
    return product_scratch(s->in[0].d[2]);
}

static size_t data_scratch(const struct plan_step *s, int32_t rows_per_shard)
{
    (void)rows_per_shard;
    return product_scratch(s->out.d[2]);
}

static size_t weight_scratch(const struct plan_step *s, int32_t rows_per_shard)
{
    (void)rows_per_shard;
    return product_scratch(pixels_at_once(s));
}

const struct conv_way ISA_FN(conv_pointwise) = {
    fits,
    {forward, data_gradient, weight_gradient},
    {forward_scratch, data_scratch, weight_scratch},
};
