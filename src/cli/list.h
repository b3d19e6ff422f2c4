/* The tables of `fugue list`: experiments (cmd_list.c), models, data sets.  For this room only. */
#ifndef CLI_LIST_H
#define CLI_LIST_H

#include "catalog/registry.h"
#include "cli/print.h"

/* models: at the shape of the first experiment of the catalogue that trains them. */
void list_models(const struct registry *catalogue, bool json);
/* data_root: where files are looked for. */
void list_datasets(const char *data_root, bool json);

/* "0.61 M", "1.82 G": a count of things in three digits; malloc'd. */
char *list_count(double v);
/* "18 KiB", "1.2 MiB"; malloc'd. */
char *list_bytes(double bytes);
/* "3x32x32" as height, width, channels: "32x32x3"; "128 tokens", "8 values"; malloc'd. */
char *list_shape(struct shape s, bool tokens);
json_t *list_shape_json(struct shape s);

#endif
