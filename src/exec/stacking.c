#include "exec/stacking.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

static bool same_name(const char *a, const char *b)
{
    const size_t head = strcspn(a, "?:");
    return head == strcspn(b, "?:") && strncasecmp(a, b, head) == 0 &&
           strcmp(a + head, b + head) == 0;
}

bool stacking_same(const struct job *a, const struct job *b)
{
    const struct net_def *x = &a->net, *y = &b->net;
    return x->batch_size == y->batch_size && x->amp == y->amp && a->train_size == b->train_size &&
           a->eval_each_epoch == b->eval_each_epoch && same_name(x->dataset, y->dataset) &&
           same_name(x->model, y->model) && strcmp(x->task, y->task) == 0 &&
           strcasecmp(x->optimizer, y->optimizer) == 0;
}

int stacking_groups(const struct job *jobs, const int *which, int n, int *group)
{
    int *first = xmalloc((size_t)(n > 0 ? n : 1) * sizeof *first);
    int n_groups = 0;
    for (int i = 0; i < n; i++) {
        int g = 0;
        while (g < n_groups && !stacking_same(&jobs[first[g]], &jobs[which[i]]))
            g++;
        if (g == n_groups)
            first[n_groups++] = which[i];
        group[i] = g;
    }
    free(first);
    return n_groups;
}

/* Adds the jobs of bucket g, in pieces of at most `limit`; a piece joins the last wave when it
 * still has room for the whole of it. */
static void add_bucket(struct waves *w, const int *group, int n_jobs, int g, int limit, int *used)
{
    int left = 0;
    for (int i = 0; i < n_jobs; i++)
        left += group[i] == g;
    for (int i = 0, room = 0; i < n_jobs; i++) {
        if (group[i] != g)
            continue;
        if (room == 0) {
            const int piece = left < limit ? left : limit;
            const int in_last = *used - w->start[w->n - 1];
            if (in_last > 0 && in_last + piece > limit)
                w->start[w->n++] = *used;
            room = piece;
            left -= piece;
        }
        w->order[(*used)++] = i;
        room--;
    }
}

void waves_make(const struct job *jobs, int n_jobs, int limit, struct waves *out)
{
    const size_t room = (size_t)n_jobs + 2;
    int *all = xmalloc(room * sizeof *all), *group = xmalloc(room * sizeof *group);
    *out = (struct waves){xmalloc(room * sizeof(int)), xcalloc(room, sizeof(int)), 1};
    for (int i = 0; i < n_jobs; i++)
        all[i] = i;
    const int n_groups = stacking_groups(jobs, all, n_jobs, group);
    int used = 0;
    for (int g = 0; g < n_groups; g++)
        add_bucket(out, group, n_jobs, g, limit > 0 ? limit : n_jobs, &used);
    out->start[out->n] = used;
    free(group);
    free(all);
}

void waves_release(struct waves *w)
{
    free(w->order);
    free(w->start);
    *w = (struct waves){0};
}
