/* The effective catalogue: built-in experiments (E01-E17, D01-D04) merged with
 * $FUGUE_REGISTRY_DIR/experiments.json (later wins; shadowing a built-in id warns).
 */
#ifndef CATALOG_REGISTRY_H
#define CATALOG_REGISTRY_H

#include "base/text.h"
#include "catalog/experiment.h"

struct registry {
    struct experiment **items;
    int32_t n;
};

/* registry_dir may lack the file (then only built-ins).  Errors carry file, line and column. */
bool registry_load(struct registry *r, const char *registry_dir, struct error *err);
/* As registry_load, but definitions that cannot be used are left out and their errors added to
 * problems: for `validate`, which reports all of them.  False only when the file itself cannot be
 * read as JSON. */
bool registry_load_all(struct registry *r, const char *registry_dir, struct text_list *problems,
                       struct error *err);
void registry_release(struct registry *r);
const struct experiment *registry_find(const struct registry *r, const char *id);
/* Adds an ad-hoc experiment (takes ownership, also when it is refused).  Its name: not "all", not
 * taken, no comma, colon, slash, blank or control character, at most 64 bytes. */
bool registry_add(struct registry *r, struct experiment *e, struct error *err);

/* Selection grammar (reference 2.5): none or "all" alone is everything; tokens split on commas;
 * each an id (exact, then upper-cased), a number with optional E (3, e3 -> E03), or an inclusive
 * range lo:hi with either side optional, by registry position.  First position kept, duplicates
 * dropped. *out is a malloc'd array of borrowed experiments. */
bool registry_select(const struct registry *r, const char *const *tokens, int n_tokens,
                     const struct experiment ***out, int32_t *n, struct error *err);

/* KEY=V1,V2 tokens of --search-space, typed and checked against what a job has (lr, batch_size,
 * epochs, amp, optimizer, task, the optimiser's options): unknown keys, repeated keys, values of
 * the wrong type or range (lr nan, epochs -2) are refused.  Result: JSON object of arrays. */
json_t *search_space_parse(const char *const *tokens, int n, struct error *err);

#endif
