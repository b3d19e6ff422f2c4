/* labels: full; timeout: 1800 */
/* The models that take longer: ResNets and VGG in double, and the full sizes. */
#include "helper_engine.h"
#include "helper_nets.h"

static void test_resnet18(void **state)
{
    (void)state;
    nets_check_double("resnet18", 3, 1e-9);
}

static void test_resnet50(void **state)
{
    (void)state;
    nets_check_double("resnet50", 3, 1e-9);
}

static void test_vgg16_cbam_small(void **state)
{
    (void)state;
    nets_check_double("vgg16_cbam_small", 2, 1e-9);
}

static void test_transformer(void **state)
{
    (void)state;
    nets_check_float("transformer", 0, 1e-4);
}

static void test_xlm_roberta(void **state)
{
    (void)state;
    nets_check_float("xlm_roberta", 0, 1e-4);
}

static void test_vgg16_cbam(void **state)
{
    (void)state;
    nets_check_float("vgg16_cbam_64", 0, 1e-4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_resnet18),         cmocka_unit_test(test_resnet50),
        cmocka_unit_test(test_vgg16_cbam_small), cmocka_unit_test(test_transformer),
        cmocka_unit_test(test_xlm_roberta),      cmocka_unit_test(test_vgg16_cbam),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
