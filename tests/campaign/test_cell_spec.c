/* A cell's spec as a message, and the identity of a cell. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/json.h"
#include "helper_record.h"

#include <stdlib.h>
#include <string.h>

static void a_spec_comes_back(void **state)
{
    (void)state;
    const char *const definitions[] = {def_ensemble, def_cv, def_hpo, def_multi_model};
    for (size_t i = 0; i < 4; i++)
        for (int saved = 0; saved < 2; saved++) {
            struct cell_spec a, b;
            struct error err = ERROR_INIT;
            char x[17], y[17];
            test_spec_make(&a, definitions[i], "unified_model");
            assert_true(experiment_set(a.experiment, "train_size", "100", &err));
            a.runs_dir = saved ? strdup("/runs") : NULL;
            a.seed = UINT64_MAX;
            a.attempt = 3;
            json_t *msg = cell_spec_to_json(&a);
            assert_non_null(msg);
            char *line = json_line(msg);
            json_t *read = json_read_text(line, strlen(line), "line", &err);
            if (!cell_spec_from_json(read, &b, &err))
                fail_msg("%s", err.text);
            assert_string_equal(b.experiment->id, "T01");
            assert_string_equal(b.experiment->source, "ad-hoc");
            assert_string_equal(b.experiment->overrides, "train_size=100");
            assert_int_equal(b.experiment->train_size, 100);
            assert_string_equal(b.executor, "unified_model");
            assert_true(b.seed == UINT64_MAX && b.split_seed == 7);
            assert_int_equal(b.attempt, 3);
            assert_string_equal(b.options.data_root, "/nonexistent");
            assert_int_equal(b.runs_dir != NULL, saved);
            cell_key(&a, x);
            cell_key(&b, y);
            assert_string_equal(x, y);
            free(line);
            json_decref(read);
            json_decref(msg);
            cell_spec_release(&a);
            cell_spec_release(&b);
        }
}

static void a_broken_spec_is_refused(void **state)
{
    (void)state;
    struct cell_spec a, b;
    struct error err = ERROR_INIT;
    test_spec_make(&a, def_ensemble, "seq");
    json_t *whole = cell_spec_to_json(&a);
    const char *key;
    json_t *value;
    json_object_foreach(whole, key, value)
    {
        if (strcmp(key, "runs_dir") == 0)
            continue;
        json_t *msg = json_deep_copy(whole);
        json_object_del(msg, key);
        if (cell_spec_from_json(msg, &b, &err))
            fail_msg("accepted without '%s'", key);
        assert_true(strlen(err.text) > 10);
        json_decref(msg);
    }
    json_object_set_new(whole, "executor", json_string("dance"));
    assert_false(cell_spec_from_json(whole, &b, &err));
    assert_non_null(strstr(err.text, "'dance'"));
    json_decref(whole);
    cell_spec_release(&a);
}

static void the_key_tells_cells_apart(void **state)
{
    (void)state;
    char keys[10][17];
    struct error err = ERROR_INIT;
    for (int i = 0; i < 10; i++) {
        struct cell_spec s;
        test_spec_make(&s, def_ensemble, i == 1 ? "mp" : "seq");
        s.seed += i == 2;
        s.split_seed += i == 3;
        s.options.max_parallel = i == 4 ? 2 : 0;
        s.options.threads += i == 5;
        s.options.synthetic = i == 6;
        if (i == 7)
            strcpy(s.options.device, "cuda");
        if (i == 8)
            assert_true(experiment_set(s.experiment, "epochs", "9", &err));
        s.attempt = 1 + i; /* no part of the identity, as folders and silence are not */
        s.options.silence_s = i;
        cell_key(&s, keys[i]);
        cell_spec_release(&s);
        for (int k = 0; k < i; k++)
            if ((strcmp(keys[k], keys[i]) == 0) != (k == 0 && i == 9))
                fail_msg("cells %d and %d", k, i);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_spec_comes_back),
        cmocka_unit_test(a_broken_spec_is_refused),
        cmocka_unit_test(the_key_tells_cells_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
