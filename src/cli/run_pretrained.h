/* --pretrained: which cells start from published weights.  For this room only. */
#ifndef CLI_RUN_PRETRAINED_H
#define CLI_RUN_PRETRAINED_H

#include "campaign/cell.h"
#include "cli/command.h"

/* The option is good for something: some model of the experiments has published weights, and
 * nothing else gives the initial weights. */
bool run_pretrained_useful(const struct option_value *values, struct experiment *const *experiments,
                           int n, struct error *err);

/* Fills the cell's options.pretrained from what lies under its data root.  With `require` what is
 * missing or does not fit is an error; with `auto` a notice says which weights are used or not. */
bool run_pretrained_settle(const struct option_value *values, struct cell_spec *cell,
                           struct error *err);

#endif
