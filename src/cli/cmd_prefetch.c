/* fugue prefetch: brings data sets and published weights to the data root, before any run. */
#include "base/clock.h"
#include "base/env.h"
#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "base/os.h"
#include "catalog/registry.h"
#include "cli/commands.h"
#include "cli/print.h"
#include "data/dataset.h"
#include "fetch/fetch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OPT_EXP, OPT_ALL, OPT_ROOT, OPT_LIST, OPT_CLEAN, OPT_QUIET, OPT_JSON };

static const struct option options[] = {
    [OPT_EXP] = {.name = "--exp",
                 .type = OPTION_LIST,
                 .arg = "ID ...",
                 .help =
                     "the data sets of these experiments: ids (D01), numbers (5 is E05), ranges "
                     "(E01:E05, 3:, :7), all"},
    [OPT_ALL] = {.name = "--all",
                 .type = OPTION_SWITCH,
                 .help = "every data set there is, and the published weights"},
    [OPT_ROOT] = {.name = "--root",
                  .type = OPTION_TEXT,
                  .arg = "DIR",
                  .help = "where to put them; FUGUE_DATA_DIR when not given"},
    [OPT_LIST] = {.name = "--list",
                  .type = OPTION_SWITCH,
                  .help = "download nothing: what there is, its size, and whether it is present"},
    [OPT_CLEAN] = {.name = "--clean",
                   .type = OPTION_SWITCH,
                   .help = "remove what interrupted downloads left"},
    [OPT_QUIET] = {.name = "--quiet", .type = OPTION_SWITCH, .help = "no progress"},
    [OPT_JSON] = {.name = "--json",
                  .type = OPTION_SWITCH,
                  .help = "as a JSON array of objects, one a download"},
};

/* ---- which downloads ---- */

#define MAX_CHOSEN 64
struct choice {
    const struct download *items[MAX_CHOSEN];
    int n;
};

static void choose(struct choice *c, const struct download *d)
{
    for (int i = 0; i < c->n; i++)
        if (c->items[i] == d)
            return;
    if (c->n < MAX_CHOSEN)
        c->items[c->n++] = d;
}

static void choose_all(struct choice *c)
{
    for (const struct download *const *d = download_table(); *d; d++)
        choose(c, *d);
}

static bool choose_by_name(struct choice *c, const char *name, struct error *err)
{
    const char *names[MAX_CHOSEN];
    struct text list;
    size_t n = 0;
    const struct download *found = download_find(name);
    if (found) {
        choose(c, found);
        return true;
    }
    if (data_find(name))
        return error_set(
            err, ERROR_USAGE,
            "there is nothing to fetch for data set '%s': it comes with fugue, or from "
            "your own files",
            name);
    text_init(&list);
    for (const struct download *const *d = download_table(); *d && n < MAX_CHOSEN; d++, n++) {
        names[n] = (*d)->name;
        text_addf(&list, "%s%s", n ? ", " : "", names[n]);
    }
    error_set(err, ERROR_USAGE, "'%.80s' cannot be fetched%s; these can: %s", name,
              text_did_you_mean(name, names, n), list.data);
    text_release(&list);
    return false;
}

static void choose_of_net(struct choice *c, const struct net_def *net)
{
    const struct download *d = download_find(net->dataset);
    if (d)
        choose(c, d);
}

static bool choose_of_experiments(struct choice *c, const struct text_list *tokens,
                                  struct error *err)
{
    struct registry registry;
    const struct experiment **list;
    int32_t n;
    if (!registry_load(&registry, env_value(ENV_REGISTRY_DIR), err))
        return false;
    const bool ok = registry_select(&registry, list_items(tokens), (int)tokens->n, &list, &n, err);
    for (int32_t i = 0; ok && i < n; i++) {
        if (list[i]->n_models == 0)
            choose_of_net(c, &list[i]->net);
        for (int32_t m = 0; m < list[i]->n_models; m++)
            choose_of_net(c, &list[i]->models[m]);
    }
    if (ok)
        free(list);
    registry_release(&registry);
    return ok;
}

/* Without a selection: a fetch takes what the experiments need, the others take all there is. */
static bool choose_all_asked(struct choice *c, const struct option_value *values,
                             const struct text_list *words, struct error *err)
{
    const bool selected = words->n > 0 || values[OPT_EXP].given || values[OPT_ALL].given;
    const bool fetch = !values[OPT_LIST].given && !values[OPT_CLEAN].given;
    c->n = 0;
    for (size_t i = 0; i < words->n; i++)
        if (!choose_by_name(c, words->items[i], err))
            return false;
    if ((values[OPT_EXP].given || (!selected && fetch)) &&
        !choose_of_experiments(c, &values[OPT_EXP].list, err))
        return false;
    if (values[OPT_ALL].given || (!selected && !fetch))
        choose_all(c);
    return true;
}

/* ---- what became of each ---- */

