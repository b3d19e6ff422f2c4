/* What this build can run: each operation's steps, and which sets of kernels have one for them.
 * Asked of the backends and of the planner's own tables; no device is opened.
 */
#ifndef ENGINE_SUPPORT_H
#define ENGINE_SUPPORT_H

#include "nn/op.h"

/* A set of kernels of one backend: plain ones (the reference), or those for one instruction set. */
struct support_set {
    const char *backend, *name; /* "cpu", "avx512" */
    bool is_reference, is_usable;
};

/* Set i of all backends, each backend's reference first; false past the last. */
bool support_set_at(int i, struct support_set *out);

/* The steps a plan makes of an operation: how many, and what step s is called ("backward"). */
int support_steps(enum op_kind op);
const char *support_step_name(enum op_kind op, int s);

/* Name of the set's own kernel for step s; NULL where it has none.  A set that is no reference
 * falls back on its backend's reference. */
const char *support_kernel(int set, enum op_kind op, int s);

#endif
