#include "helper_gpu.h"

const struct backend *gpu_backend(void)
{
    struct error err = ERROR_INIT;
    const struct backend *backend = backend_find("cuda", &err);
    if (backend && backend->check(&(struct backend_options){.gpu = 0}, &err))
        return backend;
    printf("skipped: %s\n", err.text);
    return NULL;
}
