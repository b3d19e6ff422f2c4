#include "backend/load.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/os.h"
#include "base/text.h"
#include "fugue_interface.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const folders[] = {"", "../", "../lib/fugue/"};

static void warn_once(const char *text)
{
    log_once(LOG_WARNING, "%s", text);
}

static const struct cuda_host host = {.error_set = error_set,
                                      .warn_once = warn_once,
                                      .clock_now_s = clock_now_s,
                                      .schedule_apply = schedule_apply,
                                      .ops = op_infos};

/* The module's path; malloc'd, NULL when there is none. */
static char *find_module(void)
{
    const char *self = os_executable();
    const char *slash = self ? strrchr(self, '/') : NULL;
    for (size_t i = 0; slash && i < sizeof folders / sizeof *folders; i++) {
        char *path =
            xasprintf("%.*s%s" CUDA_MODULE_FILE, (int)(slash - self + 1), self, folders[i]);
        if (access(path, R_OK) == 0)
            return path;
        free(path);
    }
    return NULL;
}

static const struct backend *open_module(const char *path, struct error *err)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        error_set(err, ERROR_SYSTEM, "%s cannot be opened: %s; use --device cpu, or build again",
                  path, dlerror());
        return NULL;
    }
    cuda_module_fn entry;
    void *symbol = dlsym(library, CUDA_MODULE_SYMBOL);
    memcpy(&entry, &symbol, sizeof entry); /* C has no cast from object to function pointer */
    const struct backend *backend = symbol ? entry(FUGUE_INTERFACE, &host) : NULL;
    if (!backend) {
        dlclose(library);
        error_set(err, ERROR_SYSTEM,
                  "%s belongs to another build of fugue; build again, or use --device cpu", path);
    }
    return backend; /* stays open: it is used until the process ends */
}

static pthread_once_t once = PTHREAD_ONCE_INIT;
static const struct backend *cuda;
static struct error why_not = ERROR_INIT;

static void load(void)
{
    char *path = find_module();
    if (path)
        cuda = open_module(path, &why_not);
    else
        error_set(&why_not, ERROR_USAGE,
                  "this build has no CUDA backend (" CUDA_MODULE_FILE
                  " beside the program): build where nvcc is found, or use --device cpu");
    free(path);
}

const struct backend *backend_at(int i)
{
    pthread_once(&once, load);
    return i == 0 ? &backend_cpu : i == 1 ? cuda : NULL;
}

const struct backend *backend_find(const char *name, struct error *err)
{
    if (strcmp(name, backend_cpu.name) == 0)
        return &backend_cpu;
    if (strcmp(name, "cuda") != 0) {
        error_set(err, ERROR_USAGE, "no engine for device '%s' in this build: use cpu or cuda",
                  name);
        return NULL;
    }
    pthread_once(&once, load);
    if (!cuda && err)
        *err = why_not;
    return cuda;
}
