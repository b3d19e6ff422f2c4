/* What is done by the table of data sets: names, descriptions, presence of files. */
#include "base/env.h"
#include "base/file.h"
#include "base/text.h"
#include "data/download.h"
#include "data/request.h"

#include <stdlib.h>
#include <string.h>

/* ---- names ------------------------------------------------------------------------------------
 */

/* The row of a name; of "scheme:path" also where the path starts (else NULL). */
static const struct data_def *find_name(const char *name, const char **path)
{
    const char *colon = strchr(name, ':');
    const size_t len = colon ? (size_t)(colon - name) : 0;
    *path = colon ? colon + 1 : NULL;
    for (size_t i = 0; data_table[i]; i++) {
        const struct data_info *info = data_table[i];
        const bool same = info->path ? colon && strlen(info->name) == len &&
                                           strncasecmp(info->name, name, len) == 0
                                     : text_equal_nocase(info->name, name);
        if (same)
            return (const struct data_def *)info;
    }
    return NULL;
}

const struct data_info *data_find(const char *spec)
{
    struct spec s;
    const char *path;
    if (!spec_parse(&s, spec, NULL))
        return NULL;
    const struct data_def *def = find_name(s.name, &path);
    spec_release(&s);
    return def ? &def->info : NULL;
}

#define MAX_ROWS 32

/* "csv:FILE" for a scheme written without its path, or as a mere file name. */
static const struct data_info *meant_scheme(const char *name)
{
    const char *dot = strrchr(name, '.');
    for (size_t i = 0; data_table[i]; i++)
        if (data_table[i]->path && (text_equal_nocase(data_table[i]->name, name) ||
                                    (dot && text_equal_nocase(data_table[i]->name, dot + 1))))
            return data_table[i];
    return NULL;
}

static void unknown_set(const char *name, struct error *err)
{
    const struct data_info *scheme = strchr(name, ':') ? NULL : meant_scheme(name);
    if (scheme) {
        const bool bare = text_equal_nocase(scheme->name, name);
        error_set(err, ERROR_USAGE, "unknown data set '%s'; for %s write %s:%s", name,
                  scheme->summary, scheme->name, bare ? scheme->path : name);
        return;
    }
    const char *names[MAX_ROWS];
    struct text list, head;
    text_init(&list);
    text_init(&head);
    text_add_n(&head, name, strcspn(name, ":"));
    size_t n = 0;
    for (; data_table[n] && n < MAX_ROWS; n++) {
        const struct data_info *info = data_table[n];
        names[n] = info->name;
        text_addf(&list, "%s%s%s%s", n ? ", " : "", info->name, info->path ? ":" : "",
                  info->path ? info->path : "");
    }
    error_set(err, ERROR_USAGE, "unknown data set '%s'%s; fugue knows %s", name,
              text_did_you_mean(head.data, names, n), list.data);
    text_release(&head);
    text_release(&list);
}

/* ---- arguments --------------------------------------------------------------------------------
 */

static bool usable(const struct data_info *info, bool synthetic, struct error *err)
{
    if (synthetic && !info->synthetic && info->path)
        return error_set(err, ERROR_USAGE,
                         "data set '%s:': --data synthetic stands in for sets of known shape, not "
                         "for files of your own",
                         info->name);
    if (synthetic && !info->synthetic)
        return error_set(err, ERROR_USAGE,
                         "data set '%s': this version of fugue cannot generate synthetic content "
                         "for it yet",
                         info->name);
    if (!synthetic && !info->built)
        return error_set(err, ERROR_USAGE,
                         "data set '%s' is in the catalogue, but this version of fugue cannot read "
                         "its files yet%s",
                         info->name, info->synthetic ? "; use --data synthetic" : "");
    return true;
}

/* Sizes of synthetic content; the later ones are those of sequences of tokens. */
enum size_arg { ARG_N_TRAIN, ARG_N_TEST, ARG_SEQ, ARG_VOCAB, N_SIZE_ARGS };

#define MAX_SAMPLES   100000000
#define MAX_SEQ       4096
#define MIN_VOCAB     16
#define MAX_VOCAB     (1 << 24)
#define SIZE(i, n, a) spec_get_int(spec, names[i], n, a, max[i], &v[i], err)

static bool read_sizes(const struct data_def *def, const struct spec *spec, struct data_info *info,
                       struct error *err)
{
    static const char *const names[N_SIZE_ARGS] = {"n_train", "n_test", "seq", "vocab"};
    static const int64_t max[N_SIZE_ARGS] = {MAX_SAMPLES, MAX_SAMPLES, MAX_SEQ, MAX_VOCAB};
    const int n_sizes = info->vocabulary ? N_SIZE_ARGS : def->test_is_train ? 1 : 2;
    int64_t v[N_SIZE_ARGS];
    if (info->path)
        return true; /* refused as a whole */
    if (!spec_only(spec, names, n_sizes, err) || !SIZE(ARG_N_TRAIN, info->n_train, 1) ||
        !SIZE(ARG_N_TEST, info->n_test, 1) || !SIZE(ARG_SEQ, info->shape.d[0], def->min_tokens) ||
        !SIZE(ARG_VOCAB, info->vocabulary, MIN_VOCAB))
        return false;
    info->n_train = v[ARG_N_TRAIN];
    info->n_test = def->test_is_train ? v[ARG_N_TRAIN] : v[ARG_N_TEST];
    if (info->vocabulary) {
        info->shape.d[0] = (int32_t)v[ARG_SEQ];
        info->vocabulary = (int32_t)v[ARG_VOCAB];
        info->n_outputs = data_predicts_tokens(info) ? info->vocabulary : info->n_outputs;
    }
    return true;
}

