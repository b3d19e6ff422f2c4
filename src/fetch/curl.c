#include "fetch/curl.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

#ifdef __APPLE__
#define LIBRARY "libcurl.4.dylib"
#else
#define LIBRARY "libcurl.so.4"
#endif

#define SYMBOL(member, name)                                                                       \
    {                                                                                              \
        offsetof(struct curl_api, member), name                                                    \
    }

static const struct {
    size_t offset;
    const char *name;
} symbols[] = {
    SYMBOL(easy_init, "curl_easy_init"),
    SYMBOL(easy_setopt, "curl_easy_setopt"),
    SYMBOL(easy_getinfo, "curl_easy_getinfo"),
    SYMBOL(easy_strerror, "curl_easy_strerror"),
    SYMBOL(easy_cleanup, "curl_easy_cleanup"),
    SYMBOL(multi_init, "curl_multi_init"),
    SYMBOL(multi_add_handle, "curl_multi_add_handle"),
    SYMBOL(multi_remove_handle, "curl_multi_remove_handle"),
    SYMBOL(multi_perform, "curl_multi_perform"),
    SYMBOL(multi_poll, "curl_multi_poll"),
    SYMBOL(multi_info_read, "curl_multi_info_read"),
    SYMBOL(multi_cleanup, "curl_multi_cleanup"),
};

static bool find_symbols(void *library, struct curl_api *api, struct error *err)
{
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
        /* POSIX lets a function's address travel as an object's. */
        void *address = dlsym(library, symbols[i].name);
        if (!address)
            return error_set(err, ERROR_SYSTEM,
                             "%s has no %s: it is too old; install libcurl 7.66 or newer", LIBRARY,
                             symbols[i].name);
        memcpy((char *)api + symbols[i].offset, &address, sizeof address);
    }
    return true;
}

const struct curl_api *curl_open(struct error *err)
{
    static struct curl_api api;
    static bool opened;
    if (opened)
        return &api;
    void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        const char *why = dlerror();
        error_set(
            err, ERROR_SYSTEM,
            "downloads need libcurl, which cannot be loaded (%s); install it (Debian, Ubuntu: "
            "libcurl4)",
            why ? why : LIBRARY);
        return NULL;
    }
    if (!find_symbols(library, &api, err))
        return NULL;
    CURLcode (*global_init)(long) = NULL;
    void *address = dlsym(library, "curl_global_init");
    memcpy(&global_init, &address, sizeof address);
    const CURLcode code = global_init ? global_init(CURL_GLOBAL_DEFAULT) : CURLE_FAILED_INIT;
    if (code != CURLE_OK) {
        error_set(err, ERROR_SYSTEM, "libcurl does not start: %s", api.easy_strerror(code));
        return NULL;
    }
    opened = true;
    return &api;
}