struct outcome {
    const struct download *d;
    enum fetch_state state;
    int64_t have, bytes;
    double seconds;
    char *content; /* "60000 train, 10000 test samples ...": as it was read; NULL: not read */
    struct error err;
};

static const char *state_word(enum fetch_state s)
{
    static const char *const words[] = {
        [FETCH_PRESENT] = "present", [FETCH_PARTIAL] = "partial", [FETCH_MISSING] = "missing"};
    return words[s];
}

/* A set in another layout than the download's (torchvision's pickles, gzip'd members) is there,
 * too. */
static enum fetch_state state_of(const struct download *d, const char *root, int64_t *have)
{
    const enum fetch_state s = fetch_state(d, root, have);
    return s != FETCH_PRESENT && !d->weights && data_find(d->name) &&
                   data_present(d->name, root, NULL)
               ? FETCH_PRESENT
               : s;
}

static json_t *outcome_json(const struct outcome *o)
{
    return json_pack("{s:s,s:s,s:s,s:s?,s:s,s:I,s:I,s:I,s:o,s:s?,s:s?}", "name", o->d->name, "kind",
                     o->d->weights ? "weights" : "data", "summary", o->d->summary, "licence",
                     o->d->licence, "state", state_word(o->state), "bytes",
                     (json_int_t)download_size(o->d), "have_bytes", (json_int_t)o->have,
                     "fetched_bytes", (json_int_t)o->bytes, "seconds", json_number(o->seconds),
                     "content", o->content, "error",
                     o->err.class_ == ERROR_NONE ? NULL : o->err.text);
}

static void print_outcomes_json(const struct outcome *list, int n)
{
    json_t *all = json_array();
    for (int i = 0; i < n; i++)
        json_array_append_new(all, outcome_json(&list[i]));
    print_json(stdout, all);
    json_decref(all);
}

/* ---- --list and --clean ---- */

static void add_list_row(struct table *t, const struct outcome *o)
{
    char *size = download_size(o->d) > 0 ? xasprintf("%.1f MB", (double)download_size(o->d) / 1e6)
                                         : xstrdup("unknown");
    char *state = o->state == FETCH_PARTIAL ? xasprintf("partial, %.1f MB", (double)o->have / 1e6)
                                            : xstrdup(state_word(o->state));
    print_table_add(t, o->d->name);
    print_table_add(t, size);
    print_table_add(t, state);
    print_table_add(t, o->d->licence ? o->d->licence : "see source");
    print_table_add(t, o->d->summary);
    free(size);
    free(state);
}

static void list(const struct choice *c, const char *root, bool json)
{
    struct outcome found[MAX_CHOSEN];
    for (int i = 0; i < c->n; i++) {
        found[i] = (struct outcome){.d = c->items[i], .err = ERROR_INIT};
        found[i].state = state_of(c->items[i], root, &found[i].have);
    }
    if (json) {
        print_outcomes_json(found, c->n);
        return;
    }
    static const char *const headings[] = {"NAME", ">SIZE", "STATE", "LICENCE", "CONTENT"};
    struct table t;
    print_table_init(&t, 5);
    for (int i = 0; i < 5; i++)
        print_table_add(&t, headings[i]);
    for (int i = 0; i < c->n; i++)
        add_list_row(&t, &found[i]);
    print_table_show(&t, stdout);
    print_table_release(&t);
    printf("\nFiles are looked for in %s\n", root);
}

static bool clean(const struct choice *c, const char *root, bool json, struct error *err)
{
    int64_t total = 0, bytes;
    for (int i = 0; i < c->n; i++) {
        if (!fetch_clean(c->items[i], root, &bytes, err))
            return false;
        total += bytes;
    }
    if (json)
        printf("[{\"removed_bytes\": %lld}]\n", (long long)total);
    else
        printf("%.1f MB of interrupted downloads removed from %s\n", (double)total / 1e6, root);
    return true;
}

/* ---- fetching ---- */

static void log_above_bars(void *ctx, enum log_level level, const char *text)
{
    char *line = xasprintf("fugue: %s%s", level == LOG_WARNING ? "warning: " : "", text);
    progress_line(ctx, line);
    free(line);
}

/* "60000 train, 10000 test samples of 28x28x1, 10 outputs": by really reading it, so that caches
 * are made and a broken file is found now. */
static bool read_content(struct outcome *o, const char *root)
{
    if (o->d->weights || !data_find(o->d->name) || !data_check(o->d->name, false, NULL))
        return true;
    struct dataset *d = data_load(o->d->name, root, false, &o->err);
    if (!d)
        return false;
    struct text t;
    text_init(&t);
    text_addf(&t, "%lld train, %lld test samples of ", (long long)d->train.n, (long long)d->test.n);
    for (int i = 0; i < d->shape.rank; i++)
        text_addf(&t, "%s%d", i ? "x" : "", (int)d->shape.d[i]);
    text_addf(&t, ", %d output%s", (int)d->n_outputs, d->n_outputs == 1 ? "" : "s");
    o->content = text_take(&t);
    text_release(&t);
    data_free(d);
    return true;
}

