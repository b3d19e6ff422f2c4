/* Bars of a cell: which there are, and what stands in them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/text.h"
#include "cli/run_tracks.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double clock_s;

static double fake_clock(void)
{
    return clock_s;
}

struct screen {
    FILE *file;
    char *text;
    size_t len;
    struct progress *progress;
    struct cell_spec spec;
    struct run_tracks *tracks;
};

static void open_screen(struct screen *s, enum progress_mode mode, const char *definition,
                        const char *executor)
{
    struct error err = ERROR_INIT;
    memset(s, 0, sizeof *s);
    clock_s = 100;
    s->file = open_memstream(&s->text, &s->len);
    s->progress = progress_new(s->file, mode, fake_clock);
    json_t *def = json_loads(definition, 0, NULL);
    assert_non_null(def);
    s->spec.experiment = experiment_from_json("T", def, "ad-hoc", "test", &err);
    if (!s->spec.experiment)
        fail_msg("%s", err.text);
    json_decref(def);
    s->spec.executor = executor;
    s->tracks = run_tracks_new(s->progress, &s->spec, fake_clock);
    assert_non_null(s->tracks);
}

static void close_screen(struct screen *s)
{
    run_tracks_free(s->tracks);
    progress_free(s->progress);
    fclose(s->file);
    free(s->text);
    experiment_free(s->spec.experiment);
}

static void epochs_done(struct screen *s, int job, double epochs, double rate, double loss)
{
    const struct job_news news = {epochs, rate, loss};
    run_tracks_update(s->tracks, job, &news);
}

static void ends(struct screen *s, int job, double epochs, double loss, const char *note)
{
    const struct job_news news = {epochs, NAN, loss};
    run_tracks_finish(s->tracks, job, &news, note);
}

/* What was written since the last call is this. */
static void expect(struct screen *s, const char *expected)
{
    fflush(s->file);
    assert_string_equal(s->text, expected);
    rewind(s->file);
    fflush(s->file);
    s->text[0] = '\0';
}

/* The last drawing holds this line's start. */
static void expect_bar(struct screen *s, const char *line)
{
    fflush(s->file);
    const char *last = s->text;
    for (const char *up = s->text; (up = strstr(up, "\033[")) != NULL; up++)
        if (strstr(up, "A\r") == up + 3)
            last = up;
    if (!strstr(last, line))
        fail_msg("no '%s' in '%s'", line, last);
}

#define NET "'dataset':'digits','model':'mlp','batch_size':32,'epochs':10,'lr':0.01"

static char *quoted(const char *text)
{
    static char out[512];
    snprintf(out, sizeof out, "%s", text);
    for (char *c = out; *c; c++)
        *c = *c == '\'' ? '"' : *c;
    return out;
}

static const char ensemble[] = "{'type':'ensemble','committee_size':2," NET "}";

static void a_log_has_one_line_for_all_networks(void **state)
{
    (void)state;
    struct screen s;
    open_screen(&s, PROGRESS_LINES, quoted(ensemble), "seq");
    epochs_done(&s, 0, 1, 5, 0.5);
    expect(&s, "");
    clock_s = 110;
    /* 6 of 20 epochs of 1438 samples in 10 s, and their two losses' mean. */
    epochs_done(&s, 0, 6, 5, 0.25);
    expect(&s, "all 2 networks  3/10 epochs  863 samples/s  loss 0.25  ETA 23 s\n");
    clock_s = 112;
    ends(&s, 0, 10, 0.125, NULL);
    expect(&s, "");
    clock_s = 120;
    ends(&s, 1, 10, 0.375, NULL);
    expect(&s, "all 2 networks  10/10 epochs  1.44 k samples/s  loss 0.25  done in 20 s\n");
    close_screen(&s);
}

static void one_network_has_its_own_name(void **state)
{
    (void)state;
    struct screen s;
    open_screen(&s, PROGRESS_LINES, quoted("{'type':'ensemble','committee_size':1," NET "}"),
                "seq");
    clock_s = 101;
    ends(&s, 0, 10, 0.5, NULL);
    expect(&s, "T_ens_s0  10/10 epochs  14.4 k samples/s  loss 0.5  done in 1 s\n");
    close_screen(&s);
}

