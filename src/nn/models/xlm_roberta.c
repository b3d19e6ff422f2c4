#include "nn/models/models.h"

/* Conneau and others, "Unsupervised cross-lingual representation learning at scale", 2020, as
 * Hugging Face's XLMRobertaForSequenceClassification builds it, tensor for tensor.
 * A sample is its token ids alone: the mask that Hugging Face takes beside them is "id is not the
 * padding id", which the tokenizer gives to padding and to nothing else. */

enum { LAYERS, D_MODEL, HEADS, FF, VOCAB, POSITIONS, DROPOUT };

#define PAD_ID    1
#define DEVIATION 0.02 /* of every initial weight */

static int linear(struct graph *g, struct layer_name name, int x, int64_t features)
{
    return init_normal(g, graph_linear(g, name.text, x, (int)features), DEVIATION);
}

static int embeddings(struct graph *g, int tokens, const int64_t *values)
{
    int x = graph_embedding(g, "roberta.embeddings.word_embeddings", tokens,
                            (struct embedding_args){.rows = (int)values[VOCAB],
                                                    .features = (int)values[D_MODEL],
                                                    .has_pad = true,
                                                    .pad_id = PAD_ID});
    graph_init(g, x, 0, INIT_NORMAL, DEVIATION);
    x = graph_positions(g, "roberta.embeddings.position_embeddings", x,
                        (struct position_args){.rows = (int)values[POSITIONS],
                                               .kind = POSITION_OF_TOKENS,
                                               .tokens = tokens,
                                               .pad_id = PAD_ID});
    graph_init(g, x, 0, INIT_NORMAL, DEVIATION);
    x = graph_positions(g, "roberta.embeddings.token_type_embeddings", x,
                        (struct position_args){.rows = 1, .kind = POSITION_FIRST});
    graph_init(g, x, 0, INIT_NORMAL, DEVIATION);
    x = graph_layer_norm(g, "roberta.embeddings.LayerNorm", x, 0);
    return dropout_percent(g, x, values[DROPOUT]);
}

/* The second part of both halves of a layer: a linear layer, dropout, and the norm of its sum with
 * what the half began with. */
static int add_and_norm(struct graph *g, const char *name, int x, int y, const int64_t *values)
{
    y = linear(g, layer_name("%s.dense", name), y, values[D_MODEL]);
    y = dropout_percent(g, y, values[DROPOUT]);
    return graph_layer_norm(g, layer_name("%s.LayerNorm", name).text, graph_add(g, y, x), 0);
}

static int encoder_layer(struct graph *g, const char *name, int x, int tokens,
                         const int64_t *values)
{
    const int64_t d = values[D_MODEL];
    const int q = linear(g, layer_name("%s.attention.self.query", name), x, d);
    const int k = linear(g, layer_name("%s.attention.self.key", name), x, d);
    const int v = linear(g, layer_name("%s.attention.self.value", name), x, d);
    int y = graph_attention(g, q, k, v,
                            (struct attention_args){.heads = (int)values[HEADS],
                                                    .dropout = (double)values[DROPOUT] / 100,
                                                    .masked = true,
                                                    .tokens = tokens,
                                                    .pad_id = PAD_ID});
    x = add_and_norm(g, layer_name("%s.attention.output", name).text, x, y, values);
    y = graph_gelu(g, linear(g, layer_name("%s.intermediate.dense", name), x, values[FF]));
    return add_and_norm(g, layer_name("%s.output", name).text, x, y, values);
}

static int build(struct graph *g, int tokens, int n_outputs, const int64_t *values)
{
    int x = embeddings(g, tokens, values);
    for (int i = 0; i < values[LAYERS]; i++)
        x = encoder_layer(g, layer_name("roberta.encoder.layer.%d", i).text, x, tokens, values);
    x = dropout_percent(g, graph_first_token(g, x), values[DROPOUT]);
    x = graph_tanh(g, linear(g, layer_name("classifier.dense"), x, values[D_MODEL]));
    x = dropout_percent(g, x, values[DROPOUT]);
    return linear(g, layer_name("classifier.out_proj"), x, n_outputs);
}

/* The body; the published file has the head of its own task. */
static const struct weights_published published = {
    .name = "xlm_roberta",
    .path = "weights/xlm-roberta-base/model.safetensors",
    .fresh = {"classifier."},
};

const struct model_info model_xlm_roberta = {
    .name = "xlm_roberta",
    .summary = "Hugging Face's XLM-RoBERTa base with its classification head",
    .input_rank = 1,
    .tokens = true,
    .args = {[LAYERS] = {"layers", 12, 1, 1000, "encoder layers"},
             [D_MODEL] = {"d_model", 768, 1, 65536, "features of a token; heads divide it"},
             [HEADS] = {"heads", 12, 1, 1024, "attention heads"},
             [FF] = {"ff", 3072, 1, 262144, "features inside the feed-forward half"},
             [VOCAB] = {"vocab", 250002, 2, 1 << 24, "token ids"},
             [POSITIONS] = {"max_positions", 514, 3, 1 << 20, "positions; 2 more than tokens"},
             [DROPOUT] = {"dropout_pct", 10, 0, 99, "percent of values dropout zeroes"}},
    .n_args = 7,
    .published = &published,
    .build = build,
};
