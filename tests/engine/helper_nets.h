/* A golden network through three steps on the engine and in double. */
#ifndef TESTS_ENGINE_HELPER_NETS_H
#define TESTS_ENGINE_HELPER_NETS_H

/* rows_per_shard 0: as the plan's rule says.  `tolerance` holds losses, gradients and weights;
 * logits in evaluation and running statistics get ten times that. */
void nets_check_float(const char *name, int rows_per_shard, double tolerance);
void nets_check_double(const char *name, int rows_per_shard, double tolerance);

#endif
