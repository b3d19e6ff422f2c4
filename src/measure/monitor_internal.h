/* For the room's tests. */
#ifndef MEASURE_MONITOR_INTERNAL_H
#define MEASURE_MONITOR_INTERNAL_H

#include "measure/monitor.h"

/* As monitor_start with another folder than the system's for RAPL. */
struct monitor *monitor_start_with(int gpu, bool use_gpu, const char *rapl_root, struct error *err);

#endif
