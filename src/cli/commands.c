/* The command table: one line a command. */
#include "cli/commands.h"
#include "campaign/cell.h"
#include "exec/channel.h"

static int run_cell(const struct option_value *values, const struct text_list *words,
                    struct error *err)
{
    (void)values;
    (void)words;
    (void)err;
    return cell_main();
}

static int run_worker(const struct option_value *values, const struct text_list *words,
                      struct error *err)
{
    (void)values;
    (void)words;
    (void)err;
    return worker_main();
}

/* What fugue starts itself as: one cell of a campaign, one worker of mp. */
static const struct command command_cell = {.name = "__cell",
                                            .summary = "A cell; started by 'fugue run'.",
                                            .usage = "fugue __cell",
                                            .hidden = true,
                                            .run = run_cell};
static const struct command command_worker = {.name = "__worker",
                                              .summary = "A worker; started by a cell.",
                                              .usage = "fugue __worker",
                                              .hidden = true,
                                              .run = run_worker};

const struct command *const command_table[] = {
    &command_run,      &command_list,   &command_validate,
    &command_prefetch, &command_env,    &command_doctor,
    &command_cell,     &command_worker, NULL};
