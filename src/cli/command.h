/* The command table and the option tables, from which parsing, --help, "did you mean" (and later
 * completion and manual pages) come.
 *
 * To add a command: one file cli/cmd_<name>.c with its option table and its function, one line in
 * cli/commands.c, a test in tests/cli.
 */
#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

#include "base/error.h"
#include "base/text.h"

#include <stdint.h>

enum option_type {
    OPTION_SWITCH, /* no value */
    OPTION_TEXT,
    OPTION_INT,
    OPTION_NUMBER,
    OPTION_CHOICE, /* one of choices */
    OPTION_LIST,   /* one or more words, up to the next option; may repeat (appends) */
    OPTION_REFUSED /* known word of the reference, or of a later version: help is the reason */
};

struct option {
    const char *name; /* "--max-parallel" */
    enum option_type type;
    const char *arg;      /* "N", "KEY=V ..." */
    const char *fallback; /* shown in help; NULL none */
    const char *help;
    const char *group;          /* heading in --help: "Selection", "Ad-hoc run", "Layout" */
    int64_t min, max;           /* OPTION_INT */
    const char *const *choices; /* NULL-terminated; OPTION_CHOICE and checked OPTION_LIST */
};

/* One parsed option, in the order of the table. */
struct option_value {
    bool given;
    const char *text;
    int64_t integer;
    double number;
    struct text_list list;
};

struct command {
    const char *name, *summary;
    const char *usage;   /* "fugue run --exp ID ... [options]" */
    const char *details; /* paragraphs and examples after the options; may be NULL */
    const struct option *options;
    int n_options;
    bool takes_words; /* positional arguments allowed */
    bool hidden;
    /* values[i] belongs to options[i]; words: positional arguments.  Returns the exit code, or
     * fills err and returns anything: main prints it and uses error_exit_code. */
    int (*run)(const struct option_value *values, const struct text_list *words, struct error *err);
};

/* Terminated by a NULL name. */
extern const struct command *const command_table[];

/* Parses argv[1..] and runs; prints errors; returns the exit code.  A closed pipe ends quietly
 * (exit code 0); any other write error on stdout is a failure (1). */
int cli_main(int argc, char **argv);

/* Index of an option in a table: for readable access, values[option_index(...)]. */
int option_index(const struct option *options, int n, const char *name);

#endif
