#include "catalog/registry.h"

#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "catalog/definition.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define FILE_MAX     ((size_t)16 << 20)
#define ID_MAX_BYTES 64
#define USER_SOURCE  "experiments.json"

bool id_check(const char *id, struct error *err)
{
    const size_t len = strlen(id);
    if (len == 0 || len > ID_MAX_BYTES)
        return error_set(err, ERROR_USAGE, "a name has 1 to %d bytes: choose another",
                         ID_MAX_BYTES);
    if (text_equal_nocase(id, "all"))
        return error_set(err, ERROR_USAGE,
                         "'%s' selects every experiment and cannot be a name: choose another", id);
    if (id[0] == '-')
        return error_set(err, ERROR_USAGE, "name '%s' would read as an option: choose another", id);
    for (const char *p = id; *p; p++)
        if (strchr(",:/\\", *p) || isspace((unsigned char)*p) || iscntrl((unsigned char)*p))
            return error_set(err, ERROR_USAGE,
                             "name '%s' holds a comma, colon, slash, blank or control character: "
                             "choose another",
                             id);
    return true;
}

static int32_t position(const struct registry *r, const char *id)
{
    for (int32_t i = 0; i < r->n; i++)
        if (strcmp(r->items[i]->id, id) == 0)
            return i;
    return -1;
}

/* Takes e: in the place of one with its id, else at the end. */
static void put(struct registry *r, struct experiment *e)
{
    const int32_t i = position(r, e->id);
    if (i >= 0) {
        experiment_free(r->items[i]);
        r->items[i] = e;
        return;
    }
    r->items = xrealloc(r->items, (size_t)(r->n + 1) * sizeof(struct experiment *));
    r->items[r->n++] = e;
}

static bool load_builtins(struct registry *r, struct error *err)
{
    const char *id;
    json_t *def;
    for (int i = 0; (def = builtin_definition(i, &id)) != NULL; i++) {
        struct experiment *e = experiment_from_json(id, def, "built-in", id, err);
        json_decref(def);
        if (!e)
            return false;
        put(r, e);
    }
    return true;
}

/* "FILE:LINE:COL: ID: what" added to problems. */
static void add_problem(struct text_list *problems, const char *path, const char *text,
                        const char *id, const char *member, const char *what)
{
    int line = 1, column = 1;
    if (!member || !json_locate(text, id, member, &line, &column))
        json_locate(text, id, NULL, &line, &column);
    char *problem = xasprintf("%s:%d:%d: %s: %s", path, line, column, id, what);
    text_list_add(problems, problem);
    free(problem);
}

static void merge(struct registry *r, const json_t *defs, const char *path, const char *text,
                  struct text_list *problems)
{
    const char *id;
    json_t *def;
    json_object_foreach((json_t *)defs, id, def)
    {
        struct error e = ERROR_INIT;
        const char *fault;
        struct experiment *x = definition_read(id, def, USER_SOURCE, &fault, &e);
        if (!x) {
            add_problem(problems, path, text, id, fault, e.text);
            continue;
        }
        if (position(r, id) >= 0)
            log_once(LOG_WARNING, "%s: %s replaces the built-in experiment of that name", path, id);
        put(r, x);
    }
}

static bool load_user(struct registry *r, const char *dir, struct text_list *problems,
                      struct error *err)
{
    char *path = path_join(dir, USER_SOURCE), *text = NULL;
    size_t len;
    json_t *defs = NULL;
    bool ok = !file_exists(path);
    if (!ok && file_read(path, FILE_MAX, &text, &len, err))
        defs = json_read_text(text, len, path, err);
    if (defs && !json_is_object(defs))
        error_set(err, ERROR_USAGE,
                  "%s:1:1: an object was expected, as in {\"X01\": {\"type\": \"ensemble\", ...}}",
                  path);
    else if (defs) {
        merge(r, defs, path, text, problems);
        ok = true;
    }
    json_decref(defs);
    free(text);
    free(path);
    return ok;
}

bool registry_load_all(struct registry *r, const char *registry_dir, struct text_list *problems,
                       struct error *err)
{
    *r = (struct registry){NULL, 0};
    if (load_builtins(r, err) && load_user(r, registry_dir, problems, err))
        return true;
    registry_release(r);
    return false;
}

bool registry_load(struct registry *r, const char *registry_dir, struct error *err)
{
    struct text_list problems;
    text_list_init(&problems);
    bool ok = registry_load_all(r, registry_dir, &problems, err);
    if (ok && problems.n > 0) {
        ok = error_set(err, ERROR_USAGE, "%s", problems.items[0]);
        if (problems.n > 1)
            error_set(err, ERROR_USAGE, "%s (and %zu more: see 'fugue validate')",
                      problems.items[0], problems.n - 1);
        registry_release(r);
    }
    text_list_release(&problems);
    return ok;
}

void registry_release(struct registry *r)
{
    for (int32_t i = 0; i < r->n; i++)
        experiment_free(r->items[i]);
    free(r->items);
    *r = (struct registry){NULL, 0};
}

const struct experiment *registry_find(const struct registry *r, const char *id)
{
    const int32_t i = position(r, id);
    return i >= 0 ? r->items[i] : NULL;
}

bool registry_add(struct registry *r, struct experiment *e, struct error *err)
{
    bool ok = id_check(e->id, err);
    /* Any case: a selection may be typed in any case too. */
    for (int32_t i = 0; ok && i < r->n; i++)
        if (text_equal_nocase(r->items[i]->id, e->id))
            ok = error_set(err, ERROR_USAGE,
                           "name '%s' is taken by an experiment of the catalogue (%s): choose "
                           "another with --name",
                           e->id, r->items[i]->id);
    if (ok)
        put(r, e);
    else
        experiment_free(e);
    return ok;
}
