/* Optimisers with PyTorch's update rules and defaults.  The table says what each takes; the rules
 * themselves are inline functions of one element, in nn/optim_rule.h, which every backend calls.
 */
#ifndef NN_OPTIM_H
#define NN_OPTIM_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

enum optim_kind { OPTIM_SGD, OPTIM_ADAM, OPTIM_ADAMW, OPTIM_COUNT };

/* All options of all optimisers; each optimiser's defaults are PyTorch's. */
struct optim_args {
    double lr;
    double momentum, dampening; /* sgd */
    double weight_decay;      /* sgd, adam: added to the gradient; adamw: decoupled, default 0.01 */
    double beta1, beta2, eps; /* adam, adamw */
    bool nesterov;            /* sgd; needs momentum > 0 and dampening 0 */
    bool amsgrad;             /* adam, adamw */
};

enum optim_arg_type { OPTIM_ARG_NUMBER, OPTIM_ARG_BOOL };
struct optim_arg {
    const char *name; /* "momentum", "betas.0" -> beta1, "betas.1" -> beta2 */
    size_t offset;    /* in struct optim_args */
    double min, max;  /* inclusive; beta's max is exclusive 1 (max_open) */
    enum optim_arg_type type;
    bool max_open;
};

struct optim_info {
    const char *name; /* "adamw" */
    enum optim_kind kind;
    struct optim_args defaults;   /* lr not set */
    const struct optim_arg *args; /* the options it takes beside lr */
    int n_args;
};

extern const struct optim_info optim_infos[OPTIM_COUNT];
/* Case-insensitive; NULL when unknown. */
const struct optim_info *optim_find(const char *name);
/* Sets one option by name from text ("momentum", "0.9"; "nesterov", "true"; "betas",
 * "0.9,0.999").  Unknown names (with the closest), wrong types and ranges are errors. */
bool optim_set(const struct optim_info *info, struct optim_args *args, const char *name,
               const char *value, struct error *err);
/* lr > 0 and finite (0 is allowed: a frozen model), nesterov's conditions, ranges. */
bool optim_check(const struct optim_info *info, const struct optim_args *args, struct error *err);

/* State slots (each of the parameter block's size) these arguments need: sgd 0, or 1 with
 * momentum; adam 2, or 3 with amsgrad. */
int optim_slots(enum optim_kind kind, const struct optim_args *args);
/* "momentum_buffer", "exp_avg", "exp_avg_sq", "max_exp_avg_sq": PyTorch's names. */
const char *optim_slot_name(enum optim_kind kind, int slot);

#endif
