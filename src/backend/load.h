/* Backends of this program: the CPU's is part of it, the CUDA one a module of its own
 * (fugue_cuda.so), so that one program runs on machines with and without a GPU.
 *
 * The module is looked for beside the program, one folder up (tests in a build tree) and in
 * ../lib/fugue (installed).  It is refused unless it was built from the same interface.
 */
#ifndef BACKEND_LOAD_H
#define BACKEND_LOAD_H

#include "backend/backend.h"

/* "cpu" or "cuda".  NULL with an error that says what is missing and what to do. */
const struct backend *backend_find(const char *name, struct error *err);
/* Backend i of those that can be had here, whatever the devices; NULL past the last. */
const struct backend *backend_at(int i);

/* ---- between the program and the module ---- */

/* What the module asks of the program, so that messages and errors go the program's ways. */
struct cuda_host {
    bool (*error_set)(struct error *err, enum error_class class_, const char *format, ...)
        __attribute__((format(printf, 3, 4)));
    void (*warn_once)(const char *text);
    double (*clock_now_s)(void);
    struct optim_args (*schedule_apply)(const struct schedule *s, enum optim_kind optim,
                                        const struct optim_args *args, int64_t t, int64_t total);
    const struct op_info *ops;
};

/* The module's one symbol, "fugue_cuda_module": its backend, or NULL where `interface` is not the
 * one it was built with (a hash of the headers both sides include). */
typedef const struct backend *(*cuda_module_fn)(const char *interface,
                                                const struct cuda_host *host);
#define CUDA_MODULE_SYMBOL "fugue_cuda_module"
#define CUDA_MODULE_FILE   "fugue_cuda.so"

#endif
