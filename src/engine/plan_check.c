/* Proofs about a plan from its declared effects: see plan_build.h. */
#include "engine/plan_build.h"

#include "base/text.h"

#include <stdlib.h>

struct check {
    const struct plan *plan;
    const struct plan_program *prog;
    const char *name; /* "train", "eval" */
    struct error *err;
};

/* Floats [begin, end) of the lane. */
struct range {
    size_t begin, end;
};

static bool overlap(struct range a, struct range b)
{
    return a.begin < b.end && b.begin < a.end;
}

static struct range whole_range(const struct check *c, int32_t buffer)
{
    const struct plan_buffer *b = &c->prog->buffers[buffer];
    return (struct range){b->offset, b->offset + plan_buffer_size(c->plan, b)};
}

/* What the unit of shard `shard` touches of a buffer. */
static struct range shard_range(const struct check *c, int32_t buffer, int32_t shard, bool all)
{
    const struct plan_buffer *b = &c->prog->buffers[buffer];
    if (b->kind == BUFFER_LANE || (b->kind == BUFFER_SHARD && all))
        return whole_range(c, buffer);
    size_t begin = b->offset, size = b->floats;
    if (b->kind == BUFFER_ROWS) {
        begin += (size_t)shard * (size_t)c->plan->rows_per_shard * b->floats;
        const int32_t left = c->plan->batch - shard * c->plan->rows_per_shard;
        const int32_t rows = left < c->plan->rows_per_shard ? left : c->plan->rows_per_shard;
        size = (size_t)rows * b->floats;
    } else {
        begin += (size_t)shard * b->floats;
    }
    return (struct range){begin, begin + size};
}

static bool check_stages(const struct check *c)
{
    const struct plan_program *p = c->prog;
    int32_t next = 0;
    for (int32_t i = 0; i < p->n_stages; i++) {
        const struct plan_stage *s = &p->stages[i];
        if (s->first_step != next || s->n_steps < 1)
            return error_set(c->err, ERROR_INTERNAL, "plan (%s): stage %d does not follow on",
                             c->name, (int)i);
        next += s->n_steps;
        for (int32_t j = s->first_step; j < next && j < p->n_steps; j++) {
            if (p->steps[j].reads_all_shards && j != s->first_step)
                return error_set(
                    c->err, ERROR_INTERNAL,
                    "plan (%s): step %d (%s) reads all shards in the middle of stage %d", c->name,
                    (int)j, plan_step_name(p->steps[j].kind), (int)i);
            if (plan_unit_of(p->steps[j].kind) != s->unit)
                return error_set(c->err, ERROR_INTERNAL,
                                 "plan (%s): step %d (%s) has the wrong kind of unit", c->name,
                                 (int)j, plan_step_name(p->steps[j].kind));
        }
    }
    if (next != p->n_steps)
        return error_set(c->err, ERROR_INTERNAL, "plan (%s): stages cover %d of %d steps", c->name,
                         (int)next, (int)p->n_steps);
    return true;
}

/* Do a write of shard s and an access of another shard to `buffer` meet? */
static bool meets(const struct check *c, struct range mine, int32_t s, int32_t buffer, bool all)
{
    for (int32_t t = 0; t < c->plan->n_shards; t++)
        if (t != s && overlap(mine, shard_range(c, buffer, t, all)))
            return true;
    return false;
}

/* Shard s at step i writes w; does any other shard at step j touch it? */
static bool units_conflict(const struct check *c, int32_t w, int32_t s, int32_t j)
{
    const struct plan_step *other = &c->prog->steps[j];
    const struct range mine = shard_range(c, w, s, false);
    for (int32_t k = 0; k < other->n_reads; k++)
        if (meets(c, mine, s, other->read[k], other->reads_all_shards))
            return true;
    for (int32_t k = 0; k < other->n_writes; k++)
        if (meets(c, mine, s, other->write[k], false))
            return true;
    return false;
}

/* Memory of w and of something step j touches: only then do shards need a closer look. */
static bool may_conflict(const struct check *c, int32_t w, int32_t j)
{
    const struct plan_step *other = &c->prog->steps[j];
    const struct range mine = whole_range(c, w);
    for (int32_t k = 0; k < other->n_reads; k++)
        if (overlap(mine, whole_range(c, other->read[k])))
            return true;
    for (int32_t k = 0; k < other->n_writes; k++)
        if (overlap(mine, whole_range(c, other->write[k])))
            return true;
    return false;
}

/* Units of other kinds than shards write gradients, parameters and what their own step declares:
 * a part each. */
static bool check_conflicts(const struct check *c)
{
    const struct plan_program *p = c->prog;
    for (int32_t i = 0; i < p->n_steps; i++) {
        const struct plan_stage *stage = &p->stages[plan_stage_of(p, i)];
        if (stage->unit != UNIT_SHARD)
            continue;
        for (int32_t j = stage->first_step; j < stage->first_step + stage->n_steps; j++)
            for (int32_t w = 0; w < p->steps[i].n_writes; w++) {
                if (!may_conflict(c, p->steps[i].write[w], j))
                    continue;
                for (int32_t s = 0; s < c->plan->n_shards; s++)
                    if (units_conflict(c, p->steps[i].write[w], s, j))
                        return error_set(
                            c->err, ERROR_INTERNAL,
                            "plan (%s): shard %d of step %d (%s) writes buffer %d while another "
                            "shard may be using that memory in step %d (%s)",
                            c->name, (int)s, (int)i, plan_step_name(p->steps[i].kind),
                            (int)p->steps[i].write[w], (int)j, plan_step_name(p->steps[j].kind));
            }
    }
    return true;
}

