/* Weights of a network as a safetensors file with PyTorch's names and layouts: what
 * load_state_dict(safetensors.torch.load_file(FILE)) takes as it is, and what torchvision and
 * Hugging Face publish.  Parameters and running statistics in F32, and for every batch norm its
 * num_batches_tracked (I64).  A shared tensor stands in the file once, under its first name.
 */
#ifndef NN_WEIGHTS_H
#define NN_WEIGHTS_H

#include "base/error.h"
#include "base/text.h"
#include "nn/graph.h"

/* One metadata entry of a file; PyTorch's tools ask for format = pt, which is always written. */
struct weights_meta {
    const char *key, *value;
};

/* params and buffers: the blocks of nn/graph.h.  batches: training batches a batch norm has seen.
 * *data is malloc'd. */
bool weights_export(const struct graph *g, const float *params, const float *buffers,
                    int64_t batches, const struct weights_meta *meta, int n_meta, void **data,
                    size_t *len, struct error *err);

/* What did not fit, as names. */
struct weights_report {
    int n_loaded;
    struct text_list missing;   /* tensors of the network the file has not: left as they were */
    struct text_list different; /* in the file with another shape: left as they were */
    struct text_list unused;    /* tensors of the file the network has not */
};
void weights_report_init(struct weights_report *r);
void weights_report_release(struct weights_report *r);

/* Weights that somebody publishes for the body of a model: declared in the model's own file. */
#define WEIGHTS_MAX_NAMES 4
struct weights_published {
    const char *name; /* "xlm_roberta": what rows say, and what `fugue prefetch` takes */
    const char *path; /* of the safetensors file below the data root */
    /* Tensors whose names start so are not taken: a head of another task, what the publisher does
     * not have.  They keep what the seed gave them. */
    const char *fresh[WEIGHTS_MAX_NAMES];
    /* Layers under another name, with as many values in the same order (timm's VGG16 has its first
     * classifier layers as convolutions). */
    struct {
        const char *ours, *theirs;
    } alias[WEIGHTS_MAX_NAMES];
};

/* Takes published weights: every tensor that is not fresh must be there, with its size; what the
 * file has beside is left.  params NULL: only sees whether they fit. */
bool weights_import_published(const struct graph *g, const void *data, size_t len,
                              const struct weights_published *published, float *params,
                              float *buffers, struct error *err);

/* Takes the tensors of the network from a file (F32, F64, F16 or BF16) into the blocks, which
 * already hold a model.  strict: every tensor must be there, in its shape, and none beside them
 * (num_batches_tracked aside); else what fits is taken, as for a published body under a new head,
 * and nothing fitting at all is an error.  On false the blocks are unchanged.  report (initialised
 * by the caller, may be NULL) is filled in either case; a file that cannot be read fills nothing.
 */
bool weights_import(const struct graph *g, const void *data, size_t len, bool strict, float *params,
                    float *buffers, struct weights_report *report, struct error *err);

#endif
