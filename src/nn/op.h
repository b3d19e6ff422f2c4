/* The operations a network is made of, declared once: attributes, shape rules, parameters, cost.
 * A backend implements them (src/backend); nothing else lists them.
 * Compiles as C17 and C++17.
 */
#ifndef NN_OP_H
#define NN_OP_H

#include "base/error.h"
#include "base/shape.h"

#ifdef __cplusplus
extern "C" {
#endif

enum op_kind {
    OP_INPUT, /* the gathered, normalised batch */
    OP_CONV2D,
    OP_LINEAR,
    OP_BATCH_NORM,
    OP_RELU,
    OP_MAX_POOL2D,
    OP_FLATTEN, /* image to vector in PyTorch's C,H,W order */
    OP_DROPOUT,
    OP_CROSS_ENTROPY, /* losses: input 0 logits; target from the batch */
    OP_MSE,
    OP_COUNT
};

/* Attributes of every operation in one flat struct (an operation reads its own). */
struct op_attr {
    int32_t out_features; /* linear: features; conv2d: output channels */
    int32_t kernel_h, kernel_w, stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w;
    int32_t groups;
    int32_t bias;   /* 0 or 1 */
    float p;        /* dropout: probability of zeroing */
    float eps;      /* batch norm */
    float momentum; /* batch norm: running = (1 - momentum) * running + momentum * batch */
};

/* How a parameter's elements lie in memory, next to PyTorch's own (logical) order.
 *   LAYOUT_PLAIN   as PyTorch
 *   LAYOUT_LINEAR  PyTorch [out][in]          -> memory [in][out]
 *   LAYOUT_CONV    PyTorch [out][in][kh][kw]  -> memory [kh][kw][in][out]   (in = per group)
 * so that the forward product reads weights row by row without packing. */
enum param_layout { LAYOUT_PLAIN, LAYOUT_LINEAR, LAYOUT_CONV };

/* PyTorch's default initialisers: uniform(-1/sqrt(fan_in), 1/sqrt(fan_in)) for linear and conv2d,
 * weight and bias alike (kaiming_uniform_ with a = sqrt(5) comes to that bound); constants else. */
enum init_kind { INIT_UNIFORM, INIT_ZEROS, INIT_ONES };

#define OP_MAX_PARAMS  2
#define OP_MAX_BUFFERS 2
#define OP_MAX_INPUTS  2

/* A parameter or a buffer (running statistics) an operation asks for. */
struct op_param {
    const char *suffix; /* "weight", "bias", "running_mean", ... (PyTorch's names) */
    enum param_layout layout;
    int32_t rank, dims[4]; /* PyTorch's logical dimensions */
    enum init_kind init;
    double bound; /* INIT_UNIFORM: uniform(-bound, bound) */
};

struct op_info {
    const char *name; /* "conv2d" */
    int32_t n_inputs;
    int32_t is_loss;
    /* Checks attributes against the input shapes and gives the output's. */
    bool (*infer)(const struct op_attr *attr, const struct shape *in, struct shape *out,
                  struct error *err);
    /* Parameters and buffers; NULL when it has none.  Counts through the pointers. */
    void (*params)(const struct op_attr *attr, const struct shape *in,
                   struct op_param param[OP_MAX_PARAMS], int *n_params,
                   struct op_param buffer[OP_MAX_BUFFERS], int *n_buffers);
    /* Multiply-adds of a forward pass a sample (padded taps counted); NULL: none worth counting. */
    double (*macs)(const struct op_attr *attr, const struct shape *in, const struct shape *out);
};

/* The table, indexed by op_kind. */
extern const struct op_info op_infos[OP_COUNT];

#ifdef __cplusplus
}
#endif
#endif
