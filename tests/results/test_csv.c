#include "base/text.h"
#include "helper_results.h"
#include "results/csv.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct csv parse(const char *text)
{
    struct csv c;
    struct error err = ERROR_INIT;
    if (!csv_parse(&c, xstrdup(text), strlen(text), "x.csv", &err))
        fail_msg("%s", err.text);
    return c;
}

static void check_record(const struct csv *c, size_t i, int n, const char *const *cells)
{
    assert_true(i < c->n);
    assert_int_equal(c->records[i].n, n);
    for (int j = 0; j < n; j++)
        assert_string_equal(csv_cell(c, &c->records[i], j), cells[j]);
}

static void reads_quotes_and_both_line_ends(void **state)
{
    (void)state;
    struct csv c = parse("\xEF\xBB\xBF"
                         "a,b,c\r\n1,\"x, \"\"y\"\"\r\nz\",\n\n\r\n,,\"\"\r\nq\"r,s,t\n");
    assert_int_equal(c.n, 4); /* blank lines are none */
    check_record(&c, 0, 3, (const char *const[]){"a", "b", "c"});
    check_record(&c, 1, 3, (const char *const[]){"1", "x, \"y\"\r\nz", ""});
    check_record(&c, 2, 3, (const char *const[]){"", "", ""});
    check_record(&c, 3, 3, (const char *const[]){"q\"r", "s", "t"});
    assert_string_equal(csv_cell(&c, &c.records[0], 3), "");
    for (size_t i = 0; i < c.n; i++)
        assert_true(c.records[i].ended);
    csv_release(&c);
}

static void knows_a_torn_end(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool ended;
        size_t start;
    } cases[] = {{"a\r\nb\r\n", true, 3},    {"a\r\nb\r", false, 3}, {"a\r\nb", false, 3},
                 {"a\r\n\"b\r\n", false, 3}, {"a\nb,", false, 2},    {"a\n\"b\"\n", true, 2}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct csv c = parse(cases[i].text);
        assert_int_equal(c.n, 2);
        assert_int_equal(c.records[1].ended, cases[i].ended);
        assert_int_equal(c.records[1].start, cases[i].start);
        csv_release(&c);
    }
    struct csv empty = parse("");
    assert_int_equal(empty.n, 0);
    csv_release(&empty);
}

static void refuses_binary(void **state)
{
    (void)state;
    struct csv c;
    struct error err = ERROR_INIT;
    char *data = xcalloc(4, 1);
    data[0] = 'a';
    assert_false(csv_parse(&c, data, 3, "x.csv", &err));
    assert_non_null(strstr(err.text, "'x.csv'"));
    assert_int_equal(err.class_, ERROR_DATA);
}

static void writes_minimal_quotes(void **state)
{
    (void)state;
    static const char *const cells[] = {"vf:1,s:0",   "plain text", NULL,  "say \"hi\"",
                                        "two\nlines", "",           "a\rb"};
    char *line = csv_line(cells, 7);
    assert_string_equal(line,
                        "\"vf:1,s:0\",plain text,,\"say \"\"hi\"\"\",\"two\nlines\",,\"a\rb\"");
    free(line);
}

static void reals_are_shortest_and_read_back(void **state)
{
    (void)state;
    static const struct {
        double v;
        const char *text;
    } cases[] = {{0, "0.0"},
                 {-0.0, "-0.0"},
                 {1, "1.0"},
                 {20640, "20640.0"},
                 {0.1, "0.1"},
                 {0.001, "0.001"},
                 {0.0001, "0.0001"},
                 {0.00001, "1e-05"},
                 {1.5e-7, "1.5e-07"},
                 {1e15, "1000000000000000.0"},
                 {1e16, "1e+16"},
                 {1.25e22, "1.25e+22"},
                 {123456.789, "123456.789"},
                 {1.0 / 3, "0.3333333333333333"},
                 {0.1 + 0.2, "0.30000000000000004"},
                 {-2.5, "-2.5"},
                 {5e-324, "5e-324"},
                 {1.7976931348623157e308, "1.7976931348623157e+308"},
                 {NAN, "nan"},
                 {INFINITY, "inf"},
                 {-INFINITY, "-inf"}};
    char out[CSV_REAL_SIZE];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        csv_real(cases[i].v, out);
        assert_string_equal(out, cases[i].text);
    }
    uint64_t bits = 88172645463325252u;
    for (int i = 0; i < 20000; i++) {
        bits ^= bits << 13;
        bits ^= bits >> 7;
        bits ^= bits << 17;
        double v;
        memcpy(&v, &bits, sizeof v);
        if (!isfinite(v))
            continue;
        csv_real(v, out);
        const double back = strtod(out, NULL);
        assert_memory_equal(&back, &v, sizeof v);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_quotes_and_both_line_ends),
        cmocka_unit_test(knows_a_torn_end),
        cmocka_unit_test(refuses_binary),
        cmocka_unit_test(writes_minimal_quotes),
        cmocka_unit_test(reals_are_shortest_and_read_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
