/* Loadable parts: what is not there, what is no shared object, what lacks the symbol. */
#include "base/module.h"
#include "base/os.h"
#include "base/text.h"
#include "helper_base.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void refused(const char *name, const char *part)
{
    struct error err = ERROR_INIT;
    assert_null(module_symbol(name, "fugue_nothing", "sleep needs Sheep: count them", &err));
    assert_int_equal(err.class_, ERROR_SYSTEM);
    assert_contains(err.text, "sleep needs Sheep: count them (");
    assert_contains(err.text, part);
}

static void test_missing(void **state)
{
    (void)state;
    refused("no_such_part", "there is no fugue_no_such_part.so beside the program");
}

/* A file of that name beside the program; removed again. */
static void test_no_shared_object(void **state)
{
    (void)state;
    const char *program = os_executable();
    assert_non_null(program);
    char *path =
        xasprintf("%.*s/fugue_test_rubbish.so", (int)(strrchr(program, '/') - program), program);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs("this is no shared object", f);
    fclose(f);
    refused("test_rubbish", "fugue_test_rubbish.so' cannot be opened: ");
    unlink(path);
    free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_missing),
                                       cmocka_unit_test(test_no_shared_object)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
