/* labels: full; timeout: 300 */
/* The nine models on the GPU, strict fp32, against PyTorch's float64: losses, every tensor's
 * gradient, weights and running statistics after three steps.  The CPU's criterion.
 */
#include "helper_gpu.h"
#include "helper_nets.h"

static void test_mlp(void **state)
{
    (void)state;
    nets_check_float("mlp", 0, 1e-4);
}

static void test_lenet(void **state)
{
    (void)state;
    nets_check_float("lenet", 0, 1e-4);
}

static void test_simplecnn(void **state)
{
    (void)state;
    nets_check_float("simplecnn", 0, 1e-4);
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
}

static void test_transformer(void **state)
{
    (void)state;
    nets_check_float("transformer_small", 0, 1e-4);
}

static void test_xlm_roberta(void **state)
{
    (void)state;
    nets_check_float("xlm_roberta_small", 0, 1e-4);
}

static void test_vgg16_cbam(void **state)
{
    (void)state;
    nets_check_float("vgg16_cbam_small", 0, 1e-4);
}

int main(void)
{
    test_backend = gpu_backend();
    if (!test_backend)
        return GPU_SKIPPED;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mlp),         cmocka_unit_test(test_lenet),
        cmocka_unit_test(test_simplecnn),   cmocka_unit_test(test_resnet18),
        cmocka_unit_test(test_resnet50),    cmocka_unit_test(test_mobilenet),
        cmocka_unit_test(test_transformer), cmocka_unit_test(test_xlm_roberta),
        cmocka_unit_test(test_vgg16_cbam),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
