/* Between the files of the builder: plan_build.c (a request becomes a plan), plan_forward.c and
 * plan_backward.c (the steps of a program).
 */
#ifndef ENGINE_PLAN_BUILDER_H
#define ENGINE_PLAN_BUILDER_H

#include "engine/plan_build.h"

/* What the builder must know of an operation beside op_infos (plan.h says what steps read). */
struct op_traits {
    bool saves_input;  /* backward reads x[0] */
    bool saves_inputs; /* backward reads all x */
    bool saves_output; /* backward reads y */
    bool y_over_x;     /* y may be written over x[0] */
    bool dx_over_dy;   /* dx[0] may be written over dy */
    bool by_parts;     /* BACKWARD_PARAMS can give the gradient of its parameter 0 */
};
extern const struct op_traits plan_traits[OP_COUNT];

/* State while a program is built.  Arrays are indexed by node. */
struct builder {
    const struct graph *g;
    const struct plan *plan;
    struct plan_program *prog;
    bool training;
    bool *live;       /* the logits depend on it */
    bool *needs_grad; /* it, or something before it, has parameters */
    int32_t *root;    /* the node whose output this one's is: itself unless it moves nothing */
    int32_t *uses;    /* steps that read a root's output as their x */
    int32_t *value, *grad, *saved; /* buffers, -1 where there is none (yet) */
    int32_t (*whole)[2];           /* batch norm: combined statistics */
    bool *begun;                   /* by parameter: a backward step has given it a gradient */
    int32_t cap_steps, cap_buffers;
};

int32_t builder_buffer(struct builder *b, enum buffer_kind kind, size_t floats);
/* node -1: a step of no node.  The pointer holds until the next call. */
struct plan_step *builder_step(struct builder *b, enum step_kind kind, int32_t node);
void step_reads(struct plan_step *s, int32_t buffer); /* -1: nothing */
void step_writes(struct plan_step *s, int32_t buffer);

/* The gradient of this parameter is one for the whole batch. */
bool plan_param_is_whole(const struct plan *plan, const struct param *p);

/* Gather, the network and the loss. */
void builder_forward(struct builder *b);
/* The way back from the loss, and the update. */
void builder_backward(struct builder *b);

#endif