static void say_outcome(const struct outcome *o)
{
    if (o->err.class_ != ERROR_NONE)
        return;
    printf("%s: ", o->d->name);
    if (o->bytes > 0)
        printf("%.1f MB fetched in %.1f s", (double)o->bytes / 1e6, o->seconds);
    else
        printf("present");
    printf("%s%s\n", o->content ? "; " : "", o->content ? o->content : "");
    fflush(stdout);
}

static void say_error(const struct outcome *o, struct progress *progress)
{
    if (o->err.class_ == ERROR_NONE || os_stop_requested())
        return;
    char *line = xasprintf("fugue prefetch: error: %s: %s", o->d->name, o->err.text);
    progress_line(progress, line);
    free(line);
}

static bool fetch_one(struct outcome *o, const struct fetch_options *fetch)
{
    const double start = clock_now_s();
    int64_t have;
    bool ok = true;
    if (state_of(o->d, fetch->root, &have) != FETCH_PRESENT)
        ok = fetch_run(o->d, fetch, &o->bytes, &o->err);
    o->seconds = clock_now_s() - start;
    if (fetch->progress)
        progress_clear(fetch->progress);
    ok = ok && read_content(o, fetch->root);
    o->state = state_of(o->d, fetch->root, &o->have);
    return ok;
}

static bool fetch_all(const struct choice *c, const struct fetch_options *fetch, bool json)
{
    struct outcome *list = xcalloc((size_t)c->n + 1, sizeof *list);
    bool ok = true;
    int n = 0;
    for (; n < c->n && !os_stop_requested(); n++) {
        list[n] = (struct outcome){.d = c->items[n], .err = ERROR_INIT};
        ok = fetch_one(&list[n], fetch) && ok;
        say_error(&list[n], fetch->progress);
        if (!json)
            say_outcome(&list[n]);
    }
    if (json)
        print_outcomes_json(list, n);
    for (int i = 0; i < n; i++)
        free(list[i].content);
    free(list);
    return ok && n == c->n;
}

static int fetch(const struct choice *c, const struct option_value *values, const char *root)
{
    struct progress *progress =
        progress_new(stderr, values[OPT_QUIET].given ? PROGRESS_QUIET : PROGRESS_AUTO, NULL);
    const struct fetch_options o = {
        .root = root, .mirrors = env_value(ENV_MIRROR), .progress = progress};
    os_catch_signals();
    log_set_sink(log_above_bars, progress);
    if (values[OPT_QUIET].given)
        log_set_level(LOG_WARNING);
    const bool ok = fetch_all(c, &o, values[OPT_JSON].given);
    log_set_sink(NULL, NULL);
    progress_free(progress);
    if (os_stop_requested()) {
        log_msg(LOG_WARNING,
                "interrupted: what was fetched is kept, and the same command goes on from there");
        fflush(stdout);
        os_die_by_signal(os_stop_requested());
    }
    return ok ? 0 : 1;
}

static int run(const struct option_value *values, const struct text_list *words, struct error *err)
{
    struct choice chosen;
    const char *root = values[OPT_ROOT].given ? values[OPT_ROOT].text : env_value(ENV_DATA_DIR);
    const bool json = values[OPT_JSON].given;
    warn_unknown_variable();
    if (values[OPT_LIST].given && values[OPT_CLEAN].given) {
        error_set(err, ERROR_USAGE, "--list and --clean are two things: give one");
        return 2;
    }
    if (!*root) {
        error_set(err, ERROR_USAGE, "--root: the folder's name is empty");
        return 2;
    }
    if (!choose_all_asked(&chosen, values, words, err))
        return error_exit_code(err);
    if (values[OPT_LIST].given) {
        list(&chosen, root, json);
        return 0;
    }
    if (values[OPT_CLEAN].given)
        return clean(&chosen, root, json, err) ? 0 : 1;
    return fetch(&chosen, values, root);
}

const struct command command_prefetch = {
    .name = "prefetch",
    .summary = "Download data sets and published weights, checked, to where runs look for them.",
    .usage = "fugue prefetch [NAME ...] [--exp ID ...] [--all] [--root DIR]\n"
             "fugue prefetch --list [--json]\n"
             "fugue prefetch --clean",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .takes_words = true,
    .details =
        "Names are those of 'fugue prefetch --list'. Without any, the data sets of all experiments "
        "are fetched; weights only by name or with --all. What is present is left alone. Every "
        "file is checked (size, MD5 or SHA-256) before it is put into place; archives are unpacked "
        "beside and moved when whole. An interrupted download goes on where it stopped. Each data "
        "set is then read once, so that a run finds it ready.\n\n"
        "FUGUE_OFFLINE forbids downloads. FUGUE_MIRROR names your own mirror, from which a file is "
        "asked as BASE/NAME/FILE; several bases, separated by blanks, are tried in turn. Proxies "
        "are taken from https_proxy and http_proxy.",
    .run = run,
};
