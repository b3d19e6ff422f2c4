/* The tuned kernels of one instruction set, by file. */
#ifndef BACKEND_CPU_ISA_KERNELS_H
#define BACKEND_CPU_ISA_KERNELS_H

#include "backend/cpu/isa/simd.h"
#include "backend/cpu/kernel.h"

extern const struct cpu_kernel ISA_FN(activation_kernels)[], ISA_FN(combine_kernels)[],
    ISA_FN(attention_kernels)[], ISA_FN(layer_norm_kernels)[], ISA_FN(average_kernels)[],
    ISA_FN(dense_kernels)[], ISA_FN(linear_kernels)[], ISA_FN(conv_kernels)[],
    ISA_FN(elementwise_kernels)[], ISA_FN(dropout_kernels)[], ISA_FN(pool_kernels)[],
    ISA_FN(norm_kernels)[], ISA_FN(loss_kernels)[], ISA_FN(gather_kernels)[];

void ISA_FN(update)(const struct update_call *u);

#endif
