/* labels: full; timeout: 600 */
/* The nine models against PyTorch's float64, small or at 32x32: losses, every tensor's gradient,
 * weights and running statistics after three steps, logits.  Float on the engine's own kernels with
 * two threads, double on the reference kernels.  Larger ones are in test_golden_full.c.
 */
#include "helper_engine.h"
#include "helper_nets.h"

static void test_mlp(void **state)
{
    (void)state;
    nets_check_float("mlp", 0, 1e-4);
    nets_check_double("mlp", 2, 1e-9);
}

static void test_lenet(void **state)
{
    (void)state;
    nets_check_float("lenet", 0, 1e-4);
    nets_check_double("lenet", 2, 1e-9);
}

static void test_simplecnn(void **state)
{
    (void)state;
    nets_check_float("simplecnn", 0, 1e-4);
    nets_check_double("simplecnn", 2, 1e-9);
}

static void test_resnet18(void **state)
{
    (void)state;
    nets_check_float("resnet18", 0, 1e-4);
}

static void test_resnet50(void **state)
{
    (void)state;
    nets_check_float("resnet50", 0, 1e-4);
}

static void test_mobilenet(void **state)
{
    (void)state;
    nets_check_float("mobilenet_v3_small", 0, 1e-4);
    nets_check_double("mobilenet_v3_small", 3, 1e-9);
}

static void test_transformer(void **state)
{
    (void)state;
    nets_check_float("transformer_small", 0, 1e-4);
    nets_check_float("transformer_small", 1, 1e-4);
    nets_check_double("transformer_small", 2, 1e-9);
}

static void test_xlm_roberta(void **state)
{
    (void)state;
    nets_check_float("xlm_roberta_small", 0, 1e-4);
    nets_check_float("xlm_roberta_small", 1, 1e-4);
    nets_check_double("xlm_roberta_small", 2, 1e-9);
}

static void test_vgg16_cbam(void **state)
{
    (void)state;
    nets_check_float("vgg16_cbam_small", 0, 1e-4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mlp),         cmocka_unit_test(test_lenet),
        cmocka_unit_test(test_simplecnn),   cmocka_unit_test(test_resnet18),
        cmocka_unit_test(test_resnet50),    cmocka_unit_test(test_mobilenet),
        cmocka_unit_test(test_transformer), cmocka_unit_test(test_xlm_roberta),
        cmocka_unit_test(test_vgg16_cbam),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
