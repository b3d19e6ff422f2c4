#include "nn/task.h"

#include <math.h>
#include <string.h>

static void finish_classification(const struct pass_sums *s, double *loss, double *score)
{
    *loss = s->n ? s->loss_sum / (double)s->n : NAN;
    *score = s->n ? (double)s->n_correct / (double)s->n : NAN;
}

static void finish_regression(const struct pass_sums *s, double *loss, double *score)
{
    if (s->n == 0) {
        *loss = *score = NAN;
        return;
    }
    const double n = (double)s->n, mean = s->target_sum / n;
    const double total = s->target_sq_sum - n * mean * mean;
    *loss = s->loss_sum / n;
    *score = total <= 0 ? 0 : 1 - s->loss_sum / total;
}

static void finish_language_modeling(const struct pass_sums *s, double *loss, double *score)
{
    *loss = s->n_tokens ? s->loss_sum / (double)s->n_tokens : NAN;
    *score = s->n_tokens ? (double)s->n_correct / (double)s->n_tokens : NAN;
}

static double perplexity(double loss)
{
    return exp(loss);
}

static const struct task_info classification = {.name = "classification",
                                                .score_name = "accuracy",
                                                .loss = OP_CROSS_ENTROPY,
                                                .target = TARGET_CLASS,
                                                .finish = finish_classification};
static const struct task_info regression = {.name = "regression",
                                            .score_name = "R2",
                                            .loss = OP_MSE,
                                            .target = TARGET_REAL,
                                            .finish = finish_regression};

static const struct task_info language_modeling = {.name = "language_modeling",
                                                   .score_name = "accuracy",
                                                   .loss = OP_CROSS_ENTROPY,
                                                   .target = TARGET_TOKENS,
                                                   .finish = finish_language_modeling,
                                                   .extra_name = "perplexity",
                                                   .extra = perplexity};

const struct task_info *const task_table[] = {&classification, &regression, &language_modeling,
                                              NULL};

const struct task_info *task_find(const char *name)
{
    for (int i = 0; task_table[i]; i++)
        if (strcmp(task_table[i]->name, name) == 0)
            return task_table[i];
    return NULL;
}

bool task_check_network(const struct task_info *task, const struct graph *g, struct error *err)
{
    const struct shape out = g->nodes[g->output].out;
    const bool tokens = task->target == TARGET_TOKENS;
    if (out.rank != (tokens ? 2 : 1))
        return error_set(err, ERROR_USAGE,
                         "the network's output has %d dimensions; task %s needs a vector a %s",
                         (int)out.rank, task->name, tokens ? "token" : "sample");
    if (task->target == TARGET_REAL && out.d[0] != 1)
        return error_set(err, ERROR_USAGE, "task %s needs 1 output, the network has %d", task->name,
                         (int)out.d[0]);
    return true;
}
