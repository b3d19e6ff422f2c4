/* Help texts, printed from the tables.  For this room only. */
#ifndef CLI_HELP_H
#define CLI_HELP_H

#include "cli/command.h"

#include <stdio.h>

/* Columns to wrap at: the terminal's, from 60 to 100; 80 elsewhere. */
int help_width(FILE *out);
/* What fugue is, its commands, exit codes. */
void help_overview(FILE *out);
void help_command(FILE *out, const struct command *c);
/* One or two lines on stderr after a usage error. */
void help_usage(FILE *out);

/* text wrapped at width, every line indented; `column` is where the cursor stands already.  Lines
 * that start with a blank are kept as they are. */
void help_wrap(FILE *out, const char *text, int indent, int column, int width);

#endif
