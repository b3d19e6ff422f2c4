#include "engine/support.h"

#include "backend/load.h"
#include "engine/bucket.h"
#include "engine/plan_builder.h"

#define MAX_STEPS 4

/* What plan_forward.c and plan_backward.c lower an operation to. */
static int steps_of(enum op_kind op, enum step_kind kind[MAX_STEPS])
{
    int n = 0;
    if (op == OP_INPUT) {
        kind[n++] = STEP_GATHER;
    } else if (op_infos[op].is_loss) {
        kind[n++] = STEP_LOSS;
    } else if (op == OP_BATCH_NORM) {
        kind[n++] = STEP_BN_STATS;
        kind[n++] = STEP_BN_APPLY;
        kind[n++] = STEP_BN_BACK_REDUCE;
        kind[n++] = STEP_BN_BACK_APPLY;
    } else {
        kind[n++] = STEP_FORWARD;
        kind[n++] = STEP_BACKWARD;
        if (plan_traits[op].by_parts)
            kind[n++] = STEP_BACKWARD_PARAMS;
    }
    return n;
}

/* The backend of set i, and its number there. */
static const struct backend *backend_of(int i, int *variant, struct backend_variant *info)
{
    const struct backend *backend;
    for (int b = 0; (backend = backend_at(b)) != NULL; b++)
        for (int n = 0; backend->variant_at(n, info); n++)
            if (i-- == 0) {
                *variant = n;
                return backend;
            }
    return NULL;
}

bool support_set_at(int i, struct support_set *out)
{
    int variant;
    struct backend_variant info;
    const struct backend *b = i < 0 ? NULL : backend_of(i, &variant, &info);
    if (b)
        *out = (struct support_set){b->name, info.name, info.is_reference, info.is_usable};
    return b != NULL;
}

int support_steps(enum op_kind op)
{
    enum step_kind kind[MAX_STEPS];
    return steps_of(op, kind);
}

const char *support_step_name(enum op_kind op, int s)
{
    enum step_kind kind[MAX_STEPS];
    return s >= 0 && s < steps_of(op, kind) ? plan_step_name(kind[s]) : NULL;
}

const char *support_kernel(int set, enum op_kind op, int s)
{
    enum step_kind kind[MAX_STEPS];
    int variant;
    struct backend_variant info;
    if (set < 0 || s < 0 || s >= steps_of(op, kind))
        return NULL;
    const struct backend *b = backend_of(set, &variant, &info);
    return b ? b->kernel_at(variant, kind[s], op) : NULL;
}
