/* The operations a network is made of, declared once: attributes, shape rules, parameters, cost.
 * A backend implements them (src/backend); nothing else lists them.
 * Compiles as C17 and C++17.
 */
#ifndef NN_OP_H
#define NN_OP_H

#include "base/error.h"
#include "base/shape.h"

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Formulas are those of PyTorch's function of the same name unless said.  x, y are the input and
 * output of one sample; images lie as height, width, channels (H,W,C), sequences as length,
 * features (L,d), in memory row by row. */
enum op_kind {
    OP_INPUT, /* the gathered, normalised batch; with is_tokens: int32 ids, one a float-sized slot
               */
    OP_CONV2D,
    OP_LINEAR, /* over the last dimension: of a vector, or of each of the L rows of a sequence */
    OP_BATCH_NORM,
    OP_RELU,
    OP_MAX_POOL2D,
    OP_FLATTEN, /* image to vector in PyTorch's C,H,W order; a sequence row by row */
    OP_DROPOUT,
    OP_CROSS_ENTROPY, /* losses: input 0 logits; target from the batch (see below) */
    OP_MSE,
    /* Element-wise, any shape. */
    OP_GELU,        /* 0.5 x (1 + erf(x / sqrt 2)) */
    OP_HARDSWISH,   /* x min(max(x + 3, 0), 6) / 6; slope 0 at x <= -3, 1 at x >= 3 */
    OP_HARDSIGMOID, /* min(max(x + 3, 0), 6) / 6; slope 1/6 where -3 < x < 3, else 0 */
    OP_SIGMOID,     /* 1 / (1 + exp(-x)), without overflow at either end */
    OP_TANH,
    /* Over the last dimension of a vector or a sequence: (x - mean) / sqrt(var + eps) * weight +
     * bias with the biased variance of the d values. */
    OP_LAYER_NORM,
    /* Windows as max_pool2d.  Sum / (kernel_h kernel_w) with count_include_pad, else / the number
     * of values inside the image. */
    OP_AVG_POOL2D,
    /* Any H,W to out_h,out_w: output row i covers input rows floor(i H / out_h) to
     * ceil((i + 1) H / out_h) - 1, columns alike.  1x1 is global pooling.  The maximum's gradient
     * goes to the first maximum in row-major order. */
    OP_ADAPTIVE_AVG_POOL2D,
    OP_ADAPTIVE_MAX_POOL2D,
    /* Inputs a, b.  b has a's shape; or a is H,W,C and b is 1,1,C or a vector of C (over all
     * pixels) or H,W,1 (over all channels).  b's gradient is summed over what it was repeated for.
     */
    OP_ADD,
    OP_MULTIPLY,
    OP_CONCATENATE, /* 2 to OP_MAX_INPUTS inputs along the last dimension, the others equal */
    /* H,W,C to H,W,2: channel 0 the mean over C, channel 1 the maximum.  The maximum's gradient
     * goes to the first maximum (torch.amax shares it among equals: the same wherever equals are
     * zeros that a relu made, which pass no gradient on). */
    OP_CHANNEL_MEAN_MAX,
    /* Input: tokens L.  L,d: y[l] = scale * weight[id[l]]; weight (rows, d).  Gradient rows are
     * sums over all occurrences in the batch, in order of (row, l); row pad_id (where >= 0) gets
     * none.  An id outside 0 .. rows - 1 gives a row of NaN and no gradient. */
    OP_EMBEDDING,
    /* Inputs: x (L,d); with position = POSITION_OF_TOKENS also the tokens.  y[l] = x[l] +
     * weight[r(l)], weight (rows, d), r as enum position_kind says.  rows pad_id gets no gradient
     * in POSITION_OF_TOKENS. */
    OP_POSITIONS,
    /* Scaled dot-product attention, the core alone: projections are linear layers around it.
     * Inputs: qkv (L,3d) = query, key, value side by side; or q, k, v (L,d each); after them, with
     * `masked`, the tokens.  Head h of `heads` has columns h dh .. of each, dh = d / heads.
     *     s[h,i,j] = q[i,h] . k[j,h] / sqrt(dh), -inf where (causal and j > i) or (masked and
     *     tokens[j] == pad_id);  P = softmax over j;  y[i,h] = sum over j of P[h,i,j] v[j,h]
     * In training with p > 0, P goes through dropout first (kept ones / (1 - p)): the node's own
     * stream, logical index ((row heads + h) L + i) L + j with row counted in the batch.  A query
     * with no key left gives 0 and no gradient (PyTorch: NaN). */
    OP_ATTENTION,
    OP_FIRST_TOKEN, /* L,d to d: y = x[0] */
    /* y[l] = weight x[l], without bias: weight (n, d) is an embedding's, in its own layout. */
    OP_TIED_LINEAR,
    OP_COUNT
};