static void what_failed_is_counted(void **state)
{
    (void)state;
    struct screen s;
    open_screen(&s, PROGRESS_LINES, quoted(ensemble), "mp");
    ends(&s, 0, 10, 0.5, NULL);
    /* A loss that is not finite is in no mean; what was known of the epochs stays. */
    epochs_done(&s, 1, 4, NAN, 0.75);
    clock_s = 101;
    ends(&s, 1, NAN, (double)INFINITY, "diverged");
    expect(&s, "all 2 networks  7/10 epochs  20.1 k samples/s  loss 0.625  1 of 2 not trained to "
               "the end\n");
    close_screen(&s);
}

static void jobs_have_bars_under_one_for_all(void **state)
{
    (void)state;
    struct screen s;
    open_screen(&s, PROGRESS_BARS, quoted(ensemble), "seq");
    expect(&s, "all 2 networks  [----------]  0/10 epochs\033[K\n");
    clock_s += 1;
    epochs_done(&s, 0, 5, 1000, 0.5);
    clock_s += 1;
    epochs_done(&s, 1, 4, 2000, 0.25);
    clock_s += 1;
    epochs_done(&s, 1, 5, NAN, NAN); /* an epoch's end without a rate: the last one stays */
    /* Drawn at the job's update: what stands above it is one update behind. */
    expect_bar(&s, "all 2 networks  [####------]  4.5/10 epochs  6.47 k samples/s  loss 0.375");
    expect_bar(&s, "T_ens_s0        [#####-----]  5/10 epochs  1.00 k samples/s  loss 0.5");
    expect_bar(&s, "T_ens_s1        [#####-----]  5/10 epochs  2.00 k samples/s  loss 0.25");
    close_screen(&s);
}

static void stacked_jobs_share_a_bar(void **state)
{
    (void)state;
    struct screen s;
    open_screen(&s, PROGRESS_BARS, quoted(ensemble), "unified_model");
    epochs_done(&s, 0, 5, 1000, 0.5);
    clock_s += 1;
    epochs_done(&s, 1, 2, 2000, 0.25);
    expect_bar(&s, "mlp x2  [###-------]  3.5/10 epochs  10.1 k samples/s  loss 0.375");
    fflush(s.file);
    assert_null(strstr(s.text, "T_ens"));
    assert_null(strstr(s.text, "all 2"));
    close_screen(&s);
}

static void buckets_are_told_apart_by_what_differs(void **state)
{
    (void)state;
    struct screen s;
    open_screen(
        &s, PROGRESS_BARS,
        quoted("{'type':'hpo','search_space':{'lr':[0.1,0.2],'batch_size':[16,32]}," NET "}"),
        "unified_model");
    for (int job = 0; job < 4; job++) {
        clock_s += 1;
        epochs_done(&s, job, 1 + job, 10, 0.5);
    }
    /* Last key fastest: jobs 0 and 2 have batches of 16. */
    expect_bar(&s, "all 4 networks   [#---------]  1.5/10 epochs");
    expect_bar(&s, "mlp batch 16 x2  [##--------]  2/10 epochs");
    expect_bar(&s, "mlp batch 32 x2  [###-------]  3/10 epochs");
    close_screen(&s);
}

static void different_networks_have_no_mean_loss(void **state)
{
    (void)state;
    struct screen s;
    open_screen(&s, PROGRESS_LINES,
                quoted("{'type':'multi_model','batch_size':32,'epochs':10,'lr':0.01,"
                       "'models':[{'name':'mlp','dataset':'digits'},"
                       "{'name':'digits_cnn','dataset':'digits'}]}"),
                "unified_model");
    ends(&s, 0, 10, 0.5, NULL);
    clock_s = 101;
    ends(&s, 1, 10, 0.25, NULL);
    expect(&s, "all 2 networks  10/10 epochs  28.8 k samples/s  done in 1 s\n");
    close_screen(&s);
}

static void what_is_no_job_of_the_cell_is_ignored(void **state)
{
    (void)state;
    struct screen s;
    open_screen(&s, PROGRESS_LINES, quoted(ensemble), "seq");
    ends(&s, -1, 10, 0.5, NULL);
    ends(&s, 2, 10, 0.5, NULL);
    expect(&s, "");
    close_screen(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_log_has_one_line_for_all_networks),
        cmocka_unit_test(one_network_has_its_own_name),
        cmocka_unit_test(what_failed_is_counted),
        cmocka_unit_test(jobs_have_bars_under_one_for_all),
        cmocka_unit_test(stacked_jobs_share_a_bar),
        cmocka_unit_test(buckets_are_told_apart_by_what_differs),
        cmocka_unit_test(different_networks_have_no_mean_loss),
        cmocka_unit_test(what_is_no_job_of_the_cell_is_ignored),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
