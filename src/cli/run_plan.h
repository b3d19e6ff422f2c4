/* From the options of `run` to the cells it will run: the first half of the command, without side
 * effects, so that every contradiction is found before anything is trained.
 */
#ifndef CLI_RUN_PLAN_H
#define CLI_RUN_PLAN_H

#include "campaign/cell.h"
#include "cli/command.h"

extern const struct option run_options[];
extern const int run_options_n;

/* The command (cmd_run.c); its declaration stands beside the option table (run_options.c). */
int cmd_run(const struct option_value *values, const struct text_list *words, struct error *err);

/* The value of an option of `run` by name. */
const struct option_value *run_value(const struct option_value *values, const char *name);

/* Where all cells train. */
struct run_device {
    const char *name; /* "cpu" or "cuda": auto is resolved */
    int gpu;
    bool compile;
    char notice[64]; /* what auto chose; "" where the user did */
};

extern const char *const run_device_choices[]; /* of --device and FUGUE_DEVICE; ends with NULL */
/* run_device.c: looks whether there is a GPU, opens nothing. */
bool run_device(const struct option_value *values, struct run_device *out, struct error *err);

struct run_plan {
    struct run_device device;
    struct cell_spec *cells; /* experiment by experiment, executors in the order given */
    int n;
    bool adhoc;
};

/* Checks everything and expands the cells; false with a sentence that says the fix. */
bool run_plan_make(const struct option_value *values, struct run_plan *plan, struct error *err);
void run_plan_release(struct run_plan *plan);

#endif
