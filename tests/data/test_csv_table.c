/* csv:FILE: the records of RFC 4180, and tables as data sets: columns, tasks, test parts,
 * standardising. */
#include "base/text.h"
#include "data/csv_table.h"
#include "data/dataset.h"
#include "helper_data.h"

/* ---- records ---- */

static bool parse(const char *text, char separator, bool header, struct csv_table *t,
                  struct error *err)
{
    return csv_table_parse(text, strlen(text), separator, header, "t.csv", t, err);
}

static void assert_cell(const struct csv_table *t, int64_t row, int32_t column, const char *want)
{
    const struct csv_field f = t->cell[row * t->n_columns + column];
    assert_int_equal(f.len, strlen(want));
    assert_memory_equal(f.text, want, f.len);
}

static void records_are_read(void **state)
{
    (void)state;
    struct csv_table t;
    struct error err = ERROR_INIT;
    assert_true(parse("\xEF\xBB\xBF"
                      "a,\"b, c\"\r\n1,\"say \"\"hi\"\"\"\r\n,\"two\nlines\"\n\n",
                      ',', true, &t, &err));
    assert_int_equal(t.n_rows, 2);
    assert_int_equal(t.n_columns, 2);
    assert_int_equal(t.header[1].len, 4);
    assert_memory_equal(t.header[1].text, "b, c", 4);
    assert_cell(&t, 0, 0, "1");
    assert_cell(&t, 0, 1, "say \"hi\"");
    assert_cell(&t, 1, 0, "");
    assert_cell(&t, 1, 1, "two\nlines");
    assert_int_equal(t.line[0], 2);
    assert_int_equal(t.line[1], 3);
    csv_table_release(&t);

    assert_true(parse("1;2,5\n3;4", ';', false, &t, &err));
    assert_int_equal(t.n_rows, 2);
    assert_null(t.header);
    assert_cell(&t, 0, 1, "2,5");
    assert_cell(&t, 1, 1, "4");
    csv_table_release(&t);
}

