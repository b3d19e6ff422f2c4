/* Which phase a cell is in at each instant: by precedence (base/phase.h) over its live jobs.
 * Intervals may arrive late and in any order (workers report them over a socket); the totals come
 * from one sweep at the end, so train_s ... setup_s add up to T_total exactly.  Thread-safe.
 */
#ifndef MEASURE_PHASE_CLOCK_H
#define MEASURE_PHASE_CLOCK_H

#include "base/phase.h"

struct phase_clock;

struct phase_clock *phase_clock_new(void);
void phase_clock_free(struct phase_clock *c);
/* Some job was in phase p during [t0, t1] (clock_now_s). */
void phase_clock_add(struct phase_clock *c, enum phase p, double t0_s, double t1_s);
/* Seconds of each phase within [t0, t1]; an instant no interval covers is SETUP. */
void phase_clock_totals(const struct phase_clock *c, double t0_s, double t1_s,
                        double out[PHASE_COUNT]);

#endif
