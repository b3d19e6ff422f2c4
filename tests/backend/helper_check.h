/* What every operation is held to: the double reference to finite differences, every set of kernels
 * to the double reference.
 */
#ifndef TESTS_BACKEND_HELPER_CHECK_H
#define TESTS_BACKEND_HELPER_CHECK_H

#include "helper_case.h"

#define VECTOR(n)                                                                                  \
    {                                                                                              \
        1,                                                                                         \
        {                                                                                          \
            n, 1, 1                                                                                \
        }                                                                                          \
    }
#define IMAGE(h, w, c)                                                                             \
    {                                                                                              \
        3,                                                                                         \
        {                                                                                          \
            h, w, c                                                                                \
        }                                                                                          \
    }
#define CONV(out, k, s, p, d, g, b)                                                                \
    {                                                                                              \
        .out_features = out, .kernel_h = k, .kernel_w = k, .stride_h = s, .stride_w = s,           \
        .pad_h = p, .pad_w = p, .dilation_h = d, .dilation_w = d, .groups = g, .bias = b           \
    }
#define NOTHING                                                                                    \
    {                                                                                              \
        .bias = 0                                                                                  \
    }
#define POOL(k, s, p) CONV(0, k, s, p, 1, 1, 0)
#define NORM                                                                                       \
    {                                                                                              \
        .eps = 1e-5f, .momentum = 0.1f                                                             \
    }
#define LINEAR(out, b)                                                                             \
    {                                                                                              \
        .out_features = out, .bias = b                                                             \
    }

/* Central differences of a dozen elements of every input and parameter. */
void check_differences(const struct op_case *c);
/* All results of all cases, of the float reference and of every set of kernels this machine can
 * run, to `tolerance` of the largest; rows beyond n_valid stay untouched. */
void check_kernels(const struct op_case *cases, size_t n, double tolerance);

#endif
