/* Results, epochs and options as messages between processes. */
#include "base/json.h"
#include "base/text.h"
#include "exec/executor.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const status_names[] = {
    [JOB_OK] = "ok",
    [JOB_FAILED] = "failed",
    [JOB_KILLED] = "killed",
    [JOB_DIVERGED] = "diverged",
    [JOB_INTERRUPTED] = "interrupted",
    [JOB_NOT_STARTED] = "not_started",
};
#define N_STATUS ((int)(sizeof status_names / sizeof *status_names))

/* model_result.val_source points at one of these, in whichever process it is read. */
static const char *const val_sources[] = {"test", "train", "holdout", "fold"};
#define N_VAL_SOURCES ((int)(sizeof val_sources / sizeof *val_sources))

const char *job_status_name(enum job_status s)
{
    const int i = (int)s;
    return i >= 0 && i < N_STATUS ? status_names[i] : "unknown";
}

bool job_status_parse(const char *name, enum job_status *out)
{
    for (int i = 0; name && i < N_STATUS; i++)
        if (strcmp(name, status_names[i]) == 0) {
            *out = (enum job_status)i;
            return true;
        }
    return false;
}

void job_result_init(struct job_result *r)
{
    *r = (struct job_result){
        .status = JOB_NOT_STARTED,
        .model = {.status = MODEL_INTERRUPTED,
                  .train_loss = NAN,
                  .train_score = NAN,
                  .val_loss = NAN,
                  .val_score = NAN},
        .t_start_s = NAN,
        .t_end_s = NAN,
        .peak_rss_mb = NAN,
    };
}

void job_result_release(struct job_result *r)
{
    free(r->history);
    r->history = NULL;
    r->n_history = 0;
}

void job_result_add_epoch(struct job_result *r, const struct epoch_report *e)
{
    /* Room grows in powers of two, so that the count alone says when it is full. */
    if ((r->n_history & (r->n_history - 1)) == 0)
        r->history = xrealloc(r->history,
                              (r->n_history ? 2 * (size_t)r->n_history : 1) * sizeof *r->history);
    r->history[r->n_history++] = *e;
}

/* The fields of a message, declared once for both directions. */
enum field_type { FIELD_INT32, FIELD_INT64, FIELD_REAL };
struct field {
    const char *name;
    enum field_type type;
    size_t offset;
};

#define FIELD(s, member, kind)                                                                     \
    {                                                                                              \
#member, kind, offsetof(struct s, member)                                                  \
    }

static const struct field epoch_fields[] = {
    FIELD(epoch_report, epoch, FIELD_INT32),     FIELD(epoch_report, epochs, FIELD_INT32),
    FIELD(epoch_report, t_start_s, FIELD_REAL),  FIELD(epoch_report, t_end_s, FIELD_REAL),
    FIELD(epoch_report, train_loss, FIELD_REAL), FIELD(epoch_report, lr, FIELD_REAL),
    FIELD(epoch_report, val_loss, FIELD_REAL),   FIELD(epoch_report, score, FIELD_REAL),
};

static const struct field model_fields[] = {
    FIELD(model_result, epochs_run, FIELD_INT32), FIELD(model_result, total_samples, FIELD_INT64),
    FIELD(model_result, train_s, FIELD_REAL),     FIELD(model_result, eval_s, FIELD_REAL),
    FIELD(model_result, train_loss, FIELD_REAL),  FIELD(model_result, train_score, FIELD_REAL),
    FIELD(model_result, val_loss, FIELD_REAL),    FIELD(model_result, val_score, FIELD_REAL),
    FIELD(model_result, n_train, FIELD_INT64),    FIELD(model_result, n_val, FIELD_INT64),
};

static const struct field result_fields[] = {
    FIELD(job_result, t_start_s, FIELD_REAL),   FIELD(job_result, t_end_s, FIELD_REAL),
    FIELD(job_result, peak_rss_mb, FIELD_REAL), FIELD(job_result, threads, FIELD_INT32),
    FIELD(job_result, worker_pid, FIELD_INT32),
};
#define COUNT(a) ((int)(sizeof(a) / sizeof *(a)))

