/* needs: src/base/json.h json_read_text */
#include "base/json.h"
#include "base/text.h"
#include "catalog/experiment.h"
#include "catalog/registry.h"
#include "fuzz.h"

#include <string.h>

/* What the registry does with experiments.json: reading, locating, definitions. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct error err = ERROR_INIT;
    char *text = xmalloc(size + 1);
    memcpy(text, data, size);
    text[size] = '\0';
    json_t *all = json_read_text(text, size, "fuzz", &err);
    if (!all)
        fuzz_check_error(err);
    const char *key;
    json_t *def;
    json_object_foreach(all, key, def)
    {
        int line, column;
        fuzz_check(json_locate(text, key, NULL, &line, &column));
        fuzz_check(line > 0 && column > 0);
        struct experiment *e = experiment_from_json(key, def, "fuzz", key, &err);
        if (e) {
            json_t *again = experiment_to_json(e);
            struct experiment *same = experiment_from_json(key, again, "fuzz", key, &err);
            fuzz_check(same);
            char a[17], b[17];
            experiment_hash(e, a);
            experiment_hash(same, b);
            fuzz_check(strcmp(a, b) == 0);
            json_decref(again);
            experiment_free(same);
            experiment_free(e);
        }
    }
    json_decref(all);
    free(text);
    return 0;
}
