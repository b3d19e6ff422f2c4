/* A network as a graph: nodes in topological order, each an operation on earlier nodes' outputs,
 * with its parameters laid out in one block.  Built by calls that read like the network; the first
 * error sticks and graph_finish reports it.
 *
 *     int x = graph_input(g);
 *     x = graph_conv2d(g, "conv1", x, 16, (struct conv_args){.kernel = 3, .pad = 1});
 *     x = graph_relu(g, x);
 *
 * Block layout ("slice") of one model, in floats: every tensor starts on a multiple of
 * PARAM_ALIGN floats, in order of declaration, which is PyTorch's model.parameters() order;
 * padding floats are zero and stay zero under every optimiser.
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
    double bound;
    size_t count;    /* elements */
    size_t offset;   /* floats from the start of the parameter (or buffer) block */
    int32_t ordinal; /* position among the graph's parameters: the counter of its initial values */
};

struct node {
    enum op_kind op;
    char name[64]; /* "conv1"; generated for nameless operations ("relu_2") */
    struct op_attr attr;
    int32_t input[OP_MAX_INPUTS]; /* node indices */
    struct shape in[OP_MAX_INPUTS], out;
    int32_t ordinal; /* position in the graph: the counter of its dropout masks */
    int32_t param[OP_MAX_PARAMS], n_params;    /* indices into graph->params */
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

/* Each returns the new node's index, or -1 after an error (also when x is -1). */
int graph_input(struct graph *g, struct shape shape);
struct conv_args {
    int kernel, stride, pad, dilation, groups; /* 0 means 1 for stride, dilation, groups */
    bool no_bias;
};
int graph_conv2d(struct graph *g, const char *name, int x, int out_channels, struct conv_args args);
int graph_linear(struct graph *g, const char *name, int x, int out_features);
/* eps 0 means 1e-5, momentum 0 means 0.1 (PyTorch's defaults). */
int graph_batch_norm(struct graph *g, const char *name, int x, double eps, double momentum);
int graph_relu(struct graph *g, int x);
int graph_max_pool2d(struct graph *g, int x, int kernel, int stride, int pad);
int graph_flatten(struct graph *g, int x);
int graph_dropout(struct graph *g, int x, double p);

/* Declares x the logits and checks the whole; false with the first error met while building. */
bool graph_finish(struct graph *g, int x, struct error *err);

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
 * Element i (logical order) of parameter o = (2u - 1) * bound, u = rng_unit of
 * rng_u32_at(seed, RNG_INIT, o, 0, 0, i).  Padding is zeroed. */
void graph_init_model(const struct graph *g, uint64_t seed, float *params, float *buffers);

#endif
