#include "base/module.h"

#include "base/file.h"
#include "base/os.h"
#include "base/text.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

/* Relative to the executable's folder, in the order of search. */
static const char *const folders[] = {".", "..", "../lib/fugue"};

/* malloc'd path of the module, NULL when it is in none of the folders. */
static char *find(const char *name)
{
    const char *program = os_executable();
    if (!program)
        return NULL;
    const char *slash = strrchr(program, '/');
    const int len = slash ? (int)(slash - program) : 0;
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        char *path = xasprintf("%.*s/%s/fugue_%s.so", len, program, folders[i], name);
        if (file_exists(path))
            return path;
        free(path);
    }
    return NULL;
}

const void *module_symbol(const char *name, const char *symbol, const char *need, struct error *err)
{
    char *path = find(name);
    if (!path) {
        error_set(err, ERROR_SYSTEM,
                  "%s (there is no fugue_%s.so beside the program or in "
                  "../lib/fugue)",
                  need, name);
        return NULL;
    }
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    const void *address = handle ? dlsym(handle, symbol) : NULL;
    if (!address) {
        const char *why = dlerror();
        error_set(err, ERROR_SYSTEM, "%s ('%s' cannot be opened: %s)", need, path,
                  why ? why : "unknown reason");
    }
    free(path);
    return address;
}
