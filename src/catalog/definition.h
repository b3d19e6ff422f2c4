/* Reading a definition with the member an error is about, so that registry.c can name its line.
 * For this room only. */
#ifndef CATALOG_DEFINITION_H
#define CATALOG_DEFINITION_H

#include "catalog/experiment.h"

/* As experiment_from_json; the error has no place in front.  *fault: the member it is about
 * (borrowed from def or a literal), NULL when it is about the whole. */
struct experiment *definition_read(const char *id, const json_t *def, const char *source,
                                   const char **fault, struct error *err);

/* Number of trials of the grid; more than EXPERIMENT_MAX_JOBS gives EXPERIMENT_MAX_JOBS + 1. */
int64_t grid_size(const struct experiment *e);
/* The network of trial i: last key fastest.  *out is filled on success and the caller's. */
bool grid_net(const struct experiment *e, int64_t i, struct net_def *out, struct error *err);

/* Built-in number i as a definition (new reference) and its id; NULL past the end. */
json_t *builtin_definition(int i, const char **id);

/* Ids and names: not "all", no comma, colon, slash, blank or control character, no leading '-', 1
 * to 64 bytes. */
bool id_check(const char *id, struct error *err);

#endif
