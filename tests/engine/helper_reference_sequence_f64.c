/* The reference kernels, built for double. */
#define REFERENCE_DOUBLE
#include "../../src/backend/cpu/reference_sequence.c"
