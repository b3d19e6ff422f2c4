#include "backend/cpu/isa/kernels.h"

#include "backend/cpu/isa/gemm.h"

static bool usable(void)
{
#if defined(FUGUE_ISA_avx512)
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#elif defined(FUGUE_ISA_avx2)
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#else
    return true;
#endif
}

/* dense before linear: it hands small layers on. */
static const struct cpu_kernel *const kernels[] = {
    ISA_FN(dense_kernels),       ISA_FN(linear_kernels),  ISA_FN(conv_kernels),
    ISA_FN(elementwise_kernels), ISA_FN(dropout_kernels), ISA_FN(pool_kernels),
    ISA_FN(norm_kernels),        ISA_FN(loss_kernels),    ISA_FN(gather_kernels),
    ISA_FN(activation_kernels),  ISA_FN(combine_kernels), ISA_FN(attention_kernels),
    ISA_FN(layer_norm_kernels),  ISA_FN(average_kernels), NULL,
};

extern const struct cpu_isa ISA_FN(cpu_isa);
const struct cpu_isa ISA_FN(cpu_isa) = {.name = ISA_NAME,
                                        .usable = usable,
                                        .kernels = kernels,
                                        .update = ISA_FN(update),
                                        .gemm = ISA_FN(gemm)};
