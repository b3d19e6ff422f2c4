/* A plan as a table for people. */
#include "engine/plan_build.h"

#include <inttypes.h>

static const char *const step_names[] = {
    [STEP_GATHER] = "gather",
    [STEP_FORWARD] = "forward",
    [STEP_BN_STATS] = "bn_stats",
    [STEP_BN_APPLY] = "bn_apply",
    [STEP_LOSS] = "loss",
    [STEP_BACKWARD] = "backward",
    [STEP_BN_BACK_REDUCE] = "bn_back_reduce",
    [STEP_BN_BACK_APPLY] = "bn_back_apply",
    [STEP_UPDATE] = "update",
};

const char *plan_step_name(enum step_kind kind)
{
    return step_names[kind];
}

static void print_list(FILE *out, const char *label, const int32_t *list, int32_t n)
{
    fprintf(out, "  %s", label);
    for (int32_t i = 0; i < n; i++)
        fprintf(out, "%s%d", i ? "," : " ", (int)list[i]);
    if (n == 0)
        fputs(" -", out);
}

static void print_step(const struct plan_step *s, int32_t number, FILE *out)
{
    fprintf(out, "    %3d %-15s", (int)number, plan_step_name(s->kind));
    const bool named = s->kind != STEP_UPDATE;
    fprintf(out, "%-14s", named ? op_infos[s->op].name : "");
    if (named)
        fprintf(out, "%dx%dx%d", (int)s->out.d[0], (int)s->out.d[1], (int)s->out.d[2]);
    print_list(out, "reads", s->read, s->n_reads);
    print_list(out, "writes", s->write, s->n_writes);
    if (s->accumulate_dx)
        fputs("  accumulates", out);
    fputc('\n', out);
}

static void print_program(const struct plan *plan, const struct plan_program *p, const char *name,
                          FILE *out)
{
    fprintf(out, "%s: %d steps in %d stages, %d buffers in %.1f KiB a lane\n", name,
            (int)p->n_steps, (int)p->n_stages, (int)p->n_buffers,
            (double)p->lane_floats * 4.0 / 1024.0);
    for (int32_t i = 0; i < p->n_stages; i++) {
        const struct plan_stage *s = &p->stages[i];
        const bool chunks = s->unit == UNIT_CHUNK;
        fprintf(out, "  stage %d: %d %s\n", (int)i, (int)(chunks ? plan->n_chunks : plan->n_shards),
                chunks ? "chunks of parameters" : "shards");
        for (int32_t j = 0; j < s->n_steps; j++)
            print_step(&p->steps[s->first_step + j], s->first_step + j, out);
    }
    static const char *const kinds[] = {"rows", "shard", "lane"};
    for (int32_t i = 0; i < p->n_buffers; i++) {
        const struct plan_buffer *b = &p->buffers[i];
        fprintf(out, "  buffer %2d: %-5s %7zu floats at %8zu, steps %d to %d\n", (int)i,
                kinds[b->kind], b->floats, b->offset, (int)b->first_step, (int)b->last_step);
    }
}

void plan_print(const struct plan *plan, FILE *out)
{
    fprintf(out,
            "plan %016" PRIx64 ": batch %d in %d shards of %d rows, %zu parameter floats in %d "
            "chunks, %d optimiser slots, %.1f KiB a model, %.1f KiB a lane\n",
            plan->hash, (int)plan->batch, (int)plan->n_shards, (int)plan->rows_per_shard,
            plan->param_floats, (int)plan->n_chunks, (int)plan->n_slots,
            (double)plan->slice_floats * 4.0 / 1024.0, (double)plan->lane_floats * 4.0 / 1024.0);
    print_program(plan, &plan->train, "train", out);
    print_program(plan, &plan->eval, "eval", out);
}
