/* The table at the end of a run, character by character, and its JSON. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "campaign/summary.h"
#include "helper_record.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX 8

struct run {
    struct cell_spec specs[MAX];
    struct cell_outcome outcomes[MAX];
    int n;
};

/* Adds a cell with this row and score (single quotes stand for double ones); row NULL: not run. */
static void add(struct run *r, const char *definition, const char *executor, const char *row,
                const char *score)
{
    test_spec_make(&r->specs[r->n], definition, executor);
    r->outcomes[r->n] = (struct cell_outcome){.ok = row != NULL};
    if (row) {
        char *texts[] = {strdup(row), strdup(score)};
        json_t *parts[2];
        for (int i = 0; i < 2; i++) {
            for (char *c = texts[i]; *c; c++)
                if (*c == '\'')
                    *c = '"';
            parts[i] = json_loads(texts[i], 0, NULL);
            assert_non_null(parts[i]);
            free(texts[i]);
        }
        r->outcomes[r->n].group =
            json_pack("{s:s,s:o,s:o}", "type", "group", "row", parts[0], "score", parts[1]);
    }
    r->n++;
}

static void release(struct run *r)
{
    for (int i = 0; i < r->n; i++) {
        cell_spec_release(&r->specs[i]);
        json_decref(r->outcomes[i].group);
    }
}

static void expect_text(const struct run *r, const char *expected)
{
    char *text = NULL;
    size_t len = 0;
    FILE *f = open_memstream(&text, &len);
    summary_print(f, r->specs, r->outcomes, r->n);
    fclose(f);
    assert_string_equal(text, expected);
    free(text);
}

static const char *const mean = "{'score_name':'accuracy','n':4,'mean':0.97125,'sd':0.00314}";

static void a_table_is_aligned_and_compared_with_the_baseline(void **state)
{
    (void)state;
    struct run r = {0};
    add(&r, def_ensemble, "seq",
        "{'status':'ok','K':4,'jobs_failed':0,'T_group':10.5,'throughput_group':1643.4,"
        "'energy_cause':'no RAPL on this machine','host_peak_mb':38.2}",
        mean);
    add(&r, def_ensemble, "unified_model",
        "{'status':'ok','K':4,'jobs_failed':0,'T_group':3.5,'throughput_group':4930.2,"
        "'energy_group':125.25,'host_peak_mb':121.7}",
        mean);
    expect_text(&r,
                "\n"
                "T01 (ensemble) on cpu\n"
                "strategy       K  T_group  speedup  samples/s  energy   memory  accuracy (SD)\n"
                "-------------------------------------------------------------------------------\n"
                "seq            4   10.5 s    1.00x       1643     [1]   38 MiB  0.9712 (0.0031)\n"
                "unified_model  4   3.50 s    3.00x       4930   125 J  122 MiB  0.9712 (0.0031)\n"
                "[1] no energy: no RAPL on this machine\n");
    release(&r);
}

static void failed_groups_are_marked_and_never_fast(void **state)
{
    (void)state;
    struct run r = {0};
    add(&r, def_ensemble, "seq",
        "{'status':'ok','K':4,'jobs_failed':0,'T_group':10.5,'throughput_group':1643.4,"
        "'energy_group':9.5,'host_peak_mb':38.2}",
        mean);
    add(&r, def_ensemble, "mp",
        "{'status':'killed','K':4,'jobs_failed':3,'T_group':0.5,'throughput_group':99,"
        "'energy_group':1,'host_peak_mb':38.2}",
        "{'score_name':'accuracy','n':0,'mean':null,'sd':null}");
    add(&r, def_ensemble, "unified_model", NULL, NULL);
    expect_text(
        &r, "\n"
            "T01 (ensemble) on cpu\n"
            "strategy            K  T_group  speedup  samples/s  energy  memory  accuracy (SD)\n"
            "-----------------------------------------------------------------------------------\n"
            "seq                 4   10.5 s    1.00x       1643  9.50 J  38 MiB  0.9712 (0.0031)\n"
            "mp (3 of 4 failed)  4  0.500 s                  99  1.00 J  38 MiB  n/a\n"
            "unified_model                                          n/a     n/a  not run\n");
    release(&r);
}

