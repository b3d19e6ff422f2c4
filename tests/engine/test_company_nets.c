/* A job's result does not depend on its company: networks with residual links, squeeze and excite,
 * shared and tied weights, attention, embeddings of padded text; schedules and clipping of some of
 * the jobs; gradients of large tensors by parts. */
#include "helper_company.h"

#include "base/file.h"

#include <unistd.h>

static void test_resnet(void **state)
{
    (void)state;
    company_check(&(struct scenario){"resnet", "digits", "resnet18?width=8", "sgd", false, 20, 70,
                                     SPLIT_KFOLD, true, 0.01, 5, "step?step_size=1"});
}

static void test_mobilenet(void **state)
{
    (void)state;
    company_check(&(struct scenario){"mobilenet", "digits", "mobilenet_v3_small?width_pct=40",
                                     "adamw", false, 24, 60, SPLIT_HOLDOUT, false, 0.002, 4, NULL});
}

/* Channel attention as VGG16-CBAM's: two poolings through one shared net. */
static const char cbam[] =
    "{\"layers\": ["
    "{\"op\": \"conv2d\", \"name\": \"conv\", \"out\": 16, \"kernel\": 3, \"pad\": 1},"
    "{\"op\": \"relu\", \"name\": \"x\"},"
    "{\"op\": \"adaptive_avg_pool2d\", \"size\": 1}, {\"op\": \"flatten\"},"
    "{\"op\": \"linear\", \"name\": \"mlp.0\", \"out\": 4, \"bias\": false}, {\"op\": \"relu\"},"
    "{\"op\": \"linear\", \"name\": \"mlp.2\", \"out\": 16, \"bias\": false},"
    "{\"op\": \"adaptive_max_pool2d\", \"input\": \"x\", \"size\": 1}, {\"op\": \"flatten\"},"
    "{\"op\": \"linear\", \"like\": \"mlp.0\", \"out\": 4, \"bias\": false}, {\"op\": \"relu\"},"
    "{\"op\": \"linear\", \"name\": \"most\", \"like\": \"mlp.2\", \"out\": 16, \"bias\": false},"
    "{\"op\": \"add\", \"input\": [\"mlp.2\", \"most\"]}, {\"op\": \"sigmoid\", \"name\": "
    "\"weights\"},"
    "{\"op\": \"multiply\", \"name\": \"seen\", \"input\": [\"x\", \"weights\"]},"
    "{\"op\": \"channel_mean_max\"},"
    "{\"op\": \"conv2d\", \"out\": 1, \"kernel\": 7, \"pad\": 3, \"bias\": false}, {\"op\": "
    "\"sigmoid\", \"name\": \"place\"},"
    "{\"op\": \"multiply\", \"input\": [\"seen\", \"place\"]},"
    "{\"op\": \"flatten\"}, {\"op\": \"linear\", \"out\": 80}, {\"op\": \"relu\"},"
    "{\"op\": \"linear\", \"out\": \"outputs\"}]}";

static void test_shared_weights(void **state)
{
    (void)state;
    struct error err = ERROR_INIT;
    char path[] = "/tmp/fugue-cbam-XXXXXX.json";
    const int fd = mkstemps(path, (int)strlen(".json"));
    assert_true(fd >= 0);
    close(fd);
    if (!file_write_atomic(path, cbam, strlen(cbam), &err))
        fail_msg("%s", err.text);
    company_check(&(struct scenario){"shared", "digits", path, "sgd", false, 24, 70, SPLIT_KFOLD,
                                     false, 0.01, 5, NULL});
    unlink(path);
}

static void test_transformer(void **state)
{
    (void)state;
    company_check(&(struct scenario){"transformer",
                                     "wikitext?n_train=40&n_test=10&seq=12&vocab=2100",
                                     "transformer?layers=2&d_model=32&heads=4&ff=64", "adamw", true,
                                     8, 0, SPLIT_FIXED, true, 0.003, 5, "cosine?per=update"});
}

static void test_xlm_roberta(void **state)
{
    (void)state;
    company_check(&(struct scenario){"xlm_roberta", "sst2?n_train=60&n_test=20&seq=16&vocab=2100",
                                     "xlm_roberta?layers=2&d_model=32&heads=4&ff=64&vocab=2100",
                                     "sgd", true, 16, 0, SPLIT_KFOLD, false, 0.01, 4,
                                     "one_cycle?cycle_momentum=false"});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_resnet),         cmocka_unit_test(test_mobilenet),
        cmocka_unit_test(test_shared_weights), cmocka_unit_test(test_transformer),
        cmocka_unit_test(test_xlm_roberta),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