bool data_predicts_tokens(const struct data_info *info)
{
    return info->task && strcmp(info->task, "language_modeling") == 0;
}

/* ---- requests ---------------------------------------------------------------------------------
 */

static bool find_row(struct data_request *r, const char *root, struct error *err)
{
    const char *path = NULL;
    r->args.def = find_name(r->args.spec.name, &path);
    if (!r->args.def) {
        unknown_set(r->args.spec.name, err);
        return false;
    }
    r->info = r->args.def->info;
    if (!r->info.path)
        return true;
    if (!path || *path == '\0')
        return error_set(err, ERROR_USAGE, "data set '%s': no path behind the colon; write %s:%s",
                         r->args.text, r->info.name, r->info.path);
    r->args.path = data_path(path, root);
    return true;
}

bool data_request_parse(struct data_request *r, const char *text, const char *root, bool synthetic,
                        struct error *err)
{
    *r = (struct data_request){.args.text = text};
    if (!spec_parse(&r->args.spec, text, err))
        return error_prefix(err, "data set");
    bool ok = find_row(r, root, err);
    if (ok && !(synthetic ? read_sizes(r->args.def, &r->args.spec, &r->info, err)
                          : data_args_check(&r->args, err)))
        ok = error_prefix(err, "data set");
    ok = ok && usable(&r->info, synthetic, err);
    if (!ok)
        data_request_release(r);
    return ok;
}

void data_request_release(struct data_request *r)
{
    free(r->args.path);
    spec_release(&r->args.spec);
    *r = (struct data_request){0};
}

bool data_check(const char *spec, bool synthetic, struct error *err)
{
    struct data_request r;
    if (!data_request_parse(&r, spec, env_value(ENV_DATA_DIR), synthetic, err))
        return false;
    data_request_release(&r);
    return true;
}

bool data_describe(const char *spec, bool synthetic, struct data_info *out, struct error *err)
{
    const char *root = env_value(ENV_DATA_DIR);
    struct data_request r;
    if (!data_request_parse(&r, spec, root, synthetic, err))
        return false;
    const bool ok = synthetic || data_request_describe(&r, root, err);
    if (ok)
        *out = r.info;
    data_request_release(&r);
    return ok;
}

const char *data_task(const char *spec)
{
    const struct data_info *row = data_find(spec);
    struct data_info info;
    if (row && !row->task && data_describe(spec, false, &info, NULL))
        return info.task;
    return row ? row->task : NULL;
}

/* ---- files ------------------------------------------------------------------------------------
 */

/* How many of these files of a layout are there; the first that is not. */
static int count_there(const struct data_layout *l, const char *root, unsigned files,
                       const struct data_file **lack)
{
    int n = 0;
    *lack = NULL;
    for (int i = 0; i < l->n_files; i++) {
        if (!(files >> i & 1))
            continue;
        char *path = path_join(root, l->file[i].path);
        if (file_exists_maybe_gz(path))
            n++;
        else if (!*lack)
            *lack = &l->file[i];
        free(path);
    }
    return n;
}

const struct data_layout *data_layout_find_files(const struct data_def *def, const char *root,
                                                 unsigned files, struct error *err)
{
    const struct data_file *lack = NULL;
    int most = -1;
    for (int i = 0; i < def->n_layouts; i++) {
        const struct data_file *first;
        const int n = count_there(&def->layouts[i], root, files, &first);
        if (!first)
            return &def->layouts[i];
        if (n > most) {
            most = n;
            lack = first;
        }
    }
    if (!lack)
        return NULL;
    const struct download *known = download_find(def->info.name);
    char *path = path_join(root, lack->path);
    error_set(err, ERROR_DATA,
              "data set '%s': '%s' is not there; %s%s%sdownload %s and put it at that path (a .gz "
              "beside that name is read as it is), or use --data synthetic",
              def->info.name, path, known ? "'fugue prefetch " : "", known ? known->name : "",
              known ? "' fetches it, or " : "", lack->source);
    free(path);
    return NULL;
}

const struct data_layout *data_layout_find(const struct data_def *def, const char *root,
                                           struct error *err)
{
    return data_layout_find_files(def, root, ~0u, err);
}

static bool path_present(const struct data_args *args, const char *path, const char *root,
                         struct error *err)
{
    if (file_exists_maybe_gz(path))
        return true;
    return error_set(err, ERROR_DATA, "data set '%s': '%s' is not there%s%s", args->text, path,
                     *path == '/' || *path == '~' ? "" : ", neither here nor under ",
                     *path == '/' || *path == '~' ? "" : root);
}

static bool paths_present(const struct data_args *args, const char *root, struct error *err)
{
    const struct data_info *info = &args->def->info;
    bool ok = path_present(args, args->path, root, err);
    for (int i = 0; ok && i < info->n_args; i++) {
        if (info->args[i].type != DATA_ARG_FILE || !data_arg_given(args, info->args[i].name))
            continue;
        char *path = data_arg_path(args, info->args[i].name, root);
        ok = path_present(args, path, root, err);
        free(path);
    }
    return ok;
}

bool data_request_present(const struct data_request *r, const char *root, struct error *err)
{
    const struct data_def *def = r->args.def;
    if (def->present)
        return def->present(&r->args, root, err);
    if (def->info.path)
        return paths_present(&r->args, root, err);
    return def->n_layouts == 0 || data_layout_find(def, root, err);
}

bool data_present(const char *spec, const char *root, struct error *err)
{
    struct data_request r;
    if (!data_request_parse(&r, spec, root, false, err))
        return false;
    const bool ok = data_request_present(&r, root, err);
    data_request_release(&r);
    return ok;
}
