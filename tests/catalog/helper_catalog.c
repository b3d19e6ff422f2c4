#include "helper_catalog.h"

#include "base/file.h"
#include "base/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static json_t *parse(const char *json)
{
    struct error err = ERROR_INIT;
    json_t *def = json_read_text(json, strlen(json), "test", &err);
    if (!def)
        fail_msg("%s: %s", err.text, json);
    return def;
}

struct experiment *experiment_of(const char *id, const char *json)
{
    struct error err = ERROR_INIT;
    json_t *def = parse(json);
    struct experiment *e = experiment_from_json(id, def, "ad-hoc", id, &err);
    json_decref(def);
    if (!e)
        fail_msg("%s: %s", err.text, json);
    assert_int_equal(err.class_, ERROR_NONE);
    return e;
}

const char *definition_error(const char *json)
{
    static struct error err;
    error_clear(&err);
    json_t *def = parse(json);
    struct experiment *e = experiment_from_json("X01", def, "experiments.json", "here", &err);
    json_decref(def);
    if (e) {
        experiment_free(e);
        fail_msg("no error: %s", json);
    }
    assert_int_equal(err.class_, ERROR_USAGE);
    return err.text;
}

void load_builtins_only(struct registry *r)
{
    struct error err = ERROR_INIT;
    if (!registry_load(r, "/nonexistent/registry", &err))
        fail_msg("%s", err.text);
}

struct experiment *builtin_copy(const char *id)
{
    struct registry r;
    load_builtins_only(&r);
    const struct experiment *e = registry_find(&r, id);
    assert_non_null(e);
    struct experiment *copy = experiment_copy(e);
    registry_release(&r);
    return copy;
}

char *registry_folder(const char *text)
{
    char *path = xstrdup("/tmp/fugue_catalog_XXXXXX");
    struct error err = ERROR_INIT;
    assert_non_null(mkdtemp(path));
    char *file = path_join(path, "experiments.json");
    if (text && !file_write_atomic(file, text, strlen(text), &err))
        fail_msg("%s", err.text);
    free(file);
    return path;
}

void remove_registry_folder(char *path)
{
    char *file = path_join(path, "experiments.json");
    unlink(file);
    rmdir(path);
    free(file);
    free(path);
}

double kwarg(const json_t *def, const char *name)
{
    const json_t *value = json_object_get(json_object_get(def, "optimizer_kwargs"), name);
    assert_non_null(value);
    return json_number_value(value);
}

void check_contains(const char *text, const char *part, const char *file, int line)
{
    if (strstr(text, part))
        return;
    print_error("'%s' does not hold '%s'\n", text, part);
    _fail(file, line);
}