static void put_fields(json_t *msg, const struct field *f, int n, const void *from)
{
    for (int i = 0; i < n; i++) {
        const char *at = (const char *)from + f[i].offset;
        if (f[i].type == FIELD_REAL)
            json_object_set_new(msg, f[i].name, json_number(*(const double *)(const void *)at));
        else if (f[i].type == FIELD_INT64)
            json_object_set_new(msg, f[i].name, json_integer(*(const int64_t *)(const void *)at));
        else
            json_object_set_new(msg, f[i].name, json_integer(*(const int32_t *)(const void *)at));
    }
}

static bool get_fields(const json_t *msg, const struct field *f, int n, const char *where, void *to,
                       struct error *err)
{
    for (int i = 0; i < n; i++) {
        void *at = (char *)to + f[i].offset;
        int64_t integer = 0;
        if (f[i].type == FIELD_REAL) {
            if (!json_get_number(msg, f[i].name, where, at, err))
                return false;
            continue;
        }
        if (!json_get_int(msg, f[i].name, where, &integer, err))
            return false;
        if (f[i].type == FIELD_INT64)
            *(int64_t *)at = integer;
        else if (integer < INT32_MIN || integer > INT32_MAX)
            return error_set(err, ERROR_RUN, "%s: '%s' is out of range", where, f[i].name);
        else
            *(int32_t *)at = (int32_t)integer;
    }
    return true;
}

json_t *epoch_report_to_json(const struct epoch_report *e)
{
    json_t *msg = json_object();
    put_fields(msg, epoch_fields, COUNT(epoch_fields), e);
    return msg;
}

bool epoch_report_from_json(const json_t *msg, struct epoch_report *out, struct error *err)
{
    *out = (struct epoch_report){0};
    return get_fields(msg, epoch_fields, COUNT(epoch_fields), "epoch message", out, err);
}

json_t *job_result_to_json(const struct job_result *r)
{
    char hash[17];
    snprintf(hash, sizeof hash, "%016" PRIx64, r->plan_hash);
    json_t *model = json_object(), *phases = json_object(), *history = json_array();
    put_fields(model, model_fields, COUNT(model_fields), &r->model);
    json_object_set_new(model, "status", json_integer(r->model.status));
    json_object_set_new(model, "val_source",
                        json_string(r->model.val_source ? r->model.val_source : ""));
    for (int p = 0; p < PHASE_COUNT; p++)
        json_object_set_new(phases, phase_name((enum phase)p), json_number(r->phase_s[p]));
    for (int32_t i = 0; i < r->n_history; i++)
        json_array_append_new(history, epoch_report_to_json(&r->history[i]));
    json_t *msg = json_pack("{s:s,s:s,s:o,s:o,s:s,s:s,s:s,s:s}", "status",
                            job_status_name(r->status), "cause", r->cause, "model", model,
                            "phase_s", phases, "plan_hash", hash, "variant", r->variant,
                            "data_source", r->data_source, "data_layout", r->data_layout);
    /* A cause that is no UTF-8 (a worker's last words may be anything) must not lose the result. */
    if (!msg)
        msg = json_pack("{s:s,s:s}", "status", job_status_name(r->status), "cause", "");
    put_fields(msg, result_fields, COUNT(result_fields), r);
    json_object_set_new(msg, "history", history);
    return msg;
}

static bool get_text(const json_t *msg, const char *key, char *out, size_t size, struct error *err)
{
    const char *s;
    if (!json_get_string(msg, key, "result message", &s, err))
        return false;
    snprintf(out, size, "%s", s);
    return true;
}

static bool get_model(const json_t *msg, struct model_result *out, struct error *err)
{
    const json_t *model = json_object_get(msg, "model");
    const char *where = "result message: model", *source;
    int64_t status;
    if (!get_fields(model, model_fields, COUNT(model_fields), where, out, err) ||
        !json_get_int(model, "status", where, &status, err) ||
        !json_get_string(model, "val_source", where, &source, err))
        return false;
    if (status < MODEL_OK || status > MODEL_INTERRUPTED)
        return error_set(err, ERROR_RUN, "%s: unknown status %lld", where, (long long)status);
    out->status = (enum model_status)status;
    out->val_source = NULL;
    for (int i = 0; i < N_VAL_SOURCES; i++)
        if (strcmp(source, val_sources[i]) == 0)
            out->val_source = val_sources[i];
    return true;
}

