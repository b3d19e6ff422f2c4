#include "helper_record.h"
#include "base/json.h"
#include "base/text.h"

#include <math.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

const char *const def_ensemble =
    "{'type':'ensemble','dataset':'digits','model':'mlp','batch_size':64,'epochs':3,'lr':0.001,"
    "'optimizer':'adam','committee_size':4,'size':'small'}";
const char *const def_cv = "{'type':'cv','dataset':'digits','model':'mlp','batch_size':64,"
                           "'epochs':3,'lr':0.001,'folds':3}";
const char *const def_hpo =
    "{'type':'hpo','dataset':'digits','model':'mlp','optimizer':'sgd','epochs':2,"
    "'search_space':{'lr':[0.01,0.1],'batch_size':[32,64,128]}}";
const char *const def_multi_model =
    "{'type':'multi_model','epochs':2,'lr':0.002,'models':["
    "{'name':'mlp','dataset':'digits','batch_size':64},"
    "{'name':'digits_cnn','dataset':'digits','batch_size':32,'epochs':1}]}";

void test_spec_make(struct cell_spec *spec, const char *definition, const char *executor)
{
    struct error err = ERROR_INIT;
    char *text = xstrdup(definition);
    for (char *c = text; *c; c++)
        if (*c == '\'')
            *c = '"';
    json_t *def = json_read_text(text, strlen(text), "definition", &err);
    if (!def)
        fail_msg("%s", err.text);
    *spec = (struct cell_spec){
        .experiment = experiment_from_json("T01", def, "ad-hoc", "definition", &err),
        .executor = executor_find(executor)->slug,
        .seed = 42,
        .split_seed = 7,
        .options = {.device = "cpu", .threads = 2, .silence_s = 30},
        .data_root = xstrdup("/nonexistent"),
        .attempt = 1,
    };
    if (!spec->experiment)
        fail_msg("%s", err.text);
    spec->options.data_root = spec->data_root;
    json_decref(def);
    free(text);
}

void test_record_make(struct record *r, struct cell_spec *spec)
{
    struct error err = ERROR_INIT;
    char id[48];
    snprintf(id, sizeof id, "%s_00000001", spec->executor);
    if (!record_init(r, spec, id, "00112233445566aa", 99, &err))
        fail_msg("%s", err.text);
    r->t_begin_s = 100;
}

void test_result_ok(struct job_result *r, double train_score, double val_score, double val_loss)
{
    job_result_init(r);
    r->status = JOB_OK;
    r->model = (struct model_result){MODEL_OK,    3,        4314,      1.5,  0.25, 0.125,
                                     train_score, val_loss, val_score, 1438, 359,  "test"};
    r->t_start_s = 100.5;
    r->t_end_s = 103;
    r->phase_s[PHASE_TRAIN] = 1.5;
    r->phase_s[PHASE_EVAL] = 0.25;
    r->phase_s[PHASE_BUILD] = 0.125;
    r->peak_rss_mb = 12;
    r->plan_hash = 0xabc;
    r->threads = 2;
    snprintf(r->variant, sizeof r->variant, "avx2");
    snprintf(r->data_source, sizeof r->data_source, "real");
    snprintf(r->data_layout, sizeof r->data_layout, "tokens");
    for (int i = 1; i <= 3; i++) {
        const struct epoch_report e = {i,       3,     100 + i,     100.5 + i,
                                       1.0 / i, 0.001, (double)NAN, (double)NAN};
        job_result_add_epoch(r, &e);
    }
}
