/* Every command's declaration: cmd_<name>.c defines it, commands.c lists it. */
#ifndef CLI_COMMANDS_H
#define CLI_COMMANDS_H

#include "cli/command.h"

extern const struct command command_run;
extern const struct command command_list;
extern const struct command command_validate;
extern const struct command command_prefetch;
extern const struct command command_env;
extern const struct command command_doctor;

/* One warning on stderr about a FUGUE_ variable that fugue does not know: likely a typing error. */
void warn_unknown_variable(void);

#endif
