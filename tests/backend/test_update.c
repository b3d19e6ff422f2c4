/* The update step against nn/optim_rule.h one element at a time: the same bits from every set of
 * kernels, every optimiser and option. */
#include "helper_case.h"

#include "base/rng.h"

#define COUNT  1337
#define SHARDS 3

static float draw(uint32_t ordinal, uint32_t i)
{
    return 2.0f * rng_unit(rng_u32_at(5, RNG_TEST, ordinal, 0, 0, i)) - 1.0f;
}

struct block {
    float param[COUNT], slot[3][COUNT], grads[SHARDS][COUNT + 3];
};

static void block_init(struct block *b)
{
    for (uint32_t i = 0; i < COUNT; i++) {
        b->param[i] = draw(0, i);
        b->slot[0][i] = draw(1, i);
        b->slot[1][i] = fabsf(draw(2, i));
        b->slot[2][i] = fabsf(draw(3, i));
        for (uint32_t s = 0; s < SHARDS; s++)
            b->grads[s][i] = draw(4 + s, i);
    }
    /* Padding: all zero, must stay zero. */
    b->param[COUNT - 1] = b->slot[0][COUNT - 1] = b->slot[1][COUNT - 1] = b->slot[2][COUNT - 1] = 0;
    for (uint32_t s = 0; s < SHARDS; s++)
        b->grads[s][COUNT - 1] = 0;
}

static void update(cpu_update_fn fn, struct block *b, enum optim_kind kind,
                   const struct optim_args *args, int n_slots, int64_t t, int n_grads)
{
    const struct update_call call = {.rule = optim_step_prepare(kind, args, t),
                                     .n_slots = n_slots,
                                     .param = b->param,
                                     .slot = {b->slot[0], b->slot[1], b->slot[2]},
                                     .grads = b->grads[0],
                                     .grads_stride = COUNT + 3,
                                     .n_grads = n_grads,
                                     .count = COUNT};
    fn(&call);
}

static void expect(struct block *b, enum optim_kind kind, const struct optim_args *args, int64_t t,
                   int n_grads)
{
    const struct optim_step rule = optim_step_prepare(kind, args, t);
    for (int i = 0; i < COUNT; i++) {
        float g = b->grads[0][i];
        for (int s = 1; s < n_grads; s++)
            g += b->grads[s][i];
        if (kind == OPTIM_SGD)
            b->param[i] = optim_sgd(&rule, b->param[i], g, &b->slot[0][i]);
        else
            b->param[i] =
                optim_adam(&rule, b->param[i], g, &b->slot[0][i], &b->slot[1][i], &b->slot[2][i]);
    }
}

struct variant {
    enum optim_kind kind;
    double momentum, dampening, weight_decay;
    bool nesterov, amsgrad;
    int n_slots;
};

static const struct variant variants[] = {
    {OPTIM_SGD, 0, 0, 0, false, false, 0},      {OPTIM_SGD, 0, 0, 0.1, false, false, 1},
    {OPTIM_SGD, 0.9, 0, 0, false, false, 1},    {OPTIM_SGD, 0.9, 0.3, 0.01, false, false, 1},
    {OPTIM_SGD, 0.9, 0, 0.01, true, false, 1},  {OPTIM_ADAM, 0, 0, 0, false, false, 2},
    {OPTIM_ADAM, 0, 0, 0.02, false, false, 3},  {OPTIM_ADAM, 0, 0, 0.02, false, true, 3},
    {OPTIM_ADAMW, 0, 0, 0.01, false, false, 2}, {OPTIM_ADAMW, 0, 0, 0.01, false, true, 3},
};

static void check(const struct cpu_isa *isa, const struct variant *v)
{
    static struct block got, expected;
    struct optim_args args = optim_infos[v->kind].defaults;
    args.lr = 0.03;
    args.momentum = v->momentum;
    args.dampening = v->dampening;
    args.weight_decay = v->weight_decay;
    args.nesterov = v->nesterov;
    args.amsgrad = v->amsgrad;
    for (int n_grads = 1; n_grads <= SHARDS; n_grads++) {
        block_init(&got);
        block_init(&expected);
        for (int64_t t = 1; t <= 3; t++) {
            update(isa->update, &got, v->kind, &args, v->n_slots, t, n_grads);
            expect(&expected, v->kind, &args, t, n_grads);
        }
        if (memcmp(&got, &expected, sizeof got) != 0)
            fail_msg("%s: optimiser %d, variant %d: not the rule's bits", isa->name, (int)v->kind,
                     (int)(v - variants));
        assert_true(got.param[COUNT - 1] == 0.0f && got.param[0] != draw(0, 0));
    }
}

static void test_update(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof variants / sizeof *variants; i++) {
        check(&cpu_isa_reference, &variants[i]);
        for (int s = 0; cpu_isas[s]; s++)
            if (cpu_isas[s]->usable())
                check(cpu_isas[s], &variants[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_update)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
