/* Limits that control groups put on this process (Linux).  The roots are parameters so that tests
 * can lay out a tree of their own. */
#ifndef BASE_OS_CGROUP_H
#define BASE_OS_CGROUP_H

#include <stdint.h>

/* Where the kernel shows them. */
#define CGROUP_MEMBERSHIP "/proc/self/cgroup"
#define CGROUP_ROOT       "/sys/fs/cgroup"

/* Smallest CPU quota of the process's groups and all above them, in cores (1.5 is one and a half);
 * 0 when there is none.  membership is a file like /proc/self/cgroup; versions 1 and 2. */
double cgroup_cpu_quota(const char *membership, const char *root);

/* Smallest "limit minus what is used and cannot be dropped" of the memory groups, in bytes; -1 when
 * nothing limits.  File pages that were not touched lately (inactive_file) count as free, as the
 * kernel drops them first. */
int64_t cgroup_memory_left(const char *membership, const char *root);

#endif
