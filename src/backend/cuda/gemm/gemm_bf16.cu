#include "backend/cuda/gemm/gemm_kernel.cuh"

extern "C" int gemm_run_bf16(enum gemm_pass pass, const struct gemm_shape *shape,
                           struct gemm_choice choice, const struct gemm_args *args, bool vec,
                           void *stream)
{
    return gemm_run_math<GEMM_BF16>(pass, shape, choice, args, vec, stream);
}
