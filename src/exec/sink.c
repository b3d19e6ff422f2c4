/* Calls of a sink's members, each of which may be NULL. */
#include "exec/unit.h"

#include "base/clock.h"

#include <stdio.h>

void sink_begin(const struct group_sink *sink)
{
    if (sink->begin)
        sink->begin(sink->ctx);
}

void sink_end(const struct group_sink *sink)
{
    if (sink->end)
        sink->end(sink->ctx);
}

void sink_phase(const struct group_sink *sink, int job, enum phase p, double t0_s, double t1_s)
{
    if (sink->job_phase)
        sink->job_phase(sink->ctx, job, p, t0_s, t1_s);
}

void sink_epoch(const struct group_sink *sink, int job, const struct epoch_report *r)
{
    if (sink->epoch)
        sink->epoch(sink->ctx, job, r);
}

void sink_progress(const struct group_sink *sink, int job, double epochs_done, double samples_per_s,
                   double loss)
{
    if (sink->progress)
        sink->progress(sink->ctx, job, epochs_done, samples_per_s, loss);
}

void sink_done(const struct group_sink *sink, int job, const struct job_result *r)
{
    if (sink->done)
        sink->done(sink->ctx, job, r);
}

void sink_worker(const struct group_sink *sink, pid_t pid, bool alive)
{
    if (sink->worker)
        sink->worker(sink->ctx, pid, alive);
}

void sink_not_run(const struct group_sink *sink, int job, enum job_status status, const char *cause)
{
    struct job_result r;
    job_result_init(&r);
    r.status = status;
    snprintf(r.cause, sizeof r.cause, "%s", cause);
    sink_done(sink, job, &r);
    job_result_release(&r);
}
