/* What a layer of a network file may say, operation by operation: between json_net.c and json_op.c.
 */
#ifndef NN_JSON_OP_H
#define NN_JSON_OP_H

#include "nn/op.h"

#include <jansson.h>

enum json_arg_type {
    JSON_ARG_WHOLE,       /* a whole number */
    JSON_ARG_PAIR,        /* a whole number for both, or [height, width] */
    JSON_ARG_OUT,         /* a whole number, or "outputs": as many as the task needs */
    JSON_ARG_REAL,        /* a double */
    JSON_ARG_PROBABILITY, /* a float */
    JSON_ARG_FLAG,        /* true or false */
};

/* Where an argument goes (offsets in struct op_attr) and what it is when absent. */
struct json_arg {
    const char *name;
    enum json_arg_type type;
    size_t offset, offset_w; /* of a pair: height, width */
    bool required;
    double fallback;
    const char *as; /* fallback: the value of that earlier argument (a pair) */
};

#define JSON_OP_MAX_ARGS 7
struct json_op {
    enum op_kind op;
    bool shares; /* takes "like": a layer whose parameters it uses */
    int n_args;
    struct json_arg args[JSON_OP_MAX_ARGS];
};

/* Operations a file may use; n of them. */
extern const struct json_op json_ops[];
extern const int json_op_count;
const struct json_op *json_op_find(const char *name);

/* Fills attr from the members of `layer` (those the table names; the caller refuses others).
 * On false *bad is the argument the error is about (NULL: the layer).  *out_is_outputs: "outputs"
 * was said. */
bool json_op_read(const struct json_op *op, const json_t *layer, struct op_attr *attr,
                  bool *out_is_outputs, const char **bad, struct error *err);

#endif
