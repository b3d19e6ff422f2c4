/* Update rules, one element at a time, as torch.optim (single-tensor, non-fused) computes them.
 * Header only; compiles as C17, C++17 and CUDA.  Scalars that depend on the step are prepared once
 * a step in double (optim_step_prepare), as PyTorch does, and used in the element's type.
 *
 * `t` is the number of this update, from 1.
 *   SGD      g += weight_decay p;  buf = g at t = 1, else momentum buf + (1 - dampening) g;
 *            g = nesterov ? g + momentum buf : buf;  p -= lr g
 *   Adam     g += weight_decay p (AdamW: p *= 1 - lr weight_decay instead)
 *            m += (g - m)(1 - beta1);  v = beta2 v + (1 - beta2) g g;  v_hat = amsgrad ? max : v
 *            p -= (lr / (1 - beta1^t)) m / (sqrt(v_hat) / sqrt(1 - beta2^t) + eps)
 */
#ifndef NN_OPTIM_RULE_H
#define NN_OPTIM_RULE_H

#include "nn/optim.h"

#include <math.h>

#if defined(__CUDACC__) || defined(__CUDACC_RTC__)
#define OPTIM_FUNC static inline __host__ __device__
#else
#define OPTIM_FUNC static inline
#endif

struct optim_step {
    enum optim_kind kind;
    int nesterov, amsgrad, first; /* first: t == 1 */
    float lr, momentum, one_minus_dampening, weight_decay;
    float one_minus_beta1, beta2, one_minus_beta2, eps;
    float step_size;  /* lr / (1 - beta1^t) */
    float bias2_sqrt; /* sqrt(1 - beta2^t) */
    float decay;      /* adamw: 1 - lr weight_decay */
};

OPTIM_FUNC struct optim_step optim_step_prepare(enum optim_kind kind, const struct optim_args *a,
                                                int64_t t)
{
    struct optim_step s;
    s.kind = kind;
    s.nesterov = a->nesterov;
    s.amsgrad = a->amsgrad;
    s.first = t == 1;
    s.lr = (float)a->lr;
    s.momentum = (float)a->momentum;
    s.one_minus_dampening = (float)(1.0 - a->dampening);
    s.weight_decay = (float)a->weight_decay;
    s.one_minus_beta1 = (float)(1.0 - a->beta1);
    s.beta2 = (float)a->beta2;
    s.one_minus_beta2 = (float)(1.0 - a->beta2);
    s.eps = (float)a->eps;
    s.step_size = (float)(a->lr / (1.0 - pow(a->beta1, (double)t)));
    s.bias2_sqrt = (float)sqrt(1.0 - pow(a->beta2, (double)t));
    s.decay = (float)(1.0 - a->lr * a->weight_decay);
    return s;
}

/* New value of p; *buf is the momentum buffer, unused (may be NULL) without momentum. */
OPTIM_FUNC float optim_sgd(const struct optim_step *s, float p, float g, float *buf)
{
    if (s->weight_decay != 0.0f)
        g += s->weight_decay * p;
    if (s->momentum != 0.0f) {
        const float b = s->first ? g : s->momentum * *buf + s->one_minus_dampening * g;
        *buf = b;
        g = s->nesterov ? g + s->momentum * b : b;
    }
    return p - s->lr * g;
}

/* New value of p; *m, *v moments; *v_max only with amsgrad. */
OPTIM_FUNC float optim_adam(const struct optim_step *s, float p, float g, float *m, float *v,
                            float *v_max)
{
    if (s->kind == OPTIM_ADAMW)
        p *= s->decay;
    else if (s->weight_decay != 0.0f)
        g += s->weight_decay * p;
    *m += (g - *m) * s->one_minus_beta1;
    *v = s->beta2 * *v + s->one_minus_beta2 * g * g;
    float second = *v;
    if (s->amsgrad) {
        *v_max = *v_max > second ? *v_max : second;
        second = *v_max;
    }
    return p - s->step_size * (*m / (sqrtf(second) / s->bias2_sqrt + s->eps));
}

/* torch.nn.utils.clip_grad_norm_: what every gradient is multiplied by; max_norm 0: no clipping.
 * `norm` is the Euclidean norm over all of a model's gradients (each shared tensor once), the
 * squares added in double in order of parameter index. */
OPTIM_FUNC float optim_clip_factor(double norm, double max_norm)
{
    const double factor = max_norm / (norm + 1e-6);
    return max_norm > 0 && factor < 1 ? (float)factor : 1.0f;
}

#endif
