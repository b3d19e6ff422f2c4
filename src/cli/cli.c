/* From argv to a command and from its outcome to an exit code. */
#include "base/log.h"
#include "cli/help.h"
#include "cli/parse.h"
#include "fugue_version.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define OUTPUT_BUFFER (1 << 16)

/* ---- standard streams -------------------------------------------------------------------------
 */

/* A closed standard descriptor would be given to the next file opened, and prints would end in it.
 * The stand-in is opened the wrong way round, so that using it fails as the closed one would. */
static void guard_descriptors(void)
{
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
            (void)!open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY);
}

static bool reader_is_gone(void)
{
    struct pollfd p = {.fd = STDOUT_FILENO, .events = POLLOUT};
    return poll(&p, 1, 0) == 1 && (p.revents & (POLLERR | POLLHUP)) != 0;
}

/* What was printed really went out (as git checks after every command). */
static bool finish_output(struct error *err)
{
    const bool failed_before = ferror(stdout);
    errno = 0;
    int errnum = fflush(stdout) != 0 ? errno : 0;
    if (!failed_before && errnum == 0) {
        /* Some file systems report a full disk only when the file is closed. */
        const int copy = dup(STDOUT_FILENO);
        if (copy < 0 || close(copy) == 0)
            return true;
        errnum = errno;
    }
    if (errnum == EPIPE || (errnum == 0 && reader_is_gone()))
        return true;
    if (errnum != 0)
        return error_errno(err, errnum, "cannot write to standard output");
    return error_set(err, ERROR_SYSTEM, "cannot write to standard output: part of it is lost");
}

static void print_error(const char *command, const struct error *err)
{
    const bool red = log_use_color(STDERR_FILENO);
    fflush(stdout);
    fprintf(stderr, "fugue%s%s: %serror:%s %s\n", command ? " " : "", command ? command : "",
            red ? "\033[31m" : "", red ? "\033[0m" : "", err->text);
}

/* ---- dispatch ---------------------------------------------------------------------------------
 */

static const struct command *find_command(const char *name)
{
    for (int i = 0; command_table[i]; i++)
        if (strcmp(command_table[i]->name, name) == 0)
            return command_table[i];
    return NULL;
}

static int unknown_command(const char *word)
{
    const char *names[64] = {"help"};
    size_t n = 1;
    for (int i = 0; command_table[i] && n < sizeof names / sizeof *names; i++)
        if (!command_table[i]->hidden)
            names[n++] = command_table[i]->name;
    struct error err = ERROR_INIT;
    if (word[0] == '-')
        error_set(&err, ERROR_USAGE, "unknown option '%.80s': a command comes first", word);
    else
        error_set(&err, ERROR_USAGE, "unknown command '%.80s'%s", word,
                  text_did_you_mean(word, names, n));
    print_error(NULL, &err);
    help_usage(stderr);
    return 2;
}

static int show_help(int argc, char **argv)
{
    if (argc > 1) {
        struct error err = ERROR_INIT;
        error_set(&err, ERROR_USAGE, "'%.80s' is one word too many: give one command", argv[1]);
        print_error("help", &err);
        return 2;
    }
    if (argc == 0) {
        help_overview(stdout);
        return 0;
    }
    const struct command *c = find_command(argv[0]);
    if (!c)
        return unknown_command(argv[0]);
    help_command(stdout, c);
    return 0;
}

static int run_command(const struct command *c, int argc, char **argv)
{
    struct error err = ERROR_INIT;
    struct parsed p;
    if (!parse_words(c, argc, argv, &p, &err)) {
        print_error(c->name, &err);
        fprintf(stderr, "'fugue %s --help' shows its options.\n", c->name);
        return error_exit_code(&err);
    }
    int code = 0;
    if (p.help)
        help_command(stdout, c);
    else
        code = c->run(p.values, &p.words, &err);
    if (err.class_ != ERROR_NONE) {
        print_error(c->name, &err);
        code = error_exit_code(&err);
    }
    parsed_release(c, &p);
    return code;
}

static bool is_any(const char *word, const char *a, const char *b, const char *c)
{
    return strcmp(word, a) == 0 || strcmp(word, b) == 0 || strcmp(word, c) == 0;
}

static int dispatch(int argc, char **argv)
{
    if (argc < 2) {
        help_usage(stderr);
        return 2;
    }
    if (is_any(argv[1], "help", "--help", "-h"))
        return show_help(argc - 2, argv + 2);
    if (strcmp(argv[1], "--version") == 0) {
        printf("fugue " FUGUE_VERSION "\n");
        return 0;
    }
    const struct command *c = find_command(argv[1]);
    return c ? run_command(c, argc - 2, argv + 2) : unknown_command(argv[1]);
}

int cli_main(int argc, char **argv)
{
    static char buffer[OUTPUT_BUFFER];
    guard_descriptors();
    signal(SIGPIPE, SIG_IGN); /* a closed pipe is a failed write, seen in finish_output */
    if (!isatty(STDOUT_FILENO))
        setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
    const int code = dispatch(argc, argv);
    struct error err = ERROR_INIT;
    if (finish_output(&err))
        return code;
    print_error(NULL, &err);
    return code != 0 ? code : error_exit_code(&err);
}
