/* A network as a graph: nodes in topological order, each an operation on earlier nodes' outputs,
 * with its parameters laid out in one block.  Built by calls that read like the network; the first
 * error sticks and graph_finish reports it.
 *
 *     int x = graph_input(g);
 *     x = graph_conv2d(g, "conv1", x, 16, (struct conv_args){.kernel = 3, .pad = 1});
 *     x = graph_relu(g, x);
 *
 * Block layout ("slice") of one model, in floats: every tensor starts on a multiple of
 * PARAM_ALIGN floats, in order of declaration, which is PyTorch's model.parameters() order (XLM-R:
 * the order of its published files); padding floats are zero and stay zero under every optimiser.
 */
#ifndef NN_GRAPH_H
#define NN_GRAPH_H

#include "base/error.h"
#include "nn/op.h"

#include <stdint.h>

#define PARAM_ALIGN 16 /* floats: 64 bytes */

struct param {
    char name[96]; /* "conv1.weight": PyTorch's state_dict name */
    enum param_layout layout;
    int32_t rank, dims[4];
    enum init_kind init;
    double scale;     /* of init */
    int32_t zero_row; /* row of a table that starts at zero; -1: none */
    size_t count;     /* elements */
    size_t offset;    /* floats from the start of the parameter (or buffer) block */
    int32_t ordinal;  /* position among the graph's parameters: the counter of its initial values */
};

struct node {
    enum op_kind op;
    char name[64]; /* "conv1"; generated for nameless operations ("relu_2") */
    struct op_attr attr;
    int32_t input[OP_MAX_INPUTS], n_inputs; /* node indices */
    struct shape in[OP_MAX_INPUTS], out;
    int32_t ordinal; /* position in the graph: the counter of its dropout masks */
    int32_t param[OP_MAX_PARAMS], n_params; /* indices into graph->params */
    /* Its parameters belong to an earlier node (tied and shared weights): the gradient of such a
     * tensor is the sum over all nodes that use it; it is stored, drawn and updated once. */
    bool shares_params;
    int32_t buffer[OP_MAX_BUFFERS], n_buffers; /* indices into graph->buffers */
};

struct graph {
    struct node *nodes;
    int32_t n_nodes;
    struct param *params, *buffers;
    int32_t n_params, n_buffers;
    size_t param_floats, buffer_floats; /* block sizes, padding included */
    int32_t output;                     /* node of the logits */
    /* private */
    int32_t cap_nodes, cap_params, cap_buffers;
    struct error err;
};

struct graph *graph_new(void);
void graph_free(struct graph *g);

/* Each returns the new node's index, or -1 after an error (also when x is -1).  `name` is the
 * layer's name, to which ".weight" and so on is added (a name that ends in '_' takes no dot:
 * "self_attn.in_proj_" gives "self_attn.in_proj_weight"); NULL: generated. */
int graph_input(struct graph *g, struct shape shape);
int graph_tokens(struct graph *g, int length); /* the input of a network over token ids */
struct conv_args {
    int kernel, stride, pad, dilation, groups; /* 0 means 1 for stride, dilation, groups */
    bool no_bias;
};
int graph_conv2d(struct graph *g, const char *name, int x, int out_channels, struct conv_args args);
int graph_linear(struct graph *g, const char *name, int x, int out_features);
int graph_linear_no_bias(struct graph *g, const char *name, int x, int out_features);
/* With the parameters of `like`, a linear node of as many input features. */
int graph_linear_shared(struct graph *g, int x, int like);
/* Logits x weight^T against the table of an embedding node. */
int graph_tied_linear(struct graph *g, int x, int embedding);
/* eps 0 means 1e-5, momentum 0 means 0.1 (PyTorch's defaults). */
int graph_batch_norm(struct graph *g, const char *name, int x, double eps, double momentum);
int graph_layer_norm(struct graph *g, const char *name, int x, double eps);
int graph_relu(struct graph *g, int x);
int graph_gelu(struct graph *g, int x);
int graph_hardswish(struct graph *g, int x);
int graph_hardsigmoid(struct graph *g, int x);
int graph_sigmoid(struct graph *g, int x);
int graph_tanh(struct graph *g, int x);
int graph_max_pool2d(struct graph *g, int x, int kernel, int stride, int pad);
int graph_avg_pool2d(struct graph *g, int x, int kernel, int stride, int pad); /* padding counts */
int graph_adaptive_avg_pool2d(struct graph *g, int x, int height, int width);
int graph_adaptive_max_pool2d(struct graph *g, int x, int height, int width);
int graph_flatten(struct graph *g, int x);
int graph_dropout(struct graph *g, int x, double p);
int graph_add(struct graph *g, int a, int b);
int graph_multiply(struct graph *g, int a, int b);
int graph_concatenate(struct graph *g, const int *x, int n);
int graph_channel_mean_max(struct graph *g, int x);
struct embedding_args {
    int rows, features;
    double scale; /* 0 means 1 */
    bool has_pad;
    int pad_id;
};
int graph_embedding(struct graph *g, const char *name, int tokens, struct embedding_args args);
struct position_args {
    int rows;
    enum position_kind kind;
    int tokens, pad_id; /* POSITION_OF_TOKENS */
};
int graph_positions(struct graph *g, const char *name, int x, struct position_args args);
struct attention_args {
    int heads;
    bool causal;
    double dropout;
    bool masked; /* keys whose token is pad_id */
    int tokens, pad_id;
};
int graph_attention_packed(struct graph *g, int qkv, struct attention_args args);
int graph_attention(struct graph *g, int q, int k, int v, struct attention_args args);
int graph_first_token(struct graph *g, int x);

