/* Tasks: what the network's output is held against (loss) and how well it did (score). */
#ifndef NN_TASK_H
#define NN_TASK_H

#include "nn/graph.h"

enum target_kind {
    TARGET_CLASS,  /* int32, one a sample */
    TARGET_REAL,   /* float, one a sample */
    TARGET_TOKENS, /* int32, one a token: L a sample, the class of each of its L logit vectors */
};

/* What a pass over a set of samples adds up, in fixed order, in double.  All any task needs. */
struct pass_sums {
    int64_t n;         /* samples */
    double loss_sum;   /* cross-entropy: sum over samples, or tokens; MSE: sum of squared errors */
    int64_t n_correct; /* argmax equals the class (first maximum wins) */
    int64_t n_tokens;  /* TARGET_TOKENS: n times L; 0 else */
    double target_sum, target_sq_sum; /* TARGET_REAL */
};

struct task_info {
    const char *name;       /* "classification" */
    const char *score_name; /* "accuracy", "R2" */
    enum op_kind loss;      /* the loss operation put after the logits */
    enum target_kind target;
    /* Mean loss and score of a pass; n == 0 gives NaN for both.
     *   classification: score = n_correct / n
     *   regression:     loss = SSE / n, score = 1 - SSE / (sum y^2 - n mean(y)^2), 0 when that
     *                   denominator is <= 0
     *   language_modeling: loss = mean over tokens, score = n_correct / n_tokens */
    void (*finish)(const struct pass_sums *sums, double *loss, double *score);
    /* One more figure made of the mean loss; NULL: none.  language_modeling: perplexity, exp(loss).
     */
    const char *extra_name;
    double (*extra)(double loss);
};

/* NULL-terminated table; look-up (case-sensitive). */
extern const struct task_info *const task_table[];
const struct task_info *task_find(const char *name);
/* Does the network give a prediction a sample (or a token), as the task needs it? */
bool task_check_network(const struct task_info *task, const struct graph *g, struct error *err);

#endif
