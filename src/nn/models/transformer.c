#include "nn/models/models.h"

#include <math.h>

/* A causal language model of encoder layers as PyTorch's TransformerEncoderLayer builds them (norm
 * after each half, Vaswani and others, "Attention is all you need", 2017), with learned positions
 * and its output tied to the embedding.  The outputs are the vocabulary. */

enum { LAYERS, D_MODEL, HEADS, FF, DROPOUT, POSITIONS };

/* Queries, keys and values come from one matrix, stored as PyTorch's MultiheadAttention does. */
static int self_attention(struct graph *g, const char *layer, int x, const int64_t *values)
{
    const int d = (int)values[D_MODEL];
    int y = graph_linear(g, layer_name("%s.self_attn.in_proj_", layer).text, x, 3 * d);
    graph_init(g, y, 0, INIT_UNIFORM, sqrt(6.0 / (3 * d + d))); /* xavier_uniform_ */
    graph_init(g, y, 1, INIT_ZEROS, 0);
    y = graph_attention_packed(g, y,
                               (struct attention_args){.heads = (int)values[HEADS],
                                                       .causal = true,
                                                       .dropout = (double)values[DROPOUT] / 100});
    y = graph_linear(g, layer_name("%s.self_attn.out_proj", layer).text, y, d);
    graph_init(g, y, 1, INIT_ZEROS, 0);
    return y;
}

static int encoder_layer(struct graph *g, const char *name, int x, const int64_t *values)
{
    int y = dropout_percent(g, self_attention(g, name, x, values), values[DROPOUT]);
    x = graph_layer_norm(g, layer_name("%s.norm1", name).text, graph_add(g, x, y), 0);
    const int norm1 = x;
    y = graph_linear(g, layer_name("%s.linear1", name).text, x, (int)values[FF]);
    y = dropout_percent(g, graph_gelu(g, y), values[DROPOUT]);
    y = graph_linear(g, layer_name("%s.linear2", name).text, y, (int)values[D_MODEL]);
    y = dropout_percent(g, y, values[DROPOUT]);
    graph_params_last(g, norm1); /* PyTorch's order: both linear layers, both norms */
    return graph_layer_norm(g, layer_name("%s.norm2", name).text, graph_add(g, x, y), 0);
}

static int build(struct graph *g, int tokens, int n_outputs, const int64_t *values)
{
    const int d = (int)values[D_MODEL];
    const int length = tokens < 0 ? 0 : g->nodes[tokens].out.d[0];
    const int embedding = graph_embedding(
        g, "tok", tokens,
        (struct embedding_args){.rows = n_outputs, .features = d, .scale = sqrt(d)});
    int x = graph_positions(
        g, "pos", embedding,
        (struct position_args){.rows = values[POSITIONS] > 0 ? (int)values[POSITIONS] : length});
    for (int i = 0; i < values[LAYERS]; i++)
        x = encoder_layer(g, layer_name("enc.layers.%d", i).text, x, values);
    x = graph_layer_norm(g, "norm", x, 0);
    return graph_tied_linear(g, x, embedding);
}

const struct model_info model_transformer = {
    .name = "transformer",
    .summary = "causal language model: post-norm encoder layers, learned positions, tied output",
    .input_rank = 1,
    .tokens = true,
    .args = {[LAYERS] = {"layers", 6, 1, 1000, "encoder layers"},
             [D_MODEL] = {"d_model", 384, 1, 65536, "features of a token; heads divide it"},
             [HEADS] = {"heads", 8, 1, 1024, "attention heads"},
             [FF] = {"ff", 1536, 1, 262144, "features inside the feed-forward half"},
             [DROPOUT] = {"dropout_pct", 10, 0, 99, "percent of values dropout zeroes"},
             [POSITIONS] = {"max_positions", 0, 0, 1 << 20, "learned positions; 0: the length"}},
    .n_args = 6,
    .build = build,
};
