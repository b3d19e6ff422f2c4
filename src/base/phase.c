#include "base/phase.h"

#include <string.h>

static const char *const names[PHASE_COUNT] = {
    [PHASE_TRAIN] = "train", [PHASE_EVAL] = "eval", [PHASE_COMPILE] = "compile",
    [PHASE_BUILD] = "build", [PHASE_DATA] = "data", [PHASE_TEARDOWN] = "teardown",
    [PHASE_SETUP] = "setup",
};

const char *phase_name(enum phase p)
{
    return (unsigned)p < PHASE_COUNT ? names[p] : "unknown";
}

int phase_parse(const char *name, enum phase *out)
{
    for (int i = 0; name && i < PHASE_COUNT; i++) {
        if (strcmp(name, names[i]) == 0) {
            *out = (enum phase)i;
            return 1;
        }
    }
    return 0;
}
