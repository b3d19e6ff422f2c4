/* What a group achieved, by workload. */
#include "base/json.h"
#include "base/text.h"
#include "campaign/record.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int score_mean_sd(const double *values, int n, double *mean, double *sd)
{
    double sum = 0, squares = 0;
    int count = 0;
    for (int i = 0; i < n; i++)
        if (isfinite(values[i])) {
            sum += values[i];
            count++;
        }
    *mean = count > 0 ? sum / count : (double)NAN;
    for (int i = 0; i < n; i++)
        if (isfinite(values[i]))
            squares += (values[i] - *mean) * (values[i] - *mean);
    *sd = count > 1 ? sqrt(squares / (count - 1)) : (double)NAN;
    return count;
}

static bool counts(const struct job_outcome *o)
{
    return o->done && o->status == JOB_OK && isfinite(o->val_score);
}

int score_best(const struct record *r)
{
    int best = -1;
    for (int i = 0; i < r->n_jobs; i++) {
        const struct job_outcome *o = &r->outcomes[i];
        if (!counts(o))
            continue;
        const struct job_outcome *b = best < 0 ? NULL : &r->outcomes[best];
        if (!b || o->val_score > b->val_score ||
            (o->val_score == b->val_score && o->val_loss < b->val_loss))
            best = i;
    }
    return best;
}

static json_t *number_or_null(double v)
{
    return isfinite(v) ? json_real(v) : json_null();
}

static json_t *score_mean(const struct record *r)
{
    double *scores = xcalloc((size_t)r->n_jobs, sizeof *scores), mean, sd;
    for (int i = 0; i < r->n_jobs; i++)
        scores[i] = counts(&r->outcomes[i]) ? r->outcomes[i].val_score : (double)NAN;
    const int n = score_mean_sd(scores, r->n_jobs, &mean, &sd);
    free(scores);
    return json_pack("{s:s,s:i,s:o,s:o}", "score_name", job_score_name(&r->jobs[0]), "n", n, "mean",
                     number_or_null(mean), "sd", number_or_null(sd));
}

/* The values that made trial `index`: the last key varies fastest. */
static json_t *trial_values(const struct experiment *e, int index)
{
    json_t *values = json_object();
    size_t stride = 1;
    for (int a = 0; a < e->n_axes; a++)
        stride *= json_array_size(e->axes[a].values);
    size_t rest = (size_t)index;
    for (int a = 0; a < e->n_axes; a++) {
        stride /= json_array_size(e->axes[a].values);
        json_object_set(values, e->axes[a].key, json_array_get(e->axes[a].values, rest / stride));
        rest %= stride;
    }
    return values;
}

static json_t *score_search(const struct record *r)
{
    json_t *score = score_mean(r);
    const int best = score_best(r);
    if (best < 0)
        return score;
    const struct job_outcome *o = &r->outcomes[best];
    json_object_set_new(score, "best",
                        json_pack("{s:s,s:o,s:o,s:o}", "job_id", r->jobs[best].job_id, "score",
                                  number_or_null(o->val_score), "val_loss",
                                  number_or_null(o->val_loss), "values",
                                  trial_values(r->spec->experiment, best)));
    return score;
}

static json_t *score_each(const struct record *r)
{
    json_t *score = score_mean(r), *models = json_array();
    for (int i = 0; i < r->n_jobs; i++) {
        const struct job *job = &r->jobs[i];
        const double v = counts(&r->outcomes[i]) ? r->outcomes[i].val_score : (double)NAN;
        json_array_append_new(models,
                              json_pack("{s:s,s:s,s:s,s:s,s:o}", "job_id", job->job_id, "model",
                                        job->net.model, "dataset", job->net.dataset, "score_name",
                                        job_score_name(job), "score", number_or_null(v)));
    }
    json_object_set_new(score, "models", models);
    return score;
}

/* How each workload is scored; one that is not here by mean and deviation. */
static const struct {
    const char *workload;
    json_t *(*score)(const struct record *r);
} scores[] = {{"hpo", score_search}, {"multi_model", score_each}};

json_t *score_of(const struct record *r)
{
    for (size_t i = 0; i < sizeof scores / sizeof *scores; i++)
        if (strcmp(scores[i].workload, r->spec->experiment->workload->name) == 0)
            return scores[i].score(r);
    return score_mean(r);
}
