/* What others ask about a job: its training arguments, its score's name, its options as text. */
#include "base/text.h"
#include "exec/executor.h"
#include "nn/task.h"

#include <stdlib.h>
#include <string.h>

struct train_spec job_train_spec(const struct job *job)
{
    return (struct train_spec){
        .job_id = job->job_id,
        .seed = job->seed,
        .split = job->split,
        .epochs = job->net.epochs,
        .optim = job->net.optim,
    };
}

const char *job_score_name(const struct job *job)
{
    const struct task_info *task = task_find(job->net.task);
    return task ? task->score_name : "score";
}

char *job_optimizer_args(const struct job *job)
{
    const struct optim_info *info = optim_find(job->net.optimizer);
    struct text t;
    text_init(&t);
    for (int i = 0; info && i < info->n_args; i++) {
        const struct optim_arg *arg = &info->args[i];
        const char *at = (const char *)&job->net.optim + arg->offset;
        const char *comma = t.len ? "," : "";
        if (arg->type == OPTIM_ARG_BOOL)
            text_addf(&t, "%s%s=%s", comma, arg->name, *(const bool *)at ? "true" : "false");
        else
            text_addf(&t, "%s%s=%.17g", comma, arg->name, *(const double *)(const void *)at);
    }
    char *out = text_take(&t);
    text_release(&t);
    return out;
}
