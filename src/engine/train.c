/* The training loop, seen from one model: which pass comes next, and what a finished pass means.
 * The backend asks from its own threads, one model never twice at once, so a model's state needs no
 * lock; events do, since they come from all models.
 *
 * A model's way: epochs 1..E (each followed by the validation set when eval_each_epoch), then the
 * training set and the validation set without augmentation on running statistics, then its result.
 */
#include "engine/bucket.h"

#include "base/clock.h"

#include <math.h>
#include <pthread.h>

#define PROGRESS_EVERY_NS 100000000 /* at most ten a second and model */

enum goal { GOAL_NONE, GOAL_EPOCH, GOAL_TRAIN_SET, GOAL_VAL_SET };

static enum goal next_goal(const struct model_state *m)
{
    if (m->finished || m->torn)
        return GOAL_NONE;
    if (m->report_due)
        return GOAL_VAL_SET;
    if (m->pause_after > 0 && (m->epoch >= m->pause_after || m->epoch >= m->spec.epochs))
        return GOAL_NONE;
    if (m->epoch < m->spec.epochs)
        return GOAL_EPOCH;
    if (!m->train_known)
        return GOAL_TRAIN_SET;
    return m->val_known ? GOAL_NONE : GOAL_VAL_SET;
}

bool train_wants_pass(const struct model_state *m)
{
    return next_goal(m) != GOAL_NONE;
}

static int64_t updates_an_epoch(const struct model_state *m)
{
    const int64_t batch = m->bucket->plan->batch;
    return (m->split->split.n_train + batch - 1) / batch;
}

/* The options an epoch (from 1) trains with: a schedule that counts epochs is applied here, one
 * that counts updates by the backend. */
static void schedule_epoch(const struct model_state *m, int32_t epoch, struct pass *pass)
{
    const struct train_spec *spec = &m->spec;
    pass->optim = spec->optim;
    if (spec->schedule.per_update) {
        pass->schedule = &spec->schedule;
        pass->schedule_total = spec->epochs * updates_an_epoch(m);
    } else {
        pass->optim = schedule_apply(&spec->schedule, m->bucket->optim->kind, &spec->optim,
                                     epoch - 1, spec->epochs);
    }
}

/* Learning rate of the pass's last update. */
static double last_lr(const struct pass *pass, const struct pass_result *r)
{
    if (!pass->schedule)
        return pass->optim.lr;
    return schedule_lr(pass->schedule, pass->optim.lr, pass->first_update + r->n_updates - 2,
                       pass->schedule_total);
}

bool train_next(void *ctx, struct pass *pass)
{
    struct model_state *m = ctx;
    const struct bucket *b = m->bucket;
    const struct split *split = &m->split->split;
    const enum goal goal = next_goal(m);
    if (goal == GOAL_NONE)
        return false;
    *pass = (struct pass){.kind = PASS_EVAL,
                          .source = &b->train_source,
                          .rows = split->train,
                          .n_rows = split->n_train,
                          .rows_last = true,
                          .seed = m->spec.seed,
                          .epoch = (uint32_t)m->epoch};
    if (goal == GOAL_VAL_SET) {
        pass->source = split->val_is_test ? &b->test_source : &b->train_source;
        pass->rows = split->val;
        pass->n_rows = split->n_val;
    } else if (goal == GOAL_EPOCH) {
        const int32_t epoch = m->epoch + 1;
        pass->kind = PASS_TRAIN;
        pass->shuffled = b->engine->backend->shuffles;
        if (!pass->shuffled) {
            order_epoch(split->train, split->n_train, m->spec.seed, (uint32_t)epoch, m->order);
            pass->rows = m->order;
            pass->rows_last = false;
        }
        pass->epoch = (uint32_t)epoch;
        pass->first_update = m->updates + 1;
        schedule_epoch(m, epoch, pass);
        pass->clip_grad_norm = m->spec.clip_grad_norm;
    }
    m->pass_start_s = clock_now_s();
    return true;
}

double train_remaining(void *ctx)
{
    const struct model_state *m = ctx;
    const struct split *s = &m->split->split;
    const int32_t last =
        m->pause_after > 0 && m->pause_after < m->spec.epochs ? m->pause_after : m->spec.epochs;
    /* A training sample costs about three times an evaluated one: forward and twice that back. */
    const double epochs = last > m->epoch ? 3.0 * (last - m->epoch) : 0.0;
    return m->bucket->macs * ((epochs + 1.0) * (double)s->n_train + (double)s->n_val);
}

/* ---- events ---- */

static const struct engine_events *lock_events(struct model_state *m)
{
    pthread_mutex_lock(m->run->mutex);
    return m->run->events;
}

static void unlock_events(struct model_state *m)
{
    pthread_mutex_unlock(m->run->mutex);
}