static bool get_history(const json_t *list, struct job_result *out, struct error *err)
{
    size_t i;
    json_t *item;
    if (!json_is_array(list))
        return error_set(err, ERROR_RUN, "result message: 'history' is no list");
    json_array_foreach(list, i, item)
    {
        struct epoch_report e;
        if (!epoch_report_from_json(item, &e, err))
            return false;
        job_result_add_epoch(out, &e);
    }
    return true;
}

static bool get_result(const json_t *msg, struct job_result *out, struct error *err)
{
    const char *status, *hash;
    if (!json_get_string(msg, "status", "result message", &status, err) ||
        !json_get_string(msg, "plan_hash", "result message", &hash, err))
        return false;
    if (!job_status_parse(status, &out->status))
        return error_set(err, ERROR_RUN, "result message: unknown status '%s'", status);
    char *end;
    out->plan_hash = strtoull(hash, &end, 16);
    if (strlen(hash) != 16 || *end)
        return error_set(err, ERROR_RUN, "result message: 'plan_hash' is no 16 hex digits");
    for (int p = 0; p < PHASE_COUNT; p++)
        if (!json_get_number(json_object_get(msg, "phase_s"), phase_name((enum phase)p),
                             "result message: phase_s", &out->phase_s[p], err))
            return false;
    return get_text(msg, "cause", out->cause, sizeof out->cause, err) &&
           get_text(msg, "variant", out->variant, sizeof out->variant, err) &&
           get_text(msg, "data_source", out->data_source, sizeof out->data_source, err) &&
           get_text(msg, "data_layout", out->data_layout, sizeof out->data_layout, err) &&
           get_fields(msg, result_fields, COUNT(result_fields), "result message", out, err) &&
           get_model(msg, &out->model, err) &&
           get_history(json_object_get(msg, "history"), out, err);
}

bool job_result_from_json(const json_t *msg, struct job_result *out, struct error *err)
{
    job_result_init(out);
    if (get_result(msg, out, err))
        return true;
    job_result_release(out);
    job_result_init(out);
    return false;
}

json_t *exec_options_to_json(const struct exec_options *o)
{
    return json_pack("{s:s,s:i,s:b,s:b,s:i,s:i,s:b,s:s,s:o,s:s,s:s,s:s}", "device", o->device,
                     "gpu", o->gpu, "compile", o->compile, "tf32", o->tf32, "threads", o->threads,
                     "max_parallel", o->max_parallel, "synthetic", o->synthetic, "data_root",
                     o->data_root ? o->data_root : "", "silence_s", json_number(o->silence_s),
                     "save_weights", o->save_weights, "init_weights", o->init_weights, "pretrained",
                     o->pretrained);
}

bool exec_options_from_json(const json_t *msg, struct exec_options *out, char **data_root,
                            struct error *err)
{
    const char *where = "options message", *root;
    int64_t gpu, threads, max_parallel;
    *out = (struct exec_options){0};
    if (!json_get_int(msg, "gpu", where, &gpu, err) ||
        !json_get_bool(msg, "compile", where, &out->compile, err) ||
        !json_get_bool(msg, "tf32", where, &out->tf32, err) ||
        !json_get_int(msg, "threads", where, &threads, err) ||
        !json_get_int(msg, "max_parallel", where, &max_parallel, err) ||
        !json_get_bool(msg, "synthetic", where, &out->synthetic, err) ||
        !json_get_number(msg, "silence_s", where, &out->silence_s, err) ||
        !json_get_string(msg, "data_root", where, &root, err) ||
        !get_text(msg, "device", out->device, sizeof out->device, err) ||
        !get_text(msg, "save_weights", out->save_weights, sizeof out->save_weights, err) ||
        !get_text(msg, "init_weights", out->init_weights, sizeof out->init_weights, err) ||
        !get_text(msg, "pretrained", out->pretrained, sizeof out->pretrained, err))
        return false;
    if (gpu < 0 || gpu > INT32_MAX || threads < 0 || threads > INT32_MAX || max_parallel < 0 ||
        max_parallel > INT32_MAX)
        return error_set(err, ERROR_RUN, "%s: a count is out of range", where);
    out->gpu = (int)gpu;
    out->threads = (int)threads;
    out->max_parallel = (int)max_parallel;
    *data_root = xstrdup(root);
    out->data_root = *data_root;
    return true;
}
