#include "cli/help.h"

#include "base/log.h"
#include "fugue_version.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define LEFT_COLUMN 28
#define MIN_WIDTH   60
#define MAX_WIDTH   100

int help_width(FILE *out)
{
    struct winsize size;
    const int fd = fileno(out);
    if (!isatty(fd) || ioctl(fd, TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
        return 80;
    return size.ws_col < MIN_WIDTH ? MIN_WIDTH : size.ws_col > MAX_WIDTH ? MAX_WIDTH : size.ws_col;
}

static void heading(FILE *out, const char *text)
{
    const bool bold = log_use_color(fileno(out));
    fprintf(out, "%s%s:%s\n", bold ? "\033[1m" : "", text, bold ? "\033[0m" : "");
}

/* Characters, not bytes. */
static int columns(const char *s, size_t n)
{
    int count = 0;
    for (size_t i = 0; i < n; i++)
        count += ((unsigned char)s[i] & 0xC0u) != 0x80u;
    return count;
}

/* One paragraph of words; returns nothing but ends the line. */
static void wrap_line(FILE *out, const char *text, size_t len, int indent, int column, int width)
{
    bool first = true;
    for (size_t i = 0; i < len;) {
        const size_t skipped = strspn(text + i, " ");
        i += skipped;
        if (i >= len)
            break;
        size_t n = 0;
        while (i + n < len && text[i + n] != ' ')
            n++;
        const int word = columns(text + i, n);
        if (!first && column + 1 + word > width) {
            fputc('\n', out);
            column = 0;
            first = true;
        }
        if (column < indent)
            column += fprintf(out, "%*s", indent - column, "");
        column += first ? 0 : fprintf(out, " ");
        fwrite(text + i, 1, n, out);
        column += word;
        first = false;
        i += n;
    }
    fputc('\n', out);
}

void help_wrap(FILE *out, const char *text, int indent, int column, int width)
{
    for (const char *line = text; *line;) {
        const size_t len = strcspn(line, "\n");
        if (line[0] == ' ')
            fprintf(out, "%*s%.*s\n", indent > column ? indent - column : 0, "", (int)len, line);
        else
            wrap_line(out, line, len, indent, column, width);
        column = 0;
        line += len;
        line += *line == '\n';
    }
}

/* ---- options ----------------------------------------------------------------------------------
 */

static void print_option(FILE *out, const struct option *o, int width)
{
    int column = fprintf(out, "  %s%s%s", o->name, o->arg ? " " : "", o->arg ? o->arg : "");
    if (column + 2 > LEFT_COLUMN) {
        fputc('\n', out);
        column = 0;
    }
    struct text help;
    text_init(&help);
    text_add(&help, o->help);
    for (int i = 0; o->choices && o->choices[i]; i++)
        text_addf(&help, "%s%s", i ? ", " : "; one of: ", o->choices[i]);
    if (o->fallback)
        text_addf(&help, " (default: %s)", o->fallback);
    help_wrap(out, help.data, LEFT_COLUMN, column, width);
    text_release(&help);
}

static const char *group_of(const struct option *o)
{
    return o->group ? o->group : "Options";
}

static bool first_of_group(const struct command *c, int i)
{
    for (int k = 0; k < i; k++)
        if (c->options[k].type != OPTION_REFUSED &&
            strcmp(group_of(&c->options[k]), group_of(&c->options[i])) == 0)
            return false;
    return c->options[i].type != OPTION_REFUSED;
}

static void print_options(FILE *out, const struct command *c, int width)
{
    for (int i = 0; i < c->n_options; i++) {
        if (!first_of_group(c, i))
            continue;
        heading(out, group_of(&c->options[i]));
        for (int k = i; k < c->n_options; k++)
            if (c->options[k].type != OPTION_REFUSED &&
                strcmp(group_of(&c->options[k]), group_of(&c->options[i])) == 0)
                print_option(out, &c->options[k], width);
        fputc('\n', out);
    }
}

void help_command(FILE *out, const struct command *c)
{
    const int width = help_width(out);
    help_wrap(out, c->summary, 0, 0, width);
    fputc('\n', out);
    heading(out, "Usage");
    help_wrap(out, c->usage, 2, 0, width);
    fputc('\n', out);
    print_options(out, c, width);
    if (c->details)
        help_wrap(out, c->details, 0, 0, width);
}

/* ---- the whole --------------------------------------------------------------------------------
 */

void help_usage(FILE *out)
{
    fprintf(out, "usage: fugue COMMAND [options]\ncommands:");
    for (int i = 0; command_table[i]; i++)
        if (!command_table[i]->hidden)
            fprintf(out, " %s", command_table[i]->name);
    fprintf(out, "\n'fugue --help' says what they do.\n");
}

void help_overview(FILE *out)
{
    const int width = help_width(out);
    help_wrap(out,
              "fugue " FUGUE_VERSION ": trains many neural networks at once and measures what each "
              "way of sharing the machine costs.\n",
              0, 0, width);
    fputc('\n', out);
    heading(out, "Usage");
    fprintf(out, "  fugue COMMAND [options]\n\n");
    heading(out, "Commands");
    for (int i = 0; command_table[i]; i++)
        if (!command_table[i]->hidden)
            help_wrap(out, command_table[i]->summary, 14,
                      fprintf(out, "  %s", command_table[i]->name), width);
    fputc('\n', out);
    heading(out, "Options");
    fprintf(out, "  --help      this text; 'fugue COMMAND --help' for a command's options\n"
                 "  --version   the version\n\n");
    heading(out, "Examples");
    fprintf(out,
            "  fugue list                                       what can be trained\n"
            "  fugue run --exp D01 --exec seq mp unified_model  train it in three ways\n"
            "  fugue doctor                                     is this machine as it should be\n"
            "  fugue env                                        where files are looked for\n\n");
    heading(out, "Exit codes");
    fprintf(out, "  0  all went well\n"
                 "  1  something failed: a job, a file, a definition\n"
                 "  2  the command line could not be used as written; nothing was done\n");
}