static void say_phase(struct model_state *m, enum phase phase, const struct pass_result *r)
{
    const struct engine_events *e = lock_events(m);
    if (e->phase)
        e->phase(e->ctx, m->bucket, m->k, phase, r->t_start_s, r->t_end_s);
    unlock_events(m);
}

static void say_epoch(struct model_state *m)
{
    const struct engine_events *e = lock_events(m);
    m->report_due = false;
    if (e->epoch)
        e->epoch(e->ctx, m->bucket, m->k, &m->report);
    unlock_events(m);
}

static void say_result(struct model_state *m, enum model_status status)
{
    const struct engine_events *e = lock_events(m);
    m->result.status = status;
    m->result.epochs_run = m->epoch;
    if (e->result)
        e->result(e->ctx, m->bucket, m->k, &m->result);
    unlock_events(m);
}

/* Position in epochs; of several threads that find the next report due, one makes it. */
static void say_progress(struct model_state *m, double epochs_done, int64_t rows, double loss_sum)
{
    const double targets = (double)rows * m->bucket->data->labels_per_sample;
    const int64_t now = clock_now_ns();
    int64_t due = atomic_load_explicit(&m->next_progress_ns, memory_order_relaxed);
    if (now < due || rows < 1 ||
        !atomic_compare_exchange_strong(&m->next_progress_ns, &due, now + PROGRESS_EVERY_NS))
        return;
    const struct engine_events *e = lock_events(m);
    const double spent_s = (double)now * 1e-9 - m->pass_start_s;
    if (e->progress)
        e->progress(e->ctx, m->bucket, m->k, epochs_done,
                    spent_s > 0 ? (double)rows / spent_s : 0.0, loss_sum / targets);
    unlock_events(m);
}

static void finish(struct model_state *m, enum model_status status)
{
    if (m->report_due)
        say_epoch(m);
    m->finished = true;
    say_result(m, status);
}

void train_interrupted(struct model_state *m)
{
    if (m->report_due)
        say_epoch(m);
    say_result(m, MODEL_INTERRUPTED);
}

/* ---- finished passes ---- */

static void epoch_done(struct model_state *m, const struct pass *pass, const struct pass_result *r)
{
    m->result.train_s += r->t_end_s - r->t_start_s;
    m->result.total_samples += r->sums.n;
    m->updates += r->n_updates;
    if (r->stopped) {
        m->torn = r->n_updates > 0;
        return;
    }
    double loss, score;
    m->bucket->task->finish(&r->sums, &loss, &score);
    m->epoch++;
    m->train_known = m->val_known = false;
    m->report = (struct epoch_report){.epoch = m->epoch,
                                      .epochs = m->spec.epochs,
                                      .t_start_s = r->t_start_s,
                                      .t_end_s = r->t_end_s,
                                      .train_loss = loss,
                                      .lr = last_lr(pass, r),
                                      .val_loss = NAN,
                                      .score = NAN};
    m->report_due = true;
    say_progress(m, m->epoch, r->sums.n, r->sums.loss_sum);
    if (!isfinite(r->sums.loss_sum))
        finish(m, MODEL_DIVERGED);
    else if (!m->bucket->eval_each_epoch)
        say_epoch(m);
}

static void evaluation_done(struct model_state *m, bool train_set, const struct pass_result *r)
{
    struct model_result *to = &m->result;
    double loss, score;
    to->eval_s += r->t_end_s - r->t_start_s;
    if (r->stopped)
        return;
    m->bucket->task->finish(&r->sums, &loss, &score);
    if (train_set || m->split->val_is_train) {
        to->train_loss = loss;
        to->train_score = score;
        m->train_known = true;
    }
    if (!train_set || m->split->val_is_train) {
        to->val_loss = loss;
        to->val_score = score;
        m->val_known = true;
    }
    if (m->report_due) {
        m->report.val_loss = loss;
        m->report.score = score;
        say_epoch(m);
    }
    if (!isfinite(loss))
        finish(m, MODEL_DIVERGED);
    else if (m->epoch >= m->spec.epochs && m->pause_after == 0 && m->train_known && m->val_known)
        finish(m, MODEL_OK);
}

void train_done(void *ctx, const struct pass *pass, const struct pass_result *result)
{
    struct model_state *m = ctx;
    say_phase(m, pass->kind == PASS_TRAIN ? PHASE_TRAIN : PHASE_EVAL, result);
    if (pass->kind == PASS_TRAIN)
        epoch_done(m, pass, result);
    else
        evaluation_done(m, pass->rows == m->split->split.train, result);
}

void train_tick(void *ctx, const struct model_run *run, const struct pass *pass, int64_t rows_done,
                double loss_sum)
{
    (void)ctx;
    const double part = (double)rows_done / (double)pass->n_rows;
    if (pass->kind == PASS_TRAIN)
        say_progress(run->ctx, (double)(pass->epoch - 1) + part, rows_done, loss_sum);
}