static void what_the_user_stopped_or_the_disk_refused_is_no_failed_job(void **state)
{
    (void)state;
    struct run r = {0};
    add(&r, def_ensemble, "seq",
        "{'status':'interrupted','K':4,'jobs_failed':3,'T_group':2,'host_peak_mb':38}", mean);
    add(&r, def_ensemble, "mp",
        "{'status':'failed','K':4,'jobs_failed':0,'T_group':2,'host_peak_mb':38}", mean);
    expect_text(&r, "\n"
                    "T01 (ensemble) on cpu\n"
                    "strategy                        K  T_group  speedup  samples/s  energy  "
                    "memory  accuracy (SD)\n"
                    "------------------------------------------------------------------------------"
                    "-----------------\n"
                    "seq (interrupted, 1 of 4 done)  4   2.00 s                         n/a  38 "
                    "MiB  0.9712 (0.0031)\n"
                    "mp (rows lost)                  4   2.00 s                         n/a  38 "
                    "MiB  0.9712 (0.0031)\n");
    release(&r);
}

static void a_failed_baseline_gives_no_speedups(void **state)
{
    (void)state;
    struct run r = {0};
    add(&r, def_ensemble, "seq", "{'status':'failed','K':4,'jobs_failed':1,'T_group':1}", mean);
    add(&r, def_ensemble, "mp", "{'status':'ok','K':4,'jobs_failed':0,'T_group':2}", mean);
    json_t *list = summary_json(r.specs, r.outcomes, r.n);
    assert_true(json_is_null(json_object_get(json_array_get(list, 0), "speedup")));
    assert_true(json_is_null(json_object_get(json_array_get(list, 1), "speedup")));
    assert_int_equal(json_integer_value(json_object_get(json_array_get(list, 0), "jobs_failed")),
                     1);
    json_decref(list);
    release(&r);
}

static void each_experiment_has_its_table(void **state)
{
    (void)state;
    struct run r = {0};
    add(&r, def_hpo, "mp", "{'status':'ok','K':6,'jobs_failed':0,'T_group':2}",
        "{'score_name':'accuracy','n':6,'mean':0.5,'sd':0.1,'best':{'job_id':'T01_t4','score':"
        "0.75,'val_loss':0.25,'values':{'lr':0.001,'batch_size':64,'optimizer':'sgd','amp':true"
        "}}}");
    add(&r, def_multi_model, "mp", "{'status':'ok','K':2,'jobs_failed':0,'T_group':123.4}",
        "{'score_name':'accuracy','n':1,'mean':0.5,'sd':null,'models':[{'job_id':'a','model':"
        "'mlp','score_name':'R2','score':0.5},{'job_id':'b','model':'lenet','score_name':"
        "'accuracy','score':null}]}");
    expect_text(
        &r, "\n"
            "T01 (hpo) on cpu\n"
            "strategy  K  T_group  speedup  samples/s  energy  memory  best accuracy\n"
            "-----------------------------------------------------------------------\n"
            "mp        6   2.00 s                         n/a     n/a  0.7500 T01_t4\n"
            "T01_t4: lr=0.001 batch_size=64 optimizer=sgd amp=true\n"
            "\n"
            "T01 (multi_model) on cpu\n"
            "strategy  K  T_group  speedup  samples/s  energy  memory  score\n"
            "----------------------------------------------------------------------------------\n"
            "mp        2    123 s                         n/a     n/a  mlp R2 0.5000, lenet n/a\n");
    release(&r);
}

static const char *line_of(const char *text, const char *start)
{
    const char *found = strstr(text, start);
    assert_non_null(found);
    return found;
}

