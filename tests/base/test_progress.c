#include "base/progress.h"
#include "base/text.h"
#include "helper_base.h"

#include <math.h>

/* Time stands still until a test moves it. */
static double now_s;

static double fake_clock(void)
{
    return now_s;
}

static struct {
    char *data;
    size_t len, seen;
    FILE *file;
    struct progress *progress;
} screen;

static void start(enum progress_mode mode)
{
    now_s = 1000;
    screen.seen = 0;
    setenv("COLUMNS", "100", 1);
    setenv("LINES", "24", 1);
    screen.file = open_memstream(&screen.data, &screen.len);
    assert_non_null(screen.file);
    screen.progress = progress_new(screen.file, mode, fake_clock);
}

/* What was written since the last expect(). */
static const char *written(void)
{
    fflush(screen.file);
    return screen.data + screen.seen;
}

static void expect(const char *want)
{
    assert_string_equal(written(), want);
    screen.seen = screen.len;
}

static void stop(void)
{
    progress_free(screen.progress);
    fclose(screen.file);
    free(screen.data);
}

static void update(const char *name, double done, double total, double rate, double loss)
{
    const struct progress_state s = {done, total, rate, loss, false, NULL, false};
    progress_update(screen.progress, name, &s);
}

static void finish(const char *name, double done, double total, const char *note)
{
    const struct progress_state s = {done, total, 0, NAN, true, note, false};
    progress_update(screen.progress, name, &s);
}

