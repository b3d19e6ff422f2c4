/* An experiment written back as its definition, and the hash of that. */
#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "catalog/experiment.h"
#include "catalog/net.h"
#include "nn/json_net.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_NETWORK_BYTES (16u << 20)

/* What decides the results: no id, no labels. */
static json_t *body(const struct experiment *e)
{
    json_t *obj = json_object();
    json_object_set_new(obj, "type", json_string(e->workload->name));
    if (e->n_models == 0)
        net_to_json(&e->net, "model", obj);
    if (e->workload->count_key)
        json_object_set_new(obj, e->workload->count_key, json_integer(e->k));
    if (e->n_axes > 0) {
        json_t *space = json_object();
        for (int32_t i = 0; i < e->n_axes; i++) {
            json_object_set_new(space, e->axes[i].key, json_deep_copy(e->axes[i].values));
            /* The axis says it all: a base value beside it would only mislead.  (The base
             * optimizer stays: optimizer_kwargs are its options.) */
            if (strncmp(e->axes[i].key, "optimizer", strlen("optimizer")) != 0)
                json_object_del(obj, e->axes[i].key);
        }
        json_object_set_new(obj, "search_space", space);
    }
    if (e->n_models > 0) {
        json_t *models = json_array();
        for (int32_t i = 0; i < e->n_models; i++) {
            json_t *entry = json_object();
            net_to_json(&e->models[i], "name", entry);
            json_array_append_new(models, entry);
        }
        json_object_set_new(obj, "models", models);
    }
    if (e->train_size > 0)
        json_object_set_new(obj, "train_size", json_integer(e->train_size));
    return obj;
}

json_t *experiment_to_json(const struct experiment *e)
{
    json_t *obj = body(e);
    if (e->size)
        json_object_set_new(obj, "size", json_string(e->size));
    if (e->notes)
        json_object_set_new(obj, "notes", json_string(e->notes));
    if (e->overrides)
        json_object_set_new(obj, "overrides", json_string(e->overrides));
    return obj;
}

/* FNV-1a, 64 bits (Fowler, Noll, Vo; RFC 9923). */
static uint64_t mix(uint64_t h, const char *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        h = (h ^ (unsigned char)bytes[i]) * 0x100000001B3u;
    return h;
}

/* A network described in a file is part of the definition, whatever the file is called.  One that
 * cannot be read is an error elsewhere. */
static uint64_t mix_model(uint64_t h, const char *model)
{
    char *text;
    size_t len;
    if (!json_net_is(model) || !file_read(model, MAX_NETWORK_BYTES, &text, &len, NULL))
        return h;
    h = mix(h, text, len);
    free(text);
    return h;
}

void experiment_hash(const struct experiment *e, char out[17])
{
    json_t *obj = body(e);
    char *line = json_line(obj);
    uint64_t h = mix(0xCBF29CE484222325u, line, strlen(line));
    if (e->n_models == 0)
        h = mix_model(h, e->net.model);
    for (int32_t i = 0; i < e->n_models; i++)
        h = mix_model(h, e->models[i].model);
    snprintf(out, 17, "%016llx", (unsigned long long)h);
    free(line);
    json_decref(obj);
}
