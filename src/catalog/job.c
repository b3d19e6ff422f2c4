/* Jobs: the list an experiment expands to, and a job as a message. */
#include "base/json.h"
#include "base/text.h"
#include "catalog/experiment.h"
#include "catalog/net.h"

#include <stdlib.h>
#include <string.h>

bool experiment_jobs(const struct experiment *e, uint64_t seed, uint64_t split_seed,
                     struct job **jobs, int32_t *n, struct error *err)
{
    const int64_t count = e->workload->job_count(e);
    if (count < 1 || count > EXPERIMENT_MAX_JOBS)
        return error_set(err, ERROR_USAGE, "%s: 1 to %d jobs can be run at a time", e->id,
                         EXPERIMENT_MAX_JOBS);
    struct job *list = xcalloc((size_t)count, sizeof *list);
    for (int64_t i = 0; i < count; i++) {
        struct job *job = &list[i];
        job->exp_id = xstrdup(e->id);
        job->index = (int32_t)i;
        job->seed = seed + (uint64_t)i;
        job->train_size = e->train_size;
        if (!e->workload->job(e, i, split_seed, job, err)) {
            jobs_free(list, (int32_t)count);
            return error_prefix(err, "%s", e->id);
        }
    }
    *jobs = list;
    *n = (int32_t)count;
    return true;
}

void job_release(struct job *job)
{
    free(job->job_id);
    free(job->exp_id);
    net_release(&job->net);
    memset(job, 0, sizeof *job);
}

void jobs_free(struct job *jobs, int32_t n)
{
    for (int32_t i = 0; i < n; i++)
        job_release(&jobs[i]);
    free(jobs);
}

/* ---- as a message -----------------------------------------------------------------------------
 */

/* JSON integers are signed: seeds beyond 2^63 travel as their two's complement. */
json_t *job_to_json(const struct job *job)
{
    json_t *obj = json_object();
    json_object_set_new(obj, "job_id", json_string(job->job_id));
    json_object_set_new(obj, "exp_id", json_string(job->exp_id));
    json_object_set_new(obj, "index", json_integer(job->index));
    net_to_json(&job->net, "model", obj);
    json_object_set_new(obj, "split",
                        json_pack("{s:s,s:i,s:I,s:i,s:f}", "kind", split_kind_name(job->split.kind),
                                  "split_id", job->split.split_id, "seed",
                                  (json_int_t)job->split.seed, "k", job->split.k, "fraction",
                                  job->split.fraction));
    json_object_set_new(obj, "seed", json_integer((json_int_t)job->seed));
    json_object_set_new(obj, "train_size", json_integer(job->train_size));
    json_object_set_new(obj, "eval_each_epoch", json_boolean(job->eval_each_epoch));
    return obj;
}

static bool int32_from_json(const json_t *obj, const char *key, int32_t *out, struct error *err)
{
    int64_t v;
    if (!json_get_int(obj, key, "job", &v, err))
        return false;
    if (v < 0 || v > INT32_MAX)
        return error_set(err, ERROR_RUN, "job: %s=%lld is out of range", key, (long long)v);
    *out = (int32_t)v;
    return true;
}

static bool split_from_json(const json_t *msg, struct split_spec *out, struct error *err)
{
    const json_t *obj = json_object_get(msg, "split");
    const char *kind;
    int64_t seed;
    if (!json_get_string(obj, "kind", "job: split", &kind, err) ||
        !int32_from_json(obj, "split_id", &out->split_id, err) ||
        !json_get_int(obj, "seed", "job: split", &seed, err) ||
        !int32_from_json(obj, "k", &out->k, err) ||
        !json_get_number(obj, "fraction", "job: split", &out->fraction, err))
        return false;
    out->seed = (uint64_t)seed;
    if (!split_kind_parse(kind, &out->kind))
        return error_set(err, ERROR_RUN, "job: unknown kind of split '%.60s'", kind);
    return true;
}

static bool fill(struct job *job, const json_t *msg, struct error *err)
{
    const char *job_id, *exp_id;
    int64_t seed;
    if (!json_get_string(msg, "job_id", "job", &job_id, err) ||
        !json_get_string(msg, "exp_id", "job", &exp_id, err) ||
        !int32_from_json(msg, "index", &job->index, err) ||
        !split_from_json(msg, &job->split, err) || !json_get_int(msg, "seed", "job", &seed, err) ||
        !json_get_int(msg, "train_size", "job", &job->train_size, err) ||
        !json_get_bool(msg, "eval_each_epoch", "job", &job->eval_each_epoch, err) ||
        !net_from_json(&job->net, msg, "model", NULL, err))
        return false;
    job->job_id = xstrdup(job_id);
    job->exp_id = xstrdup(exp_id);
    job->seed = (uint64_t)seed;
    return true;
}

bool job_from_json(const json_t *msg, struct job *out, struct error *err)
{
    struct job job;
    memset(&job, 0, sizeof job);
    if (!fill(&job, msg, err)) {
        job_release(&job);
        return false;
    }
    *out = job;
    return true;
}