static bool check_memory(const struct check *c)
{
    const struct plan_program *p = c->prog;
    for (int32_t i = 0; i < p->n_buffers; i++) {
        const struct range r = whole_range(c, i);
        if (r.end > p->lane_floats || r.end > c->plan->shard_grads)
            return error_set(c->err, ERROR_INTERNAL, "plan (%s): buffer %d ends outside the lane",
                             c->name, (int)i);
        for (int32_t j = i + 1; j < p->n_buffers; j++) {
            const bool both_live = p->buffers[i].first_step <= p->buffers[j].last_step &&
                                   p->buffers[j].first_step <= p->buffers[i].last_step;
            if (both_live && overlap(r, whole_range(c, j)))
                return error_set(c->err, ERROR_INTERNAL,
                                 "plan (%s): buffers %d and %d overlap while both are live",
                                 c->name, (int)i, (int)j);
        }
    }
    return true;
}

/* Marks `buffer` written and whatever shares its memory lost. */
static void overwrite(const struct check *c, bool *holds, int32_t buffer)
{
    for (int32_t i = 0; i < c->prog->n_buffers; i++)
        if (i != buffer && overlap(whole_range(c, i), whole_range(c, buffer)))
            holds[i] = false;
    holds[buffer] = true;
}

static bool check_reads(const struct check *c)
{
    const struct plan_program *p = c->prog;
    bool *holds = xcalloc((size_t)p->n_buffers, sizeof *holds);
    bool ok = true;
    for (int32_t i = 0; ok && i < p->n_steps; i++) {
        const struct plan_step *s = &p->steps[i];
        for (int32_t k = 0; ok && k < s->n_reads; k++) {
            const struct plan_buffer *b = &p->buffers[s->read[k]];
            ok = holds[s->read[k]] && b->first_step <= i && i <= b->last_step;
            if (!ok)
                error_set(c->err, ERROR_INTERNAL,
                          "plan (%s): step %d (%s) reads buffer %d, which does not hold what was "
                          "written to it",
                          c->name, (int)i, plan_step_name(s->kind), (int)s->read[k]);
        }
        for (int32_t k = 0; k < s->n_writes; k++)
            overwrite(c, holds, s->write[k]);
    }
    free(holds);
    return ok;
}

/* The step that computes `node`'s output, or -1. */
static int32_t forward_step_of(const struct plan_program *p, int32_t node)
{
    for (int32_t i = 0; i < p->n_steps; i++)
        if (p->steps[i].node == node &&
            (p->steps[i].kind == STEP_FORWARD || p->steps[i].kind == STEP_BN_APPLY))
            return i;
    return -1;
}

static bool written_between(const struct plan_program *p, int32_t buffer, int32_t after,
                            int32_t before)
{
    for (int32_t i = after + 1; buffer >= 0 && i < before; i++)
        for (int32_t k = 0; k < p->steps[i].n_writes; k++)
            if (p->steps[i].write[k] == buffer)
                return true;
    return false;
}

static bool check_saved_values(const struct check *c)
{
    const struct plan_program *p = c->prog;
    for (int32_t i = 0; i < p->n_steps; i++) {
        const struct plan_step *s = &p->steps[i];
        const bool back = s->kind == STEP_BACKWARD || s->kind == STEP_BACKWARD_PARAMS ||
                          s->kind == STEP_BN_BACK_REDUCE || s->kind == STEP_BN_BACK_APPLY;
        const int32_t f = back ? forward_step_of(p, s->node) : -1;
        if (back && f < 0)
            return error_set(c->err, ERROR_INTERNAL,
                             "plan (%s): step %d goes back through node %d, which has no forward",
                             c->name, (int)i, (int)s->node);
        /* An operation's own forward step must not have written over an input it goes back to. */
        bool lost = back && (written_between(p, s->y, f, i) || written_between(p, s->saved, f, i) ||
                             (s->x[0] >= 0 && s->x[0] == p->steps[f].y));
        for (int j = 0; back && j < OP_MAX_INPUTS; j++)
            lost |= written_between(p, s->x[j], f, i);
        if (lost)
            return error_set(
                c->err, ERROR_INTERNAL,
                "plan (%s): step %d (%s) needs a value of step %d that was overwritten", c->name,
                (int)i, plan_step_name(s->kind), (int)f);
    }
    return true;
}

