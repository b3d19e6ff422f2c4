/* Who runs what.  A thread without work takes the waiting model with the most work left and leads a
 * team of one through its next pass; when no model is waiting it joins the team with the most work
 * left a member.  So with at least as many models as threads every thread runs whole passes alone,
 * and with fewer all threads share what there is, re-forming whenever a pass ends.
 */
#include "backend/cpu/device.h"
#include "base/clock.h"
#include "base/os.h"

#include <stdlib.h>

#define TICK_S 0.05

static bool should_stop(struct backend_device *dev)
{
    if (atomic_load_explicit(&dev->stopping, memory_order_relaxed))
        return true;
    const struct run_hooks *h = dev->hooks;
    if (!h || !h->should_stop || !h->should_stop(h->ctx))
        return false;
    atomic_store(&dev->stopping, true);
    return true;
}

static void set_batch(struct team *t, const struct pass *pass, int64_t first, int64_t index)
{
    const struct plan *plan = t->batch.bucket->plan;
    const int64_t left = pass->n_rows - first;
    t->batch.pass = pass;
    t->batch.program = pass->kind == PASS_TRAIN ? &t->batch.bucket->train : &t->batch.bucket->eval;
    t->batch.first = first;
    t->batch.index = (uint32_t)index;
    t->batch.n_valid = (int32_t)(left < plan->batch ? left : plan->batch);
    if (pass->kind != PASS_TRAIN)
        return;
    const int64_t update = pass->first_update + index;
    const struct optim_args scheduled =
        pass->schedule ? schedule_apply(pass->schedule, plan->optim, &pass->optim, update - 1,
                                        pass->schedule_total)
                       : pass->optim;
    t->batch.rule = optim_step_prepare(plan->optim, &scheduled, update);
}

static void run_pass(struct backend_device *dev, struct team *t, const struct model_run *run,
                     const struct pass *pass, int thread, struct pass_result *result)
{
    const struct run_hooks *h = dev->hooks;
    *result = (struct pass_result){.t_start_s = clock_now_s()};
    double last_tick = result->t_start_s;
    int64_t index = 0;
    for (int64_t first = 0; first < pass->n_rows; index++) {
        if (should_stop(dev)) {
            result->stopped = true;
            break;
        }
        set_batch(t, pass, first, index);
        team_run_batch(t, thread);
        batch_add_sums(&t->batch, &result->sums);
        result->n_updates += pass->kind == PASS_TRAIN;
        first += t->batch.n_valid;
        const double now = clock_now_s();
        if (h && h->tick && now - last_tick >= TICK_S) {
            last_tick = now;
            h->tick(h->ctx, run, pass, first, result->sums.loss_sum);
        }
    }
    result->t_end_s = clock_now_s();
}

/* ---- under the lock ---- */

static struct entry *longest_waiting(struct backend_device *dev)
{
    struct entry *best = NULL;
    for (int i = 0; i < dev->n_entries; i++) {
        struct entry *e = &dev->entries[i];
        if (e->state == ENTRY_WAITING && (!best || e->remaining > best->remaining))
            best = e;
    }
    return best;
}

/* The open team with the most work left a member that another thread helps. */
static struct place *neediest_team(struct backend_device *dev)
{
    struct place *best = NULL;
    double most = -1;
    for (int i = 0; i < dev->use.threads; i++) {
        struct place *p = &dev->places[i];
        const int joined = atomic_load(&p->team.joined);
        if (!p->open || joined >= p->max_members)
            continue;
        const double share = p->remaining / (joined + 1);
        if (share > most) {
            best = p;
            most = share;
        }
    }
    return best;
}

static int take_lane(struct backend_bucket *b)
{
    for (int i = 0; i < b->n_lanes; i++)
        if (!b->lane_state[i].used) {
            b->lane_state[i].used = true;
            return i;
        }
    return -1; /* cannot be: no more teams than threads, no more than models */
}

static void open_place(struct backend_device *dev, struct place *p, const struct entry *e, int lane)
{
    struct backend_bucket *b = e->run->bucket;
    const int32_t shards = b->plan->n_shards;
    p->team.batch.bucket = b;
    p->team.batch.slice = bucket_slice(b, e->run->k);
    p->team.batch.lane = b->lanes + (size_t)lane * b->lane_stride;
    p->team.claims = b->claims + (size_t)lane * b->claims_stride;
    p->team.stage_serial = b->lane_state[lane].next_serial;
    p->remaining = e->remaining;
    p->max_members = shards < dev->use.threads ? shards : dev->use.threads;
    if (p->max_members > TEAM_MAX_MEMBERS)
        p->max_members = TEAM_MAX_MEMBERS;
    team_open(&p->team);
    p->open = true;
    dev->n_open++;
    if (dev->n_idle > 0 && p->max_members > 1)
        pthread_cond_broadcast(&dev->work);
}