/* The general form of all of these: `op` on the n nodes x; like >= 0: with that node's parameters.
 */
int graph_op(struct graph *g, enum op_kind op, const char *name, const int *x, int n,
             const struct op_attr *attr, int like);

/* Tensor i (0 weight, 1 bias) of the node starts otherwise than the operation's default. */
void graph_init(struct graph *g, int node, int i, enum init_kind kind, double scale);
/* Moves the node's own tensors behind all others so far: where PyTorch registers a layer later than
 * it runs. */
void graph_params_last(struct graph *g, int node);

/* Declares x the logits (a vector, or for each token one: rank 2) and checks the whole; false with
 * the first error met while building. */
bool graph_finish(struct graph *g, int x, struct error *err);

/* The task needs n logits (of each token, where there are several): does a finished graph give
 * them?
 */
bool graph_check_outputs(const struct graph *g, int n, struct error *err);
/* Its samples are int32 token ids. */
bool graph_reads_tokens(const struct graph *g);
/* Can it read samples that are token ids below `vocabulary` (0: numbers)?  An embedding must have a
 * row for every id. */
bool graph_check_input(const struct graph *g, int32_t vocabulary, struct error *err);

/* Multiply-adds a sample of a forward pass; activations (outputs of all nodes) a sample; number of
 * trainable parameters, padding not counted. */
double graph_macs(const struct graph *g);
size_t graph_activations(const struct graph *g);
size_t graph_parameter_count(const struct graph *g);
/* FNV-1a over structure, attributes and shapes: equal graphs have equal hashes. */
uint64_t graph_hash(const struct graph *g);

/* Memory index, within the tensor, of PyTorch's element `logical`. */
size_t param_memory_index(const struct param *p, size_t logical);
/* Copies a tensor between PyTorch's order and memory order (p->count floats each). */
void param_to_logical(const struct param *p, const float *memory, float *logical);
void param_from_logical(const struct param *p, const float *logical, float *memory);

/* Initial values of a model: params block and buffers block (running_mean 0, running_var 1).
 * Element i (logical order) of parameter o, with w[0..3] the words of
 * rng_block_at(seed, RNG_INIT, o, 0, 0, i / 4):
 *   INIT_UNIFORM  (2u - 1) * scale, u = rng_unit(w[i % 4]), in float
 *   INIT_NORMAL   Box-Muller on the pair a = w[j], b = w[j + 1], j = i % 4 rounded down to even:
 *                 r = sqrt(-2 ln((a + 1) / 2^32)), t = 2 pi b / 2^32, scale r cos t for even i,
 *                 scale r sin t for odd i; in double, rounded once to float
 * then zero_row is zeroed.  Padding is zeroed. */
void graph_init_model(const struct graph *g, uint64_t seed, float *params, float *buffers);
/* Of one tensor, elements first .. first + n - 1 in logical order. */
void param_init_values(const struct param *p, uint64_t seed, size_t first, size_t n, float *out);

#endif
