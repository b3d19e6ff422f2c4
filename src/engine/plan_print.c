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
    [STEP_BACKWARD_PARAMS] = "backward_params",
    [STEP_GRAD_SQUARES] = "grad_squares",
    [STEP_GRAD_SCALE] = "grad_scale",
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
    const bool named = s->node >= 0 || s->kind == STEP_LOSS;
    fprintf(out, "%-14s", named ? op_infos[s->op].name : "");
    if (named)
        fprintf(out, "%dx%dx%d", (int)s->out.d[0], (int)s->out.d[1], (int)s->out.d[2]);
    print_list(out, "reads", s->read, s->n_reads);
    print_list(out, "writes", s->write, s->n_writes);
    if (s->accumulate_dx || s->accumulate_grad)
        fputs("  accumulates", out);
    fputc('\n', out);
}

static const char *const units[] = {[UNIT_SHARD] = "shards",
                                    [UNIT_CHUNK] = "chunks of parameters",
                                    [UNIT_PART] = "parts of tensors",
                                    [UNIT_ONE] = "alone"};

static int32_t unit_count(const struct plan *plan, enum unit_kind unit)
{
    const int32_t counts[] = {[UNIT_SHARD] = plan->n_shards,
                              [UNIT_CHUNK] = plan->n_chunks,
                              [UNIT_PART] = PLAN_PARTS,
                              [UNIT_ONE] = 1};
    return counts[unit];
}

static void print_program(const struct plan *plan, const struct plan_program *p, const char *name,
                          FILE *out)
{
    fprintf(out, "%s: %d steps in %d stages, %d buffers in %.1f KiB a lane\n", name,
            (int)p->n_steps, (int)p->n_stages, (int)p->n_buffers,
            (double)p->lane_floats * 4.0 / 1024.0);
    for (int32_t i = 0; i < p->n_stages; i++) {
        const struct plan_stage *s = &p->stages[i];
        fprintf(out, "  stage %d: %d %s\n", (int)i, (int)unit_count(plan, s->unit), units[s->unit]);
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
    for (int32_t i = 0; i < plan->n_grads; i++)
        fprintf(out, "gradients of floats %zu to %zu: %s\n", plan->grads[i].first,
                plan->grads[i].first + plan->grads[i].count,
                plan->grads[i].whole ? "one for the batch" : "one a shard");
    print_program(plan, &plan->train, "train", out);
    print_program(plan, &plan->eval, "eval", out);
}
