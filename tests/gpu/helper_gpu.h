/* What the tests of the CUDA backend share. */
#ifndef TESTS_GPU_HELPER_GPU_H
#define TESTS_GPU_HELPER_GPU_H

#include "backend/load.h"
#include "helper_engine.h"
#include "helper_net.h"

/* The CUDA backend, or NULL after the reason why this machine has none was printed: exit with
 * GPU_SKIPPED. */
const struct backend *gpu_backend(void);
#define GPU_SKIPPED 77

#endif