/* The score's name where all have one; otherwise each says its own. */
static void the_heading_names_a_score_that_all_have(void **state)
{
    (void)state;
    struct run r = {0};
    char *text = NULL;
    size_t len = 0;
    add(&r, def_hpo, "seq", "{'status':'ok','K':6,'jobs_failed':0,'T_group':2}",
        "{'score_name':'R2','n':0,'mean':null,'sd':null}");
    add(&r, def_hpo, "mp", "{'status':'ok','K':6,'jobs_failed':0,'T_group':2}",
        "{'score_name':'R2','n':6,'mean':0.5,'sd':0.1,'best':{'job_id':'T01_t4','score':0.75,"
        "'values':{'lr':0.5}}}");
    add(&r, def_hpo, "unified_model", "{'status':'ok','K':6,'jobs_failed':0,'T_group':2}",
        "{'score_name':'R2','n':6,'mean':0.5,'sd':0.1,'best':{'job_id':'T01_t4','score':0.75,"
        "'values':{'lr':0.5}}}");
    add(&r, def_multi_model, "mp", "{'status':'ok','K':2,'jobs_failed':0,'T_group':123.4}",
        "{'score_name':'accuracy','n':2,'mean':0.5,'sd':null,'models':[{'model':'mlp',"
        "'score_name':'accuracy','score':0.5},{'model':'lenet','score_name':'accuracy','score':"
        "0.25}]}");
    FILE *f = open_memstream(&text, &len);
    summary_print(f, r.specs, r.outcomes, r.n);
    fclose(f);
    assert_non_null(strstr(text, "memory  best R2\n"));
    assert_non_null(strstr(text, "n/a  0.7500 T01_t4\n"));
    const char *note = line_of(text, "\nT01_t4: lr=0.5\n");
    assert_null(strstr(note + 1, "\nT01_t4:")); /* said once */
    assert_non_null(strstr(text, "memory  accuracy\n"));
    assert_non_null(strstr(text, "mlp 0.5000, lenet 0.2500\n"));
    free(text);
    release(&r);
}

static void the_json_says_the_same(void **state)
{
    (void)state;
    struct run r = {0};
    add(&r, def_ensemble, "seq",
        "{'status':'ok','K':4,'jobs_failed':0,'T_group':10.5,'throughput_group':1643.5,"
        "'energy_cause':'none here','host_peak_mb':38.25}",
        mean);
    add(&r, def_ensemble, "mp", "{'status':'ok','K':4,'jobs_failed':0,'T_group':5.25}", mean);
    add(&r, def_cv, "mp", NULL, NULL);
    json_t *list = summary_json(r.specs, r.outcomes, r.n);
    assert_int_equal(json_array_size(list), 3);
    char *first = json_dumps(json_array_get(list, 0), JSON_COMPACT);
    assert_string_equal(
        first, "{\"exp_id\":\"T01\",\"overrides\":null,\"executor\":\"seq\",\"device\":\"cpu\","
               "\"status\":\"ok\",\"k\":4,\"jobs_failed\":0,\"t_group_s\":10.5,\"speedup\":1.0,"
               "\"samples_per_s\":1643.5,\"energy_j\":null,\"energy_cause\":\"none here\","
               "\"peak_mb\":38.25,\"score\":{\"score_name\":\"accuracy\",\"n\":4,"
               "\"mean\":0.97124999999999995,\"sd\":0.00314}}");
    assert_true(json_real_value(json_object_get(json_array_get(list, 1), "speedup")) == 2);
    assert_true(json_is_null(json_object_get(json_array_get(list, 2), "status")));
    free(first);
    json_decref(list);
    release(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_table_is_aligned_and_compared_with_the_baseline),
        cmocka_unit_test(failed_groups_are_marked_and_never_fast),
        cmocka_unit_test(what_the_user_stopped_or_the_disk_refused_is_no_failed_job),
        cmocka_unit_test(a_failed_baseline_gives_no_speedups),
        cmocka_unit_test(each_experiment_has_its_table),
        cmocka_unit_test(the_heading_names_a_score_that_all_have),
        cmocka_unit_test(the_json_says_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