static bool check_parameters(const struct check *c)
{
    for (int32_t i = 0; i < c->prog->n_steps; i++) {
        const struct plan_step *s = &c->prog->steps[i];
        for (int32_t k = 0; k < s->n_params; k++)
            if (s->param[k] + s->param_count[k] > c->plan->param_floats)
                return error_set(c->err, ERROR_INTERNAL,
                                 "plan (%s): step %d has a parameter outside the block", c->name,
                                 (int)i);
        for (int32_t k = 0; k < s->n_buffers; k++)
            if (s->buffer[k] >= c->plan->buffer_floats)
                return error_set(c->err, ERROR_INTERNAL,
                                 "plan (%s): step %d has a running statistic outside the block",
                                 c->name, (int)i);
    }
    return true;
}

/* ---- gradients ---- */

static const struct plan_grad_range *range_of(const struct plan *plan, size_t param)
{
    for (int32_t i = 0; i < plan->n_grads; i++)
        if (param - plan->grads[i].first < plan->grads[i].count)
            return &plan->grads[i];
    return NULL;
}

static bool gives_gradient(const struct plan *plan, const struct plan_step *s, int32_t k)
{
    const struct plan_grad_range *r = range_of(plan, s->param[k]);
    if (s->kind == STEP_BACKWARD_PARAMS)
        return r && r->whole;
    return (s->kind == STEP_BACKWARD || s->kind == STEP_BN_BACK_REDUCE) && !(r && r->whole);
}

/* The first step to give a parameter's gradient writes it, the others add; and there is one. */
static bool check_givers(const struct check *c)
{
    const struct plan_program *p = c->prog;
    bool *given = xcalloc(c->plan->param_floats, sizeof *given);
    bool ok = true;
    for (int32_t i = 0; ok && i < p->n_steps; i++)
        for (int32_t k = 0; ok && k < p->steps[i].n_params; k++) {
            const struct plan_step *s = &p->steps[i];
            if (!gives_gradient(c->plan, s, k))
                continue;
            const bool adds = s->accumulate_grad >> k & 1;
            if (adds != given[s->param[k]])
                ok = error_set(c->err, ERROR_INTERNAL,
                               "plan (%s): step %d (%s) %s the gradient at float %zu, which %s",
                               c->name, (int)i, plan_step_name(s->kind),
                               adds ? "adds to" : "writes over", s->param[k],
                               adds ? "nothing has begun" : "an earlier step has begun");
            given[s->param[k]] = true;
        }
    for (int32_t i = 0; ok && i < p->n_steps; i++)
        for (int32_t k = 0; ok && k < p->steps[i].n_params; k++)
            if (!given[p->steps[i].param[k]])
                ok = error_set(c->err, ERROR_INTERNAL,
                               "plan (%s): nothing gives the gradient of parameter %d of step %d",
                               c->name, (int)k, (int)i);
    free(given);
    return ok;
}

/* Ranges cover the parameters in order; their memory lies apart, between the buffers and the end of
 * the lane. */
static bool check_ranges(const struct plan *plan, struct error *err)
{
    const size_t n_shards = (size_t)plan->n_shards;
    size_t next = 0, needed = plan->n_grads ? 0 : n_shards * plan->param_floats;
    for (int32_t i = 0; i < plan->n_grads; i++) {
        const struct plan_grad_range *r = &plan->grads[i];
        const size_t end = r->offset + (r->whole ? 0 : (n_shards - 1) * r->stride) + r->count;
        if (r->first != next || r->offset < plan->shard_grads || end > plan->lane_floats ||
            (!r->whole && r->stride < r->count))
            return error_set(err, ERROR_INTERNAL, "plan: gradient range %d does not fit", (int)i);
        next += r->count;
        needed += (r->whole ? 1 : n_shards) * r->count;
        for (int32_t j = 0; j < i; j++) {
            const struct plan_grad_range *o = &plan->grads[j];
            if (r->offset < o->offset + o->count && o->offset < r->offset + r->count)
                return error_set(err, ERROR_INTERNAL, "plan: gradient ranges %d and %d overlap",
                                 (int)j, (int)i);
        }
    }
    if (plan->n_grads && next != plan->param_floats)
        return error_set(err, ERROR_INTERNAL, "plan: gradient ranges cover %zu of %zu floats", next,
                         plan->param_floats);
    if (plan->shard_grads + needed > plan->lane_floats)
        return error_set(err, ERROR_INTERNAL, "plan: shard gradients end outside the lane");
    return true;
}

static bool check_program(const struct check *c)
{
    return check_stages(c) && check_memory(c) && check_reads(c) && check_saved_values(c) &&
           check_conflicts(c) && check_parameters(c);
}

bool plan_check(const struct plan *plan, struct error *err)
{
    const int64_t covered = (int64_t)plan->n_shards * plan->rows_per_shard;
    if (covered < plan->batch || covered - plan->rows_per_shard >= plan->batch)
        return error_set(err, ERROR_INTERNAL, "plan: %d shards of %d rows for a batch of %d",
                         (int)plan->n_shards, (int)plan->rows_per_shard, (int)plan->batch);
    const struct check train = {plan, &plan->train, "train", err};
    return check_ranges(plan, err) && check_program(&train) && check_givers(&train) &&
           check_program(&(struct check){plan, &plan->eval, "eval", err});
}