static void broken_records_name_the_place(void **state)
{
    (void)state;
    static const struct {
        const char *text, *want;
    } cases[] = {
        {"", "t.csv: no records"},
        {"\n\r\n", "t.csv: no records"},
        {"a,b\n", "t.csv: a header, but no rows"},
        {"a,b\n1,2\n1\n", "t.csv:3: 1 field; the first record has 2"},
        {"a,b\n1,2,3\n", "t.csv:2: more than the 2 fields of the first record"},
        {"a,b\n1,\"2\n", "column 2: a quote is not closed before the end of the file"},
        {"a,b\n1,\"2\"x\n", "t.csv:2: column 2: text behind a closing quote"},
        {"a,b\n1,2\"\n", "t.csv:2: column 2: a quote inside a field"},
        {"a,b\n\n1,2\n", "t.csv:2: 1 field; the first record has 2"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct csv_table t;
        struct error err = ERROR_INIT;
        assert_false(parse(cases[i].text, ',', true, &t, &err));
        assert_contains(err.text, cases[i].want);
        assert_int_equal(err.class_, ERROR_DATA);
        assert_null(t.cell);
    }
    struct csv_table t;
    struct error err = ERROR_INIT;
    assert_false(csv_table_parse("a\n1\0", 4, ',', true, "t.csv", &t, &err));
    assert_contains(err.text, "a NUL byte");
}

/* ---- sets ---- */

/* "csv:FOLDER/NAME?ARGUMENTS" */
static char *spec_of(void **state, const char *name, const char *arguments)
{
    return xasprintf("csv:%s/%s?%s", (const char *)*state, name, arguments);
}

static struct dataset *load(void **state, const char *name, const char *arguments,
                            struct error *err)
{
    char *spec = spec_of(state, name, arguments);
    struct dataset *d = data_load(spec, "/nonexistent", false, err);
    free(spec);
    return d;
}

static void put(void **state, const char *name, const char *text)
{
    write_file(state, name, text, strlen(text));
}

/* The row whose feature 0 is v; -1: none. */
static int64_t row_of(const struct data_part *p, int width, float v)
{
    for (int64_t i = 0; i < p->n; i++)
        if (((const float *)p->x)[i * width] == v)
            return i;
    return -1;
}

static void text_targets_are_classes(void **state)
{
    struct error err = ERROR_INIT;
    put(state, "iris.csv",
        "id,width,kind,height\n1,0.5,versicolor,2\n2,1.5,\"setosa\",3\n3,2.5,virginica,4\n"
        "4,3.5,setosa,5\n5,4.5,versicolor,6\n");
    struct dataset *d =
        load(state, "iris.csv", "target=kind&ignore=id&standardise=0&test_fraction=0.4", &err);
    assert_non_null(d);
    assert_string_equal(d->task, "classification");
    assert_int_equal(d->n_outputs, 3);
    assert_int_equal(shape_count(d->shape), 2);
    assert_int_equal(d->train.n, 3);
    assert_int_equal(d->test.n, 2);
    /* Classes in bytewise order: setosa 0, versicolor 1, virginica 2.  Every row is in one part,
     * with its own features and class. */
    static const float width[] = {0.5f, 1.5f, 2.5f, 3.5f, 4.5f};
    static const int32_t kind[] = {1, 0, 2, 0, 1};
    for (int i = 0; i < 5; i++) {
        const int64_t in_train = row_of(&d->train, 2, width[i]);
        const int64_t in_test = row_of(&d->test, 2, width[i]);
        assert_true((in_train >= 0) != (in_test >= 0));
        const struct data_part *p = in_train >= 0 ? &d->train : &d->test;
        const int64_t at = in_train >= 0 ? in_train : in_test;
        assert_int_equal(p->label[at], kind[i]);
        assert_near(((const float *)p->x)[at * 2 + 1], i + 2, 0);
    }
    data_free(d);
}

static void real_targets_are_values(void **state)
{
    struct error err = ERROR_INIT;
    put(state, "train.tsv", "1\t10\t0.5\n2\t10\t1.5\n3\t10\t4\n");
    put(state, "test.tsv", "2\t13\t7\n");
    char *arguments =
        xasprintf("target=-1&header=0&separator=tab&test=%s/test.tsv", (char *)*state);
    struct dataset *d = load(state, "train.tsv", arguments, &err);
    free(arguments);
    assert_non_null(d);
    assert_string_equal(d->task, "regression");
    assert_int_equal(d->n_outputs, 1);
    assert_int_equal(d->train.n, 3);
    assert_int_equal(d->test.n, 1);
    assert_near(d->train.value[2], 4, 0);
    assert_near(d->test.value[0], 7, 0);
    /* By mean 2 and deviation 1 of the training rows; a constant column is 0 there. */
    const float *x = d->train.x, *y = d->test.x;
    assert_near(x[0], -1, 1e-6);
    assert_near(x[4], 1, 1e-6);
    assert_near(x[1], 0, 0);
    assert_near(y[0], 0, 1e-6);
    assert_near(y[1], 3 / 1e-7, 100);
    data_free(d);
}

static void whole_numbers_are_as_said(void **state)
{
    struct error err = ERROR_INIT;
    put(state, "n.csv", "x,y\n1,5\n2,9\n3,5\n4,9\n5,7\n");
    struct dataset *d = load(state, "n.csv", "target=y&test_fraction=0", &err);
    assert_non_null(d);
    assert_string_equal(d->task, "classification");
    assert_int_equal(d->n_outputs, 3);
    assert_true(d->test_is_train);
    static const int32_t label[] = {0, 2, 0, 2, 1};
    assert_memory_equal(d->train.label, label, sizeof label);
    data_free(d);
    d = load(state, "n.csv", "target=2&test_fraction=0&task=regression", &err);
    assert_non_null(d);
    assert_string_equal(d->task, "regression");
    assert_near(d->train.value[1], 9, 0);
    data_free(d);
}

static void what_cannot_be_used_says_why(void **state)
{
    put(state, "t.csv", "x,y,z\n1,5,a\n2,,b\n3,5,a\n");
    put(state, "same.csv", "x,y\n1,5\n2,5\n3,5\n");
    put(state, "other.csv", "x,y\n1,5\n2,6\n3,5\n");
    put(state, "one.csv", "x,y\n1,5\n");
    struct text many;
    text_init(&many);
    text_add(&many, "x,y\n");
    for (int i = 0; i < 101; i++)
        text_addf(&many, "%d,%d\n", i, i);
    put(state, "many.csv", many.data);
    text_release(&many);
    char *unseen = xasprintf("target=y&test=%s/unseen.csv", (char *)*state);
    put(state, "unseen.csv", "x,y\n1,8\n");
    char *renamed = xasprintf("target=y&test=%s/renamed.csv", (char *)*state);
    put(state, "renamed.csv", "w,y\n1,5\n");
    const struct {
        const char *file, *arguments, *want;
    } cases[] = {
        {"t.csv", "target=kind", "has no column 'kind'; its columns are 1 x, 2 y, 3 z"},
        {"t.csv", "target=4", "has no column '4'"},
        {"t.csv", "target=y&ignore=q", "argument ignore: "},
        {"t.csv", "target=z", "t.csv:3: column 2, y: no value"},
        {"t.csv", "target=z&ignore=x,y", "no column"},
        {"same.csv", "target=y&test_fraction=0", "all targets are the same"},
        {"many.csv", "target=y", "101 different whole numbers; say what they are: task="},
        {"one.csv", "target=y", "1 sample, too few to set any aside"},
        {"other.csv", unseen, "test sample 1 is of class 8, which no training sample has"},
        {"other.csv", renamed, "have different names"},
        {"absent.csv", "target=y", "absent.csv"},
        {"t.csv", "target=y&task=ranking", "ranking"},
        {"t.csv", "targt=y", "targt"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct error err = ERROR_INIT;
        struct dataset *d = load(state, cases[i].file, cases[i].arguments, &err);
        assert_null(d);
        assert_contains(err.text, cases[i].want);
    }
    free(unseen);
    free(renamed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_are_read),
        cmocka_unit_test(broken_records_name_the_place),
        cmocka_unit_test_setup_teardown(text_targets_are_classes, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(real_targets_are_values, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(whole_numbers_are_as_said, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(what_cannot_be_used_says_why, folder_setup,
                                        folder_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
