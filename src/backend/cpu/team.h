/* A team: one thread, or several, running the passes of one model.
 *
 * The leader publishes each batch; members then run its stages, meeting after each.  Threads join
 * between batches and leave when the leader ends the team.  How many there are never changes a
 * result: units do not depend on it.
 */
#ifndef BACKEND_CPU_TEAM_H
#define BACKEND_CPU_TEAM_H

#include "backend/cpu/unit.h"

#define TEAM_MAX_MEMBERS 255

struct team {
    struct batch batch; /* written by the leader between batches */
    _Atomic uint64_t *claims;
    uint64_t stage_serial; /* of the batch's first stage: what a claim is stamped with */
    /* serial << 8 | members of the batch now running; members 0: the team has ended. */
    _Alignas(64) _Atomic uint64_t word;
    _Alignas(64) _Atomic int joined; /* leader included */
    _Atomic int left;
    _Alignas(64) _Atomic int arrived; /* at the end of a stage */
    _Atomic uint32_t meeting;
};

/* Leader: opens the team on a zeroed or ended one; nobody may join before it returns. */
void team_open(struct team *t);
/* Leader: runs t->batch to its end with all who have joined. */
void team_run_batch(struct team *t, int thread);
/* Leader: ends the team and waits until everybody has left.  Nobody may join meanwhile. */
void team_end(struct team *t);
/* Another thread: takes part until the team ends.  `member` is what team_join gave. */
int team_join(struct team *t);
void team_help(struct team *t, int member, int thread);

#endif
