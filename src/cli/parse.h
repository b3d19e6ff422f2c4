/* Words of the command line into option values.  For this room only. */
#ifndef CLI_PARSE_H
#define CLI_PARSE_H

#include "cli/command.h"

struct parsed {
    struct option_value *values; /* one an option of the command */
    struct text_list words;      /* positional arguments */
    bool help;                   /* --help or -h was among them: nothing else was checked */
};

/* argv: the words after the command's name.  On failure *out needs no release. */
bool parse_words(const struct command *c, int argc, char *const *argv, struct parsed *out,
                 struct error *err);
void parsed_release(const struct command *c, struct parsed *p);

#endif
