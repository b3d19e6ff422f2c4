/* Rules of single operations: between op.c, which holds the table, op_image.c and op_sequence.c.
 * The macros spell the signatures of struct op_info's functions; a rule uses what it needs. */
#ifndef NN_OP_RULES_H
#define NN_OP_RULES_H

#include "nn/op.h"

#define OP_UNUSED __attribute__((unused))

#define OP_INFER(name)                                                                             \
    bool name(const struct op_attr *a OP_UNUSED, const struct shape *in, int n_in OP_UNUSED,       \
              struct shape *out, struct error *err OP_UNUSED)
#define OP_PARAMS(name)                                                                            \
    void name(const struct op_attr *a OP_UNUSED, const struct shape *in OP_UNUSED,                 \
              struct op_param param[OP_MAX_PARAMS], int *n_params,                                 \
              struct op_param buffer[OP_MAX_BUFFERS] OP_UNUSED, int *n_buffers)
#define OP_MACS(name)                                                                              \
    double name(const struct op_attr *a OP_UNUSED, const struct shape *in, const struct shape *out)

/* An error when the output has more elements than an index of 32 bits reaches. */
bool op_check_count(struct shape s, struct error *err);
bool op_check_eps(double eps, struct error *err);
/* Extent of the last dimension: channels, features. */
int32_t op_channels(const struct shape *s);

/* op_image.c */
OP_INFER(op_infer_conv2d);
OP_PARAMS(op_params_conv2d);
OP_MACS(op_macs_conv2d);
OP_INFER(op_infer_max_pool2d);
OP_INFER(op_infer_avg_pool2d);
OP_INFER(op_infer_adaptive_pool2d);
OP_INFER(op_infer_channel_mean_max);

/* op_sequence.c */
OP_INFER(op_infer_linear);
OP_PARAMS(op_params_linear);
OP_MACS(op_macs_linear); /* the tied one too */
OP_INFER(op_infer_tied_linear);
OP_PARAMS(op_params_tied_linear);
OP_INFER(op_infer_layer_norm);
OP_PARAMS(op_params_layer_norm);
OP_INFER(op_infer_embedding);
OP_PARAMS(op_params_embedding);
OP_INFER(op_infer_positions);
OP_PARAMS(op_params_positions);
OP_INFER(op_infer_attention);
OP_MACS(op_macs_attention);
OP_INFER(op_infer_first_token);

#endif
