/* Learning-rate schedules: pure functions of the step t, with the formulas of
 * torch.optim.lr_scheduler in closed form (PyTorch computes some by recursion; they agree to
 * rounding).
 *
 * A schedule is written "cosine?t_max=20&eta_min=0.001".  t counts from 0: epochs, or optimiser
 * updates with per=update; `total` is how many of these the job has.  base is the job's lr.
 *   constant    base
 *   step        StepLR: base gamma^floor(t / step_size)
 *   cosine      CosineAnnealingLR: eta_min + (base - eta_min)(1 + cos(pi t / t_max)) / 2;
 *               t_max 0 (default): total
 *   one_cycle   OneCycleLR: from max_lr / div_factor up to max_lr within pct_start of total, then
 *               down to max_lr / div_factor / final_div_factor; max_lr 0 (default): base.  Counts
 *               updates by default.  cycle_momentum (default true, as PyTorch) moves momentum, or
 *               beta1, from max_momentum to base_momentum and back.
 *   linear      LinearLR: base times a factor from start_factor to end_factor over total_iters
 * warmup=W (not with one_cycle): the first W steps go linearly from warmup_factor base to base (as
 * LinearLR), then the schedule begins with t = 0 and total - W (as SequentialLR).
 */
#ifndef NN_SCHEDULE_H
#define NN_SCHEDULE_H

#include "base/error.h"
#include "nn/optim.h"

#include <stdint.h>

enum schedule_kind {
    SCHEDULE_CONSTANT,
    SCHEDULE_STEP,
    SCHEDULE_COSINE,
    SCHEDULE_ONE_CYCLE,
    SCHEDULE_LINEAR,
    SCHEDULE_COUNT
};

/* Whole numbers are kept as doubles, so that one table describes all. */
struct schedule {
    enum schedule_kind kind;
    bool per_update; /* t counts optimiser updates instead of epochs */
    double warmup, warmup_factor;
    double step_size, gamma;
    double t_max, eta_min;
    double max_lr, pct_start, div_factor, final_div_factor, base_momentum, max_momentum;
    bool linear_anneal, three_phase, cycle_momentum;
    double start_factor, end_factor, total_iters;
};

/* Strict: unknown names (with the closest), wrong types and ranges are errors.  "" and NULL are
 * constant. */
bool schedule_parse(struct schedule *s, const char *text, struct error *err);
/* What cannot work together: one_cycle with cycle_momentum and an SGD without momentum. */
bool schedule_check(const struct schedule *s, enum optim_kind optim, const struct optim_args *args,
                    struct error *err);
/* Learning rate of step t; t is cut to 0 .. total - 1 where the formula needs it (one_cycle). */
double schedule_lr(const struct schedule *s, double base, int64_t t, int64_t total);
/* The arguments an update uses: lr, and where the schedule moves it momentum or beta1. */
struct optim_args schedule_apply(const struct schedule *s, enum optim_kind optim,
                                 const struct optim_args *args, int64_t t, int64_t total);

#endif
