/* Windows of poolings: sliding ones and adaptive ones. */
#ifndef BACKEND_CUDA_WINDOWS_CUH
#define BACKEND_CUDA_WINDOWS_CUH

#include "backend/cuda/ops/common.cuh"

struct windows {
    struct shape in, out;
    int kernel_h, kernel_w, stride_h, stride_w, pad_h, pad_w;
    bool adaptive;
};

/* Pixels [first, end) of a side of `in` that output `o` of `out` looks at. */
static __device__ __forceinline__ void side(int o, int in, int out, bool adaptive, int kernel,
                                            int stride, int pad, int *first, int *end)
{
    *first = adaptive ? (int)((int64_t)o * in / out) : max(o * stride - pad, 0);
    *end = adaptive ? (int)(((int64_t)(o + 1) * in + out - 1) / out)
                    : min(o * stride - pad + kernel, in);
}

/* Outputs [first, end) of a side whose windows may hold input pixel i. */
static __device__ __forceinline__ void holders(int i, int in, int out, bool adaptive, int kernel,
                                               int stride, int pad, int *first, int *end)
{
    if (adaptive) {
        *first = (int)((int64_t)i * out / in);
        *end = (int)(((int64_t)(i + 1) * out + in - 1) / in);
    } else {
        *first = max((i + pad - kernel + stride) / stride, 0);
        *end = min((i + pad) / stride + 1, out);
        if (i + pad - kernel + stride < 0)
            *first = 0;
    }
}

static inline struct windows windows_of(const struct cuda_call *c)
{
    const struct op_attr *a = &c->step->attr;
    return {c->step->in[0], c->step->out, a->kernel_h, a->kernel_w,
            a->stride_h,    a->stride_w,  a->pad_h,    a->pad_w,
            c->step->op == OP_ADAPTIVE_MAX_POOL2D || c->step->op == OP_ADAPTIVE_AVG_POOL2D};
}

#endif
