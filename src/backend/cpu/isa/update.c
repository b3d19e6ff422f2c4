#include "backend/cpu/isa/kernels.h"

#define BLOCK 512 /* gradients summed at a time: stays in the first cache */

/* Shard gradients added in shard order. */
static void sum_gradients(const struct update_call *u, int32_t from, int32_t count, float *g)
{
    const float *part = u->grads + from;
    memcpy(g, part, (size_t)count * sizeof(float));
    for (int32_t s = 1; s < u->n_grads; s++) {
        part += u->grads_stride;
        for (int32_t i = 0; i < count; i++)
            g[i] += part[i];
    }
}

/* The rules of nn/optim_rule.h over a block.  Called with a rule whose options are constants, so
 * that the tests inside fall away and the loop becomes vector instructions. */
ALWAYS_INLINE void adam_block(const struct optim_step rule, const float *restrict g,
                              float *restrict p, float *restrict m, float *restrict v,
                              float *restrict v_max, int32_t n)
{
    for (int32_t i = 0; i < n; i++)
        p[i] = optim_adam(&rule, p[i], g[i], &m[i], &v[i], v_max ? &v_max[i] : NULL);
}

ALWAYS_INLINE void sgd_block(const struct optim_step rule, const float *restrict g,
                             float *restrict p, float *restrict buf, int32_t n)
{
    for (int32_t i = 0; i < n; i++)
        p[i] = optim_sgd(&rule, p[i], g[i], buf ? &buf[i] : NULL);
}

static void adam(const struct update_call *u, const float *g, int32_t at, int32_t n)
{
    struct optim_step rule = u->rule;
    float *p = u->param + at, *m = u->slot[0] + at, *v = u->slot[1] + at;
    if (rule.amsgrad) {
        rule.amsgrad = 1;
        adam_block(rule, g, p, m, v, u->slot[2] + at, n);
    } else if (rule.kind == OPTIM_ADAMW) {
        rule.kind = OPTIM_ADAMW;
        rule.amsgrad = 0;
        adam_block(rule, g, p, m, v, NULL, n);
    } else {
        rule.kind = OPTIM_ADAM;
        rule.amsgrad = 0;
        if (rule.weight_decay == 0.0f) {
            rule.weight_decay = 0.0f;
            adam_block(rule, g, p, m, v, NULL, n);
        } else {
            adam_block(rule, g, p, m, v, NULL, n);
        }
    }
}

static void sgd(const struct update_call *u, const float *g, int32_t at, int32_t n)
{
    struct optim_step rule = u->rule;
    float *p = u->param + at;
    if (rule.momentum == 0.0f) {
        rule.momentum = 0.0f;
        sgd_block(rule, g, p, NULL, n);
    } else if (rule.first) {
        rule.first = 1;
        sgd_block(rule, g, p, u->slot[0] + at, n);
    } else {
        rule.first = 0;
        sgd_block(rule, g, p, u->slot[0] + at, n);
    }
}

void ISA_FN(update)(const struct update_call *u)
{
    float g[BLOCK];
    for (int32_t at = 0; at < u->count; at += BLOCK) {
        const int32_t n = u->count - at < BLOCK ? u->count - at : BLOCK;
        sum_gradients(u, at, n, g);
        if (u->rule.kind == OPTIM_SGD)
            sgd(u, g, at, n);
        else
            adam(u, g, at, n);
    }
}
