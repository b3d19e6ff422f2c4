/* The model table: one file an architecture under src/nn/models/, each a page of builder calls.
 * Names are looked up case-insensitively and may carry arguments ("mlp?hidden1=256"). */
#ifndef NN_MODEL_H
#define NN_MODEL_H

#include "base/spec.h"
#include "nn/graph.h"
#include "nn/weights.h"

struct model_arg {
    const char *name;
    int64_t fallback, min, max;
    const char *meaning;
};

#define MODEL_MAX_ARGS 8
struct model_info {
    const char *name;    /* "digits_cnn" */
    const char *summary; /* one line */
    int input_rank;      /* rank of the sample shape it takes: 1 vector, 3 image; 0 any */
    bool tokens;         /* a sample is a vector of int32 token ids (input_rank 1) */
    struct model_arg args[MODEL_MAX_ARGS];
    int n_args;
    const struct weights_published *published; /* NULL: nobody's weights are known for it */
    /* Builds the body on input node x; values[i] belongs to args[i].  Returns the logits' node. */
    int (*build)(struct graph *g, int x, int n_outputs, const int64_t *values);
};

/* Built-in models; NULL-terminated. */
extern const struct model_info *const model_table[];
/* NULL when unknown. */
const struct model_info *model_find(const char *name);

/* Of a model, arguments allowed; NULL when there are none. */
const struct weights_published *model_published(const char *name);

/* Checks name and arguments without building: used by validate. */
bool model_check(const char *spec, struct error *err);
/* Builds `spec` for samples of shape `in` and n_outputs logits.  A shape the architecture cannot
 * take is an error naming both. */
struct graph *model_build(const char *spec, struct shape in, int n_outputs, struct error *err);

#endif
