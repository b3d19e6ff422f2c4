/* --search-space KEY=V1,V2 ... */
#include "base/json.h"
#include "catalog/net.h"
#include "catalog/registry.h"

#include <stdlib.h>
#include <string.h>

static bool searchable(const char *key)
{
    static const char *const fixed[] = {"model", "dataset", "optimizer_kwargs", "betas"};
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++)
        if (strcmp(key, fixed[i]) == 0)
            return false;
    return net_key_known(key);
}

/* Types and the ranges that hold for every optimiser; an option's own range is checked where the
 * optimiser is known, when the definition is read. */
static bool value_check(const char *key, const json_t *value, struct error *err)
{
    struct net_def net;
    net_init(&net);
    bool ok = true;
    for (int i = 0; i < OPTIM_COUNT; i++) {
        const struct optim_info *info = &optim_infos[i];
        for (int a = 0; a < info->n_args; a++)
            if (strcmp(info->args[a].name, key) == 0)
                ok = net_change_optimizer(&net, info->name, true, err);
    }
    ok = ok && net_set(&net, key, value, err);
    net_release(&net);
    return ok;
}

static json_t *values_parse(const char *key, const char *text, struct error *err)
{
    struct text_list parts;
    text_list_init(&parts);
    text_split(&parts, text, ',');
    json_t *values = json_array();
    for (size_t i = 0; values && i < parts.n; i++) {
        json_t *value = net_value_from_text(key, parts.items[i], err);
        if (value && value_check(key, value, err)) {
            json_array_append_new(values, value);
            continue;
        }
        json_decref(value);
        json_decref(values);
        values = NULL;
    }
    text_list_release(&parts);
    return values;
}

static bool token_parse(json_t *space, const char *token, struct error *err)
{
    const char *equals = strchr(token, '=');
    if (!equals || equals == token || !equals[1])
        return error_set(err, ERROR_USAGE, "'%.80s' must read KEY=V1,V2, as in lr=0.001,0.01",
                         token);
    char *key = xasprintf("%.*s", (int)(equals - token), token);
    bool ok = true;
    json_t *values = NULL;
    if (strcmp(key, "betas") == 0)
        ok = error_set(err, ERROR_USAGE, "betas is a pair: search over betas.0 or betas.1");
    else if (!searchable(key))
        ok = error_set(err, ERROR_USAGE, "a job has no '%.60s' to search over%s", key,
                       net_key_hint(key));
    else if (json_object_get(space, key))
        ok = error_set(err, ERROR_USAGE,
                       "%s is given twice: put all its values in one, as in %s=V1,V2", key, key);
    else
        ok = (values = values_parse(key, equals + 1, err)) != NULL;
    if (ok)
        json_object_set_new(space, key, values);
    free(key);
    return ok;
}

json_t *search_space_parse(const char *const *tokens, int n, struct error *err)
{
    json_t *space = json_object();
    bool ok = n > 0 || error_set(err, ERROR_USAGE,
                                 "at least one KEY=V1,V2 is needed, as in "
                                 "lr=0.001,0.01");
    for (int i = 0; ok && i < n; i++)
        ok = token_parse(space, tokens[i], err);
    if (ok)
        return space;
    json_decref(space);
    error_prefix(err, "--search-space");
    return NULL;
}
