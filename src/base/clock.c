#include "base/clock.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define NS_PER_S 1000000000

int64_t clock_now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * NS_PER_S + t.tv_nsec;
}

double clock_now_s(void)
{
    return (double)clock_now_ns() * 1e-9;
}

void clock_stamp(char out[16])
{
    const time_t now = time(NULL);
    struct tm tm;
    if (!localtime_r(&now, &tm) || strftime(out, 16, "%Y%m%d_%H%M%S", &tm) == 0)
        memcpy(out, "00000000_000000", 16);
}

void clock_stamp_utc(char out[25])
{
    struct timespec t;
    struct tm tm;
    char day[24];
    clock_gettime(CLOCK_REALTIME, &t);
    if (!gmtime_r(&t.tv_sec, &tm) || strftime(day, sizeof day, "%Y-%m-%dT%H:%M:%S", &tm) != 19)
        memcpy(day, "0000-00-00T00:00:00", 20);
    const unsigned ms = (unsigned)(t.tv_nsec / 1000000) % 1000;
    snprintf(out, 25, "%.19s.%03uZ", day, ms);
}

void clock_sleep_s(double seconds)
{
    if (!(seconds > 0))
        return;
    const double most = 1e9;
    const double s = seconds < most ? seconds : most;
    struct timespec left = {.tv_sec = (time_t)s};
    left.tv_nsec = (long)((s - (double)left.tv_sec) * 1e9);
    while (nanosleep(&left, &left) != 0 && errno == EINTR)
        continue;
}
