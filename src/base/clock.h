/* Time: one monotonic clock for all measuring (comparable between processes of one host), and wall
 * time for stamps only. */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>

/* CLOCK_MONOTONIC in seconds. */
double clock_now_s(void);
int64_t clock_now_ns(void);
/* Local time YYYYMMDD_HHMMSS (the reference's format) into out[16]. */
void clock_stamp(char out[16]);
/* UTC, ISO 8601 with milliseconds, into out[25]: 2026-11-30T22:29:20.123Z */
void clock_stamp_utc(char out[25]);
void clock_sleep_s(double seconds);

#endif
