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

const struct task_info *const task_table[] = {&classification, &regression, NULL};

const struct task_info *task_find(const char *name)
{
    for (int i = 0; task_table[i]; i++)
        if (strcmp(task_table[i]->name, name) == 0)
            return task_table[i];
    return NULL;
}

bool task_is_planned(const char *name)
{
    return strcmp(name, "language_modeling") == 0;
}
