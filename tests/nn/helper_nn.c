#include "helper_nn.h"

#include "base/text.h"

json_t *golden(const char *name)
{
    const char *source = getenv("FUGUE_TEST_SOURCE");
    if (!source)
        fail_msg("FUGUE_TEST_SOURCE is not set: run the tests through ctest");
    char *path = xasprintf("%s/tests/golden/%s", source, name);
    struct error err = ERROR_INIT;
    json_t *value = json_read_file(path, &err);
    if (!value)
        fail_msg("%s", err.text);
    free(path);
    return value;
}
