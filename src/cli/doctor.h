/* What `fugue doctor` prints.  For this room only. */
#ifndef CLI_DOCTOR_H
#define CLI_DOCTOR_H

#include <stdbool.h>
#include <stdio.h>

/* The machine and the installation, check by check, each with what was found and, where that is
 * less than it could be, what to do about it. */
void doctor_print_checks(FILE *out, bool json);

/* Every operation of nn/op.h x every set of kernels of every backend of this build. */
void doctor_print_ops(FILE *out, bool json);

#endif
