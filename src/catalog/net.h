/* The fields of one network's definition: read, set and written in one place, so that definitions,
 * search axes and --set agree on names, types and ranges.  For this room only.
 */
#ifndef CATALOG_NET_H
#define CATALOG_NET_H

#include "catalog/experiment.h"

#define NET_MAX_BATCH  (1 << 20)
#define NET_MAX_EPOCHS 1000000

/* Everything unset: adamw with its defaults, no lr. */
void net_init(struct net_def *net);
void net_copy(struct net_def *dst, const struct net_def *src);
void net_release(struct net_def *net);

/* Reads all fields from an object; `model_key` is "model" or "name" (multi_model).  The task
 * defaults to the data set's own.  *fault (may be NULL) is the member an error is about: borrowed
 * from def or a literal, NULL when it is about the whole. */
bool net_from_json(struct net_def *net, const json_t *def, const char *model_key,
                   const char **fault, struct error *err);
/* Adds the fields to obj, defaults filled in, in a fixed order. */
void net_to_json(const struct net_def *net, const char *model_key, json_t *obj);

/* What of its options cannot work together: optimiser and schedule. */
bool net_check_options(const struct net_def *net, struct error *err);

/* Is key a field, or an option of any optimiser? */
bool net_key_known(const char *key);
/* The keys a search may have and --set may name, one list for messages: "batch_size, epochs, ..."
 */
const char *net_key_hint(const char *key);
/* Sets one field, or one option of the net's optimiser, from typed JSON. */
bool net_set(struct net_def *net, const char *key, const json_t *value, struct error *err);
/* Text from the command line as the typed JSON of that key (new reference). */
json_t *net_value_from_text(const char *key, const char *text, struct error *err);
/* Another optimiser: its own defaults, and the options set so far that it has too.  One it lacks is
 * an error, or with `drop` left out. */
bool net_change_optimizer(struct net_def *net, const char *name, bool drop, struct error *err);

#endif
