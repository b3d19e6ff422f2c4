/* docs/commands.md is what `fugue COMMAND --help` prints.  cli_commands --write writes it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/text.h"
#include "cli/help.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char head[] =
    "# Commands\n\n"
    "What `fugue --help` and `fugue COMMAND --help` print. This page is written from the tables in "
    "`src/cli`\n(`cli_commands --write`, in the build folder's `tests/`), and a test holds it to "
    "them.\n";

static void print_page(FILE *out)
{
    fputs(head, out);
    fputs("\n## fugue\n\n```text\n", out);
    help_overview(out);
    fputs("```\n", out);
    for (int i = 0; command_table[i]; i++) {
        if (command_table[i]->hidden)
            continue;
        fprintf(out, "\n## fugue %s\n\n```text\n", command_table[i]->name);
        help_command(out, command_table[i]);
        fputs("```\n", out);
    }
}

static char *page_path(void)
{
    const char *source = getenv("FUGUE_TEST_SOURCE");
    return source ? path_join(source, "docs/commands.md") : NULL;
}

static void the_page_is_the_help(void **state)
{
    (void)state;
    char *path = page_path(), *wanted = NULL, *found = NULL;
    size_t size, len;
    struct error err = ERROR_INIT;
    if (!path) {
        print_message("FUGUE_TEST_SOURCE is not set: run this through ctest\n");
        skip();
    }
    FILE *f = open_memstream(&wanted, &size);
    print_page(f);
    fclose(f);
    if (!file_read(path, 1 << 20, &found, &len, &err))
        fail_msg("%s", err.text);
    if (strcmp(found, wanted) != 0)
        fail_msg("docs/commands.md is not what --help prints: run cli_commands --write");
    free(path);
    free(found);
    free(wanted);
}

/* Every command says what it does, how it is used, and what each of its options means. */
static void everything_is_described(void **state)
{
    (void)state;
    for (int i = 0; command_table[i]; i++) {
        const struct command *c = command_table[i];
        if (c->hidden)
            continue;
        assert_true(strlen(c->summary) > 20);
        assert_non_null(strstr(c->usage, c->name));
        for (int k = 0; k < c->n_options; k++) {
            assert_true(strlen(c->options[k].help) > 5);
            assert_memory_equal(c->options[k].name, "--", 2);
        }
    }
}

static int write_page(void)
{
    char *path = page_path();
    FILE *f = path ? fopen(path, "w") : NULL;
    if (f)
        print_page(f);
    const bool ok = f && fclose(f) == 0;
    if (!ok)
        fprintf(stderr, "set FUGUE_TEST_SOURCE to the repository\n");
    free(path);
    return ok ? 0 : 1;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_page_is_the_help),
        cmocka_unit_test(everything_is_described),
    };
    if (argc == 2 && strcmp(argv[1], "--write") == 0)
        return write_page();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