static void test_duration(void **state)
{
    (void)state;
    static const struct {
        double seconds;
        const char *text;
    } cases[] = {
        {0, "0 s"},
        {0.4, "0 s"},
        {11.5, "12 s"},
        {59.4, "59 s"},
        {59.6, "1 min 00 s"},
        {200, "3 min 20 s"},
        {3599.7, "1 h 00 min"},
        {3900, "1 h 05 min"},
        {90000, "25 h 00 min"},
        {-1, "unknown"},
        {NAN, "unknown"},
        {INFINITY, "unknown"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char out[48];
        progress_duration(out, sizeof out, cases[i].seconds);
        assert_string_equal(out, cases[i].text);
    }
}

static void test_one_bar(void **state)
{
    (void)state;
    start(PROGRESS_BARS);
    update("name", 0, 10, 0, NAN);
    expect("name  [----------]  0/10 epochs\033[K\n");
    now_s += 6.4;
    update("name", 3.2, 10, 12345, 0.12341);
    expect("\033[1A\rname  [###-------]  3.2/10 epochs  12.3 k samples/s  loss 0.1234  ETA 14 s"
           "\033[K\n");
    now_s += 13.6;
    finish("name", 10, 10, NULL);
    expect("\033[1A\rname  [##########]  10/10 epochs  done in 20 s\033[K\n");
    progress_clear(screen.progress);
    expect("\033[1A\r\033[J");
    stop();
}

static void download(double done, double rate, bool finished)
{
    const struct progress_state s = {done, 170052171, rate, NAN, finished, NULL, true};
    progress_update(screen.progress, "set", &s);
}

static void test_bytes(void **state)
{
    (void)state;
    start(PROGRESS_BARS);
    download(0, 0, false);
    expect("set  [----------]  0/170.1 MB\033[K\n");
    now_s += 10;
    download(34e6, 3.4e6, false);
    expect("\033[1A\rset  [#---------]  34/170.1 MB  3.40 MB/s  ETA 40 s\033[K\n");
    now_s += 40;
    download(170052171, 950, true);
    expect("\033[1A\rset  [##########]  170.1/170.1 MB  950 B/s  done in 50 s\033[K\n");
    stop();
}

static void test_rates(void **state)
{
    (void)state;
    static const struct {
        double rate;
        const char *text;
    } cases[] = {
        {0.5, "0.50 samples/s"},    {9.994, "9.99 samples/s"},   {9.996, "10.0 samples/s"},
        {850, "850 samples/s"},     {999.4, "999 samples/s"},    {999.6, "1.00 k samples/s"},
        {99960, "100 k samples/s"}, {1.2e6, "1.20 M samples/s"}, {3.4e9, "3.40 G samples/s"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        start(PROGRESS_BARS);
        update("m", 1, 0, cases[i].rate, INFINITY);
        char *want = xasprintf("m  [----------]  1 epochs  %s  loss inf\033[K\n", cases[i].text);
        expect(want);
        free(want);
        stop();
    }
}

static void test_redrawn_ten_times_a_second_at_most(void **state)
{
    (void)state;
    start(PROGRESS_BARS);
    update("a", 0, 4, 0, NAN);
    expect("a  [----------]  0/4 epochs\033[K\n");
    now_s += 0.0625;
    update("a", 1, 4, 0, NAN);
    expect("");
    update("bcd", 2, 4, 0, NAN);
    expect("");
    now_s += 0.0625;
    update("a", 2, 4, 0, NAN); /* all that came meanwhile is shown; names are padded */
    expect("\033[1A\r"
           "a    [#####-----]  2/4 epochs  ETA 0 s\033[K\n"
           "bcd  [#####-----]  2/4 epochs\033[K\n");
    int draws = 0;
    for (int i = 0; i < 1024; i++) {
        now_s += 1.0 / 1024;
        update("a", 3, 4, 0, NAN);
        draws += written()[0] != '\0';
        if (written()[0])
            expect("\033[2A\r"
                   "a    [#######---]  3/4 epochs  ETA 0 s\033[K\n"
                   "bcd  [#####-----]  2/4 epochs\033[K\n");
    }
    assert_in_range(draws, 9, 10);
    stop();
}

static void test_lines_between_bars(void **state)
{
    (void)state;
    start(PROGRESS_BARS);
    progress_line(screen.progress, "fugue: before");
    expect("fugue: before\n");
    update("a", 1, 2, 0, NAN);
    expect("a  [#####-----]  1/2 epochs\033[K\n");
    progress_line(screen.progress, "fugue: warning: hot");
    expect("\033[1A\r\033[Jfugue: warning: hot\na  [#####-----]  1/2 epochs\033[K\n");
    progress_clear(screen.progress);
    expect("\033[1A\r\033[J");
    progress_line(screen.progress, "table");
    expect("table\n");
    update("b", 0, 2, 0, NAN); /* afresh: a is forgotten, and no redraw is held back */
    expect("b  [----------]  0/2 epochs\033[K\n");
    stop();
}

static void test_many_tracks(void **state)
{
    (void)state;
    start(PROGRESS_BARS);
    setenv("LINES", "6", 1); /* room for four: three tracks and the line that counts */
    progress_line(screen.progress, "");
    expect("\n");
    for (int i = 0; i < 4; i++) {
        char name[8];
        snprintf(name, sizeof name, "t%d", i);
        now_s += 1;
        update(name, 0, 2, 0, NAN);
    }
    assert_non_null(strstr(written(), "t3  ["));
    assert_null(strstr(written(), "more"));
    expect(written());
    now_s += 1;
    update("t4", 0, 2, 0, NAN);
    expect("\033[4A\r"
           "t0  [----------]  0/2 epochs\033[K\n"
           "t1  [----------]  0/2 epochs\033[K\n"
           "t2  [----------]  0/2 epochs\033[K\n"
           "... and 2 more: 2 running, 0 finished\033[K\n");
    /* Those that run come first, then the latest that ended. */
    finish("t0", 2, 2, NULL);
    finish("t1", 2, 2, NULL);
    now_s += 1;
    finish("t2", 1, 2, "failed: killed by\nsignal 9");
    expect("\033[4A\r"
           "t2  [#####-----]  1/2 epochs  failed: killed by signal 9\033[K\n"
           "t3  [----------]  0/2 epochs\033[K\n"
           "t4  [----------]  0/2 epochs\033[K\n"
           "... and 2 more: 0 running, 2 finished\033[K\n");
    stop();
}

static void test_rows_fit_the_screen(void **state)
{
    (void)state;
    start(PROGRESS_BARS);
    setenv("COLUMNS", "20", 1);
    update("\xc3\xa9t\xc3\xa9", 1, 2, 5000, 0.5);
    expect("\xc3\xa9t\xc3\xa9  [#####-----]  \033[K\n"); /* 19 characters */
    setenv("COLUMNS", "1", 1);
    now_s += 1;
    update("\xc3\xa9t\xc3\xa9", 1, 2, 5000, 0.5);
    expect("\033[1A\r\033[K\n");
    stop();
}

static void test_lines_mode(void **state)
{
    (void)state;
    start(PROGRESS_LINES);
    update("a", 0, 100, 0, NAN);
    expect("");
    now_s += 4;
    update("a", 40, 100, 850, 1.5);
    update("b", 1, 4, 0, NAN);
    expect("");
    now_s += 1;
    update("a", 50, 100, 850, 1.25);
    expect("a  50/100 epochs  850 samples/s  loss 1.25  ETA 5 s\n");
    now_s += 4;
    update("a", 60, 100, 850, 1.25);
    expect("");
    update("b", 2, 4, 0, NAN);
    expect("b  2/4 epochs  ETA 10 s\n");
    progress_line(screen.progress, "fugue: a notice");
    expect("fugue: a notice\n");
    finish("a", 100, 100, NULL); /* the last line comes at once, and once */
    expect("a  100/100 epochs  done in 9 s\n");
    finish("a", 100, 100, NULL);
    now_s += 20;
    finish("a", 100, 100, NULL);
    expect("");
    finish("b", 3, 4, "failed: diverged");
    expect("b  3/4 epochs  failed: diverged\n");
    update("b", 0, 4, 0, NAN); /* a retry counts from here */
    now_s += 6;
    update("b", 1, 4, 0, NAN);
    expect("b  1/4 epochs  ETA 18 s\n");
    progress_clear(screen.progress);
    expect("");
    stop();
}

static void test_quiet(void **state)
{
    (void)state;
    start(PROGRESS_QUIET);
    update("a", 1, 2, 0, NAN);
    now_s += 100;
    finish("a", 2, 2, "failed");
    progress_clear(screen.progress);
    expect("");
    progress_line(screen.progress, "fugue: warning: kept");
    expect("fugue: warning: kept\n");
    stop();
}

static void test_auto_without_a_terminal_is_lines(void **state)
{
    (void)state;
    start(PROGRESS_AUTO);
    finish("a", 2, 2, NULL);
    expect("a  2/2 epochs  done in 0 s\n");
    stop();
    progress_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_duration),
        cmocka_unit_test(test_one_bar),
        cmocka_unit_test(test_rates),
        cmocka_unit_test(test_bytes),
        cmocka_unit_test(test_redrawn_ten_times_a_second_at_most),
        cmocka_unit_test(test_lines_between_bars),
        cmocka_unit_test(test_many_tracks),
        cmocka_unit_test(test_rows_fit_the_screen),
        cmocka_unit_test(test_lines_mode),
        cmocka_unit_test(test_quiet),
        cmocka_unit_test(test_auto_without_a_terminal_is_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
