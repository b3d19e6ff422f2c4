/* What a cell is asked to do, as a message, and its identity. */
#include "base/json.h"
#include "base/text.h"
#include "campaign/cell.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void cell_spec_release(struct cell_spec *s)
{
    experiment_free(s->experiment);
    free(s->data_root);
    free(s->runs_dir);
    memset(s, 0, sizeof *s);
}

/* JSON integers are signed: seeds beyond 2^63 travel as their two's complement. */
json_t *cell_spec_to_json(const struct cell_spec *s)
{
    struct exec_options options = s->options;
    options.data_root = s->data_root;
    return json_pack("{s:s,s:s,s:o,s:s,s:I,s:I,s:o,s:s?,s:i}", "id", s->experiment->id, "source",
                     s->experiment->source, "definition", experiment_to_json(s->experiment),
                     "executor", s->executor, "seed", (json_int_t)s->seed, "split_seed",
                     (json_int_t)s->split_seed, "options", exec_options_to_json(&options),
                     "runs_dir", s->runs_dir, "attempt", s->attempt);
}

static bool read_spec(const json_t *msg, struct cell_spec *out, struct error *err)
{
    const char *where = "cell message", *id, *source, *executor;
    int64_t seed, split_seed, attempt;
    if (!json_get_string(msg, "id", where, &id, err) ||
        !json_get_string(msg, "source", where, &source, err) ||
        !json_get_string(msg, "executor", where, &executor, err) ||
        !json_get_int(msg, "seed", where, &seed, err) ||
        !json_get_int(msg, "split_seed", where, &split_seed, err) ||
        !json_get_int(msg, "attempt", where, &attempt, err) ||
        !exec_options_from_json(json_object_get(msg, "options"), &out->options, &out->data_root,
                                err))
        return false;
    const struct executor_info *info = executor_find(executor);
    if (!info)
        return error_set(err, ERROR_USAGE, "%s: no strategy is called '%s'", where, executor);
    if (attempt < 1 || attempt > INT32_MAX)
        return error_set(err, ERROR_USAGE, "%s: attempt %lld", where, (long long)attempt);
    const json_t *runs = json_object_get(msg, "runs_dir");
    if (runs && !json_is_null(runs) && !json_is_string(runs))
        return error_set(err, ERROR_USAGE, "%s: 'runs_dir' is no text", where);
    out->executor = info->slug;
    out->seed = (uint64_t)seed;
    out->split_seed = (uint64_t)split_seed;
    out->attempt = (int32_t)attempt;
    out->runs_dir = json_is_string(runs) ? xstrdup(json_string_value(runs)) : NULL;
    out->experiment = experiment_from_json(id, json_object_get(msg, "definition"), source, id, err);
    return out->experiment != NULL;
}

bool cell_spec_from_json(const json_t *msg, struct cell_spec *out, struct error *err)
{
    *out = (struct cell_spec){0};
    if (read_spec(msg, out, err))
        return true;
    cell_spec_release(out);
    return false;
}

static uint64_t fnv1a(uint64_t hash, const char *text)
{
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    return hash;
}

void cell_key(const struct cell_spec *s, char out[17])
{
    char hash[17];
    const char *overrides = s->experiment->overrides ? s->experiment->overrides : "";
    experiment_hash(s->experiment, hash);
    /* A line break stands between the parts, which none of them can hold. */
    char *text = xasprintf(
        "%s\n%s\n%s\n%" PRIu64 "\n%" PRIu64 "\n%s\n%s\n%s\nmax_parallel=%d\nthreads=%d%s%s%s%s",
        s->experiment->id, hash, s->executor, s->seed, s->split_seed, s->options.device,
        s->options.synthetic ? "synthetic" : "real", overrides, s->options.max_parallel,
        s->options.threads, s->options.compile ? "\ncompile" : "", s->options.tf32 ? "\ntf32" : "",
        *s->options.pretrained ? "\npretrained=" : "", s->options.pretrained);
    snprintf(out, 17, "%016" PRIx64, fnv1a(UINT64_C(0xcbf29ce484222325), text));
    free(text);
}
