/* The phases a job and a cell can be in.  Order is precedence: a cell with several live jobs is in
 * the first of these that any of them is in (see measure/phase_clock.h). */
#ifndef BASE_PHASE_H
#define BASE_PHASE_H

enum phase {
    PHASE_TRAIN,
    PHASE_EVAL,
    PHASE_COMPILE,
    PHASE_BUILD,
    PHASE_DATA,
    PHASE_TEARDOWN,
    PHASE_SETUP,
    PHASE_COUNT
};

/* "train", "eval", ... ; "unknown" for a value outside the enumeration. */
const char *phase_name(enum phase p);
/* True and *out set; false (*out untouched) when name is NULL or no phase. */
int phase_parse(const char *name, enum phase *out);

#endif
