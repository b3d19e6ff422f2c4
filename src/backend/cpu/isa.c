#include "backend/cpu/reference.h"

#include <string.h>

extern const struct cpu_isa cpu_isa_generic;
#ifdef FUGUE_CPU_X86
extern const struct cpu_isa cpu_isa_avx2, cpu_isa_avx512;
#endif

static void update_reference(const struct update_call *u);

static bool always(void)
{
    return true;
}

const struct cpu_isa cpu_isa_reference = {.name = "reference",
                                          .usable = always,
                                          .kernels = cpu_reference_lists,
                                          .update = update_reference};

const struct cpu_isa *const cpu_isas[] = {
#ifdef FUGUE_CPU_X86
    &cpu_isa_avx512,
    &cpu_isa_avx2,
#endif
    &cpu_isa_generic,
    NULL,
};

/* One element at a time, as nn/optim_rule.h writes it. */
static void update_reference(const struct update_call *u)
{
    for (int32_t i = 0; i < u->count; i++) {
        float g = u->grads[i];
        for (int32_t s = 1; s < u->n_grads; s++)
            g += u->grads[(size_t)s * u->grads_stride + (size_t)i];
        if (u->rule.kind == OPTIM_SGD)
            u->param[i] =
                optim_sgd(&u->rule, u->param[i], g, u->n_slots > 0 ? &u->slot[0][i] : NULL);
        else
            u->param[i] = optim_adam(&u->rule, u->param[i], g, &u->slot[0][i], &u->slot[1][i],
                                     u->n_slots > 2 ? &u->slot[2][i] : NULL);
    }
}

static const struct cpu_kernel *find_in(const struct cpu_isa *isa, enum step_kind kind,
                                        enum op_kind op)
{
    for (int i = 0; isa->kernels[i]; i++)
        for (const struct cpu_kernel *k = isa->kernels[i]; k->name; k++)
            if (k->kind == kind && k->op == op)
                return k;
    return NULL;
}

const struct cpu_kernel *cpu_kernel_find(const struct cpu_isa *isa, enum step_kind kind,
                                         enum op_kind op)
{
    const struct cpu_kernel *kernel = find_in(isa, kind, op);
    return kernel ? kernel : find_in(&cpu_isa_reference, kind, op);
}

const struct cpu_isa *cpu_isa_find(const char *name)
{
    if (name && strcmp(name, cpu_isa_reference.name) == 0)
        return &cpu_isa_reference;
    for (int i = 0; cpu_isas[i]; i++)
        if (cpu_isas[i]->usable() && (!name || strcmp(cpu_isas[i]->name, name) == 0))
            return cpu_isas[i];
    return NULL;
}

/* Set i: the reference, then cpu_isas; NULL past the last. */
static const struct cpu_isa *isa_at(int i)
{
    const int n = (int)(sizeof cpu_isas / sizeof *cpu_isas);
    if (i == 0)
        return &cpu_isa_reference;
    return i > 0 && i < n ? cpu_isas[i - 1] : NULL;
}

bool cpu_variant_at(int i, struct backend_variant *out)
{
    const struct cpu_isa *isa = isa_at(i);
    if (isa)
        *out = (struct backend_variant){isa->name, i == 0, isa->usable()};
    return isa != NULL;
}

const char *cpu_kernel_at(int i, enum step_kind kind, enum op_kind op)
{
    const struct cpu_isa *isa = isa_at(i);
    const struct cpu_kernel *kernel = isa ? find_in(isa, kind, op) : NULL;
    return kernel ? kernel->name : NULL;
}
