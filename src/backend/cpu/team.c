#include "backend/cpu/team.h"

#include <sched.h>

#if defined(__x86_64__)
#include <immintrin.h>
#define relax() _mm_pause()
#else
#define relax() ((void)0)
#endif

/* Rounds of waiting before the core is offered to others: a stage takes a few 10 us, and the
 * machine may have more runnable threads than cores. */
#define SPIN_ROUNDS 2000

static void wait_a_round(int *rounds)
{
    if (++*rounds < SPIN_ROUNDS)
        relax();
    else
        sched_yield();
}

/* All members of this batch have come here; then all go on. */
static void meet(struct team *t, int members)
{
    if (members == 1)
        return;
    const uint32_t now = atomic_load_explicit(&t->meeting, memory_order_relaxed);
    if (atomic_fetch_add_explicit(&t->arrived, 1, memory_order_acq_rel) == members - 1) {
        atomic_store_explicit(&t->arrived, 0, memory_order_relaxed);
        atomic_store_explicit(&t->meeting, now + 1, memory_order_release);
        return;
    }
    int rounds = 0;
    while (atomic_load_explicit(&t->meeting, memory_order_acquire) == now)
        wait_a_round(&rounds);
}

static bool claim(struct team *t, int32_t unit, uint64_t serial)
{
    _Atomic uint64_t *c = &t->claims[unit];
    return atomic_load_explicit(c, memory_order_relaxed) != serial &&
           atomic_exchange_explicit(c, serial, memory_order_relaxed) != serial;
}

/* Each member has its own range of units, the same every batch, so that its part of the memory
 * stays in its cache; who is done early takes what others have not begun, from their ends. */
static void run_units(struct team *t, const struct exec_stage *stage, uint64_t serial, int member,
                      int members, int thread)
{
    const int32_t n = unit_count(&t->batch, stage);
    if (members == 1) {
        for (int32_t u = 0; u < n; u++)
            unit_run(&t->batch, stage, u, thread);
        return;
    }
    const int32_t own = (int32_t)((int64_t)n * member / members);
    const int32_t own_end = (int32_t)((int64_t)n * (member + 1) / members);
    for (int32_t u = own; u < own_end; u++)
        if (claim(t, u, serial))
            unit_run(&t->batch, stage, u, thread);
    for (int32_t u = n - 1; u >= 0; u--)
        if ((u < own || u >= own_end) && claim(t, u, serial))
            unit_run(&t->batch, stage, u, thread);
}

static void run_stages(struct team *t, int member, int members, int thread)
{
    const struct exec_program *p = t->batch.program;
    const uint64_t serial = t->stage_serial;
    for (int32_t s = 0; s < p->n_stages; s++) {
        run_units(t, &p->stages[s], serial + (uint64_t)s, member, members, thread);
        meet(t, members);
    }
}

void team_open(struct team *t)
{
    atomic_store(&t->joined, 1);
    atomic_store(&t->left, 1);
    atomic_store(&t->arrived, 0);
    const uint64_t serial = (atomic_load(&t->word) >> 8) + 1;
    atomic_store(&t->word, serial << 8 | 1);
}

void team_run_batch(struct team *t, int thread)
{
    const int members = atomic_load_explicit(&t->joined, memory_order_acquire);
    const uint64_t serial = (atomic_load_explicit(&t->word, memory_order_relaxed) >> 8) + 1;
    if (members > 1)
        atomic_store_explicit(&t->word, serial << 8 | (uint64_t)members, memory_order_release);
    run_stages(t, 0, members, thread);
    t->stage_serial += (uint64_t)t->batch.program->n_stages;
}

void team_end(struct team *t)
{
    const uint64_t serial = (atomic_load_explicit(&t->word, memory_order_relaxed) >> 8) + 1;
    atomic_store_explicit(&t->word, serial << 8, memory_order_release);
    const int joined = atomic_load(&t->joined);
    int rounds = 0;
    while (atomic_load_explicit(&t->left, memory_order_acquire) < joined)
        wait_a_round(&rounds);
}

int team_join(struct team *t)
{
    return atomic_fetch_add(&t->joined, 1);
}

void team_help(struct team *t, int member, int thread)
{
    /* A word that counts this member was published after it joined; older ones count fewer. */
    uint64_t seen = 0;
    for (;;) {
        int rounds = 0;
        uint64_t word = atomic_load_explicit(&t->word, memory_order_acquire);
        while (word == seen) {
            wait_a_round(&rounds);
            word = atomic_load_explicit(&t->word, memory_order_acquire);
        }
        seen = word;
        const int members = (int)(word & 255);
        if (members == 0)
            break;
        if (member < members)
            run_stages(t, member, members, thread);
    }
    atomic_fetch_add_explicit(&t->left, 1, memory_order_release);
}
