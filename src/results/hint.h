/* <runs>/results.hint: how far the CSV files are, so that a sync with nothing to do need not
 * compare keys.  Only ever a hint: it names size, inode and time of the files it was written for,
 * and where anything differs the truth is derived from the keys again.  Internal to the room. */
#ifndef RESULTS_HINT_H
#define RESULTS_HINT_H

#include <stdbool.h>
#include <stdint.h>

struct hint_file {
    long long size; /* -1: absent */
    long long inode, mtime_ns;
};

struct hint {
    struct hint_file journal, csv[2];
    uint64_t tail; /* hash of the journal's last bytes before its size */
};

enum hint_state {
    HINT_CURRENT, /* nothing to do */
    HINT_GROWN,   /* the CSV files are as they were left, the journal has lines after *offset */
    HINT_UNKNOWN, /* compare keys */
};

enum hint_state hint_check(const char *hint_path, const char *journal, const char *const csv[2],
                           int64_t *offset);
/* Says that the CSV files hold all lines before `end` of the journal.  Failing to write it costs
 * time later and nothing else. */
void hint_save(const char *hint_path, const char *journal, const char *const csv[2], int64_t end);

#endif
