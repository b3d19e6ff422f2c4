/* Networks described in a JSON file, accepted wherever a model name is ("my_net.json"):
 * docs/networks.md is the manual.  Every error about the content begins "FILE:LINE:COLUMN: ".
 */
#ifndef NN_JSON_NET_H
#define NN_JSON_NET_H

#include "nn/graph.h"

/* Is this the name of a network file, rather than of a built-in model?  It ends in ".json". */
bool json_net_is(const char *name);
/* Reads the file and checks all that does not depend on the shape of a sample: operations, their
 * arguments, names and links. */
bool json_net_check(const char *path, struct error *err);
/* Builds the network for samples of shape `in` and n_outputs outputs. */
struct graph *json_net_build(const char *path, struct shape in, int n_outputs, struct error *err);

#endif
