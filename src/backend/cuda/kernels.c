/* The table of kernels: which one runs a step. */
#include "backend/cuda/kernel.h"

#include <string.h>

static const struct cuda_kernel *const reference[] = {
    cuda_gather_kernels,
    cuda_activation_kernels,
    cuda_flatten_kernels,
    cuda_dropout_kernels,
    cuda_max_pool_kernels,
    cuda_avg_pool_kernels,
    cuda_combine_kernels,
    cuda_concatenate_kernels,
    cuda_mean_max_kernels,
    cuda_batch_norm_kernels,
    cuda_layer_norm_kernels,
    cuda_linear_kernels,
    cuda_conv_kernels,
    cuda_embedding_kernels,
    cuda_token_kernels,
    cuda_attention_kernels,
    cuda_loss_kernels,
    cuda_update_kernels,
    NULL,
};

static const struct cuda_kernel *find_in(const struct cuda_kernel *const *set, enum step_kind kind,
                                         enum op_kind op)
{
    for (int i = 0; set[i]; i++)
        for (const struct cuda_kernel *k = set[i]; k->name; k++)
            if (k->kind == kind && k->op == op)
                return k;
    return NULL;
}

const struct cuda_kernel *cuda_kernel_find(enum step_kind kind, enum op_kind op)
{
    return find_in(reference, kind, op);
}

bool cuda_variant_at(int i, struct backend_variant *out)
{
    int n = 0;
    if (i != 0)
        return false;
    const bool usable = cudaGetDeviceCount(&n) == cudaSuccess && n > 0;
    *out = (struct backend_variant){"reference", true, usable};
    return true;
}

const char *cuda_kernel_at(int i, enum step_kind kind, enum op_kind op)
{
    const struct cuda_kernel *kernel = i == 0 ? find_in(reference, kind, op) : NULL;
    return kernel ? kernel->name : NULL;
}