/* The leader goes on with its model without breaking up when nobody waits for a thread and its
 * helpers could not do better elsewhere. */
static bool stays(struct backend_device *dev, struct place *p)
{
    return dev->n_waiting == 0 && (dev->n_open == 1 || atomic_load(&p->team.joined) == 1);
}

/* ---- a worker ---- */

/* Runs passes of e until it is finished or another model should have its turn.  Called and left
 * with the lock held. */
static void lead(struct worker *w, struct entry *e)
{
    struct backend_device *dev = w->dev;
    struct place *p = &dev->places[w->index];
    struct model_run *run = e->run;
    e->state = ENTRY_RUNNING;
    dev->n_waiting--;
    const int lane = take_lane(run->bucket);
    bool opened = false, more = true, go_on = true;
    while (go_on) {
        pthread_mutex_unlock(&dev->lock);
        struct pass pass = {0};
        struct pass_result result;
        more = !should_stop(dev) && run->next(run->ctx, &pass);
        pthread_mutex_lock(&dev->lock);
        if (!more)
            break;
        if (!opened)
            open_place(dev, p, e, lane);
        opened = true;
        pthread_mutex_unlock(&dev->lock);
        run_pass(dev, &p->team, run, &pass, w->index, &result);
        run->done(run->ctx, &pass, &result);
        const double remaining = run->remaining ? run->remaining(run->ctx) : 0;
        pthread_mutex_lock(&dev->lock);
        e->remaining = p->remaining = remaining;
        go_on = stays(dev, p);
    }
    if (opened) {
        p->open = false;
        dev->n_open--;
        pthread_mutex_unlock(&dev->lock);
        team_end(&p->team);
        pthread_mutex_lock(&dev->lock);
        run->bucket->lane_state[lane].next_serial = p->team.stage_serial;
    }
    run->bucket->lane_state[lane].used = false;
    e->state = more ? ENTRY_WAITING : ENTRY_FINISHED;
    dev->n_waiting += more;
    dev->n_unfinished -= !more;
    if (dev->n_unfinished == 0)
        pthread_cond_broadcast(&dev->finished);
    else if (dev->n_idle > 0 && dev->n_waiting > 0)
        pthread_cond_signal(&dev->work);
}

void *cpu_thread_main(void *arg)
{
    struct worker *w = arg;
    struct backend_device *dev = w->dev;
    if (dev->pin)
        os_pin_thread(w->index);
    pthread_mutex_lock(&dev->lock);
    while (!dev->closing) {
        struct entry *e = dev->n_waiting > 0 ? longest_waiting(dev) : NULL;
        struct place *p = e ? NULL : neediest_team(dev);
        if (e) {
            lead(w, e);
        } else if (p) {
            const int member = team_join(&p->team);
            pthread_mutex_unlock(&dev->lock);
            team_help(&p->team, member, w->index);
            pthread_mutex_lock(&dev->lock);
        } else {
            dev->n_idle++;
            pthread_cond_wait(&dev->work, &dev->lock);
            dev->n_idle--;
        }
    }
    pthread_mutex_unlock(&dev->lock);
    return NULL;
}

bool device_run(struct backend_device *dev, struct model_run *const *runs, int n,
                const struct run_hooks *hooks, struct error *err)
{
    if (n < 1)
        return true;
    struct entry *entries = calloc((size_t)n, sizeof *entries);
    if (!entries)
        return error_set(err, ERROR_SYSTEM, "out of memory for a run of %d models", n);
    for (int i = 0; i < n; i++) {
        entries[i].run = runs[i];
        entries[i].remaining = runs[i]->remaining ? runs[i]->remaining(runs[i]->ctx) : 0;
    }
    pthread_mutex_lock(&dev->lock);
    dev->entries = entries;
    dev->n_entries = dev->n_waiting = dev->n_unfinished = n;
    dev->hooks = hooks;
    atomic_store(&dev->stopping, false);
    pthread_cond_broadcast(&dev->work);
    while (dev->n_unfinished > 0)
        pthread_cond_wait(&dev->finished, &dev->lock);
    dev->entries = NULL;
    dev->n_entries = 0;
    dev->hooks = NULL;
    pthread_mutex_unlock(&dev->lock);
    free(entries);
    return true;
}
