/* What others ask about a job: its training arguments, its score's name, its options as text. */
#include "base/text.h"
#include "exec/executor.h"
#include "nn/task.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct train_spec job_train_spec(const struct job *job)
{
    struct train_spec spec = {
        .job_id = job->job_id,
        .seed = job->seed,
        .split = job->split,
        .epochs = job->net.epochs,
        .optim = job->net.optim,
        .clip_grad_norm = job->net.clip_grad_norm,
    };
    schedule_parse(&spec.schedule, job->net.schedule, NULL); /* checked when it was read */
    return spec;
}

const char *job_score_name(const struct job *job)
{
    const struct task_info *task = task_find(job->net.task);
    return task ? task->score_name : "score";
}

double job_perplexity(const struct job *job, double loss)
{
    const struct task_info *task = task_find(job->net.task);
    const bool has = task && task->extra_name && strcmp(task->extra_name, "perplexity") == 0;
    return has ? task->extra(loss) : (double)NAN;
}

/* The shortest text that reads back as the same number. */
static void add_number(struct text *t, double v)
{
    char shown[32];
    int digits = 1;
    do
        snprintf(shown, sizeof shown, "%.*g", digits, v);
    while (digits++ < 17 && strtod(shown, NULL) != v);
    text_add(t, shown);
}

/* The two halves of betas are one option to PyTorch and to the user: "betas=0.9,0.999". */
static bool is_second_beta(const struct optim_info *info, int i)
{
    return i > 0 && text_starts_with(info->args[i].name, "betas.") &&
           text_starts_with(info->args[i - 1].name, "betas.");
}

char *job_optimizer_args(const struct job *job)
{
    const struct optim_info *info = optim_find(job->net.optimizer);
    struct text t;
    text_init(&t);
    for (int i = 0; info && i < info->n_args; i++) {
        const struct optim_arg *arg = &info->args[i];
        const char *at = (const char *)&job->net.optim + arg->offset;
        if (is_second_beta(info, i))
            text_add(&t, ",");
        else
            text_addf(&t, "%s%.*s=", t.len ? " " : "", (int)strcspn(arg->name, "."), arg->name);
        if (arg->type == OPTIM_ARG_BOOL)
            text_add(&t, *(const bool *)at ? "true" : "false");
        else
            add_number(&t, *(const double *)(const void *)at);
    }
    char *out = text_take(&t);
    text_release(&t);
    return out;
}
