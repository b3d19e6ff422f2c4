/* The table a run ends with: strategy, K, T_group, speedup against the baseline, samples/s, energy,
 * memory (the peak), score, whose name is the heading where all have the same; one table an
 * experiment.
 */
#ifndef CAMPAIGN_SUMMARY_H
#define CAMPAIGN_SUMMARY_H

#include "campaign/cell.h"

#include <stdio.h>

/* groups: n group events (struct cell_outcome.group), NULL entries for cells without one; specs in
 * the same order.  Text for people. */
void summary_print(FILE *out, const struct cell_spec *specs, const struct cell_outcome *outcomes,
                   int n);
/* The same content as JSON (new reference): array of objects. */
json_t *summary_json(const struct cell_spec *specs, const struct cell_outcome *outcomes, int n);

#endif
