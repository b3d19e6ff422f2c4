#include "measure/rapl.h"
#include "base/text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* First line of root/domain/name; false with errno when it cannot be read. */
static bool read_line(const char *root, const char *domain, const char *name, char *out,
                      size_t size)
{
    char *path = xasprintf("%s/%s/%s", root, domain, name);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    free(path);
    if (fd < 0)
        return false;
    const ssize_t n = read(fd, out, size - 1);
    const int why = errno;
    close(fd);
    errno = why;
    out[n > 0 ? n : 0] = '\0';
    out[strcspn(out, "\n")] = '\0';
    return n > 0;
}

static bool read_counter(int fd, uint64_t *uj)
{
    char text[32];
    const ssize_t n = pread(fd, text, sizeof text - 1, 0);
    if (n <= 0)
        return false;
    text[n] = '\0';
    text[strcspn(text, "\n")] = '\0';
    return text_to_uint64(text, uj);
}

/* Opens one domain when it is a package ("package-0"): sub-domains are inside it, psys beside it.
 */
static void open_domain(struct rapl *r, const char *root, const char *domain)
{
    char name[64], range[32];
    if (!read_line(root, domain, "name", name, sizeof name) || !text_starts_with(name, "package"))
        return;
    if (r->n == RAPL_MAX_PACKAGES)
        return;
    char *path = xasprintf("%s/%s/energy_uj", root, domain);
    errno = 0;
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const int why = errno;
    free(path);
    uint64_t uj;
    if (fd < 0 || !read_counter(fd, &uj)) {
        snprintf(r->cause, sizeof r->cause, "RAPL of %.20s not readable: %.40s", name,
                 fd < 0 ? strerror(why) : "no number in it");
        if (fd >= 0)
            close(fd);
        return;
    }
    r->fd[r->n] = fd;
    r->last_uj[r->n] = uj;
    r->range_uj[r->n] = 0;
    if (read_line(root, domain, "max_energy_range_uj", range, sizeof range))
        text_to_uint64(range, &r->range_uj[r->n]);
    r->n++;
}

void rapl_open(struct rapl *r, const char *root)
{
    *r = (struct rapl){0};
    DIR *folder = opendir(root);
    const struct dirent *entry;
    while (folder && (entry = readdir(folder)) != NULL) {
        const char *digits = entry->d_name + strlen("intel-rapl:");
        if (text_starts_with(entry->d_name, "intel-rapl:") && *digits &&
            strspn(digits, "0123456789") == strlen(digits))
            open_domain(r, root, entry->d_name);
    }
    if (folder)
        closedir(folder);
    /* A part of the packages would be a wrong total. */
    if (r->cause[0])
        rapl_close(r);
    else if (r->n == 0)
        snprintf(r->cause, sizeof r->cause, "no RAPL on this machine");
}

void rapl_close(struct rapl *r)
{
    for (int i = 0; i < r->n; i++)
        close(r->fd[i]);
    r->n = 0;
}

void rapl_update(struct rapl *r)
{
    for (int i = 0; i < r->n; i++) {
        uint64_t now;
        if (!read_counter(r->fd[i], &now)) {
            r->lost = true;
            continue;
        }
        const uint64_t last = r->last_uj[i];
        r->last_uj[i] = now;
        if (now >= last)
            r->joules += (double)(now - last) * 1e-6;
        else if (r->range_uj[i] >= last)
            r->joules += (double)(r->range_uj[i] - last + now) * 1e-6;
        else
            r->lost = true; /* it went backwards and nothing says where it wraps */
    }
}

void rapl_reset(struct rapl *r)
{
    rapl_update(r);
    r->joules = 0;
    r->lost = false;
}