/* Losses.  Cross-entropy: a vector of V logits with a class a sample (TARGET_CLASS), or L,V with a
 * class a token (TARGET_TOKENS, L int32 a sample).  With label_smoothing s the loss of one
 * prediction is -(1 - s) log p[target] - s / V sum over c of log p[c].  The mean runs over all
 * predictions of the valid rows of the batch, so the gradient is divided by n_valid, or n_valid L.
 * A target outside 0 .. V - 1 makes the loss NaN.  mse: (y - target)^2, one value. */

/* Which row of its table OP_POSITIONS adds at place l. */
enum position_kind {
    POSITION_INDEX,     /* row l */
    POSITION_OF_TOKENS, /* a token that is not pad_id: pad_id + its number (from 1) among those up
                           to l; a pad token: row pad_id.  RoBERTa's; needs pad_id + L < rows */
    POSITION_FIRST,     /* row 0 at every place: the one token type of RoBERTa's */
};

/* Attributes of every operation in one flat struct (an operation reads its own), without padding
 * bytes.  Constants of formulas are doubles, as PyTorch's: a kernel rounds them to its own type. */
struct op_attr {
    int32_t out_features; /* linear, embedding: features; conv2d: output channels */
    int32_t kernel_h, kernel_w, stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w;
    int32_t groups;
    int32_t bias;              /* 0 or 1 */
    int32_t is_tokens;         /* input: int32 ids, a vector of L */
    int32_t count_include_pad; /* average pooling: 0 or 1 */
    int32_t out_h, out_w;      /* adaptive pooling */
    int32_t rows;              /* embedding, positions: rows of the table */
    int32_t pad_id;            /* embedding, positions, attention: the padding token; -1: none */
    int32_t position;          /* positions: enum position_kind */
    int32_t heads, causal;     /* attention; causal 0 or 1 */
    int32_t masked;            /* attention: the last input is the tokens; keys of pad_id masked */
    float p;                   /* dropout, attention: probability of zeroing */
    double eps;                /* batch norm, layer norm */
    double momentum;        /* batch norm: running = (1 - momentum) * running + momentum * batch */
    double scale;           /* embedding */
    double label_smoothing; /* cross-entropy: at least 0, below 1 */
};

/* How a parameter's elements lie in memory, next to PyTorch's own (logical) order.
 *   LAYOUT_PLAIN   as PyTorch (vectors; tables of embeddings and positions, row by row)
 *   LAYOUT_LINEAR  PyTorch [out][in]          -> memory [in][out]
 *   LAYOUT_CONV    PyTorch [out][in][kh][kw]  -> memory [kh][kw][in][out]   (in = per group)
 * so that the forward product reads weights row by row without packing. */
enum param_layout { LAYOUT_PLAIN, LAYOUT_LINEAR, LAYOUT_CONV };

/* How a tensor starts (values in nn/graph.h, graph_init_model).  Operations ask for PyTorch's
 * defaults: uniform(-1/sqrt(fan_in), 1/sqrt(fan_in)) for linear and conv2d, weight and bias alike
 * (kaiming_uniform_ with a = sqrt(5) comes to that bound), normal(0, 1) for embeddings and
 * positions, constants else; an architecture may say otherwise (graph_init). */
enum init_kind {
    INIT_UNIFORM, /* uniform(-scale, scale) */
    INIT_ZEROS,
    INIT_ONES,
    INIT_NORMAL, /* normal, mean 0, standard deviation scale */
};

#define OP_MAX_PARAMS  2
#define OP_MAX_BUFFERS 2
#define OP_MAX_INPUTS  4

/* A parameter or a buffer (running statistics) an operation asks for. */
struct op_param {
    const char *suffix; /* "weight", "bias", "running_mean", ... (PyTorch's names) */
    enum param_layout layout;
    int32_t rank, dims[4]; /* PyTorch's logical dimensions */
    enum init_kind init;
    double scale;
    bool has_zero_row; /* row zero_row of a table starts (and stays) zero: padding_idx */
    int32_t zero_row;
};

struct op_info {
    const char *name;   /* "conv2d" */
    int32_t n_inputs;   /* at least; */
    int32_t max_inputs; /* at most, where it may be more (0: exactly n_inputs) */
    int32_t is_loss;
    /* Checks attributes against the n_in input shapes and gives the output's. */
    bool (*infer)(const struct op_attr *attr, const struct shape *in, int n_in, struct shape *out,
                  struct error *err);
    /* Parameters and buffers; NULL when it has none.  Counts through the pointers. */
    void (*params)(const struct op_attr *attr, const struct shape *in,
                   struct op_param param[OP_MAX_PARAMS], int *n_params,
                   struct op_param buffer[OP_MAX_BUFFERS], int *n_buffers);
    /* Multiply-adds of a forward pass a sample (padded taps and masked scores counted); NULL: none
     * worth counting. */
    double (*macs)(const struct op_attr *attr, const struct shape *in, const struct shape *out);
};

/* The table, indexed by op_kind. */
extern const struct op_info op_infos[OP_COUNT];

/* Is input i of n_in the tokens (int32 ids) rather than values?  Tokens take no gradient. */
bool op_reads_tokens(enum op_kind op, const struct op_attr *attr, int n_in, int i);

#ifdef __cplusplus
}
#endif
#endif
