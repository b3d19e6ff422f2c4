/* Energy of the processor packages from RAPL (/sys/class/powercap/intel-rapl:*, which AMD's
 * processors have under the same name).  Internal to the room. */
#ifndef MEASURE_RAPL_H
#define MEASURE_RAPL_H

#include <stdbool.h>
#include <stdint.h>

#define RAPL_ROOT         "/sys/class/powercap"
#define RAPL_MAX_PACKAGES 16
/* The counters hold a few minutes at full load: read at least this often. */
#define RAPL_READ_EVERY_S 30.0

struct rapl {
    int n;
    int fd[RAPL_MAX_PACKAGES];
    uint64_t range_uj[RAPL_MAX_PACKAGES]; /* the counter wraps after this value */
    uint64_t last_uj[RAPL_MAX_PACKAGES];
    double joules;  /* of all packages since rapl_reset */
    bool lost;      /* a reading failed since: joules are not known */
    char cause[96]; /* why there is no reading; "" when there is one */
};

/* root: RAPL_ROOT.  n is 0 and cause says why when there is nothing to read: no such folder, or
 * counters only root may read. */
void rapl_open(struct rapl *r, const char *root);
void rapl_close(struct rapl *r);
/* Starts counting from now. */
void rapl_reset(struct rapl *r);
/* Adds what was used since the last call; to be called before a counter can wrap twice. */
void rapl_update(struct rapl *r);

#endif
