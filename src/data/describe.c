/* What files say about a set, remembered: every check of every experiment asks for it, and of a
 * table it takes a pass over the file. */
#include "base/text.h"
#include "data/request.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- have the files changed? ---- */

#define FNV_START 0xCBF29CE484222325u
#define FNV_PRIME 0x100000001B3u

static uint64_t mix(uint64_t h, uint64_t v)
{
    for (int i = 0; i < 8; i++)
        h = (h ^ ((v >> (8 * i)) & 0xFF)) * FNV_PRIME;
    return h;
}

static uint64_t mix_file(uint64_t h, const char *path)
{
    struct stat st;
    char *gz = xasprintf("%s.gz", path);
    if (stat(path, &st) == 0 || stat(gz, &st) == 0) {
        h = mix(mix(h, (uint64_t)st.st_dev), (uint64_t)st.st_ino);
        h = mix(mix(h, (uint64_t)st.st_size), (uint64_t)st.st_mtime);
#ifdef __APPLE__
        h = mix(h, (uint64_t)st.st_mtimespec.tv_nsec);
#else
        h = mix(h, (uint64_t)st.st_mtim.tv_nsec);
#endif
    }
    free(gz);
    return h;
}

/* Of the files a request names: PATH and the arguments that are files. */
static uint64_t stamp_of(const struct data_args *args, const char *root)
{
    const struct data_info *info = &args->def->info;
    uint64_t h = mix_file(FNV_START, args->path);
    for (int i = 0; i < info->n_args; i++)
        if (info->args[i].type == DATA_ARG_FILE && data_arg_given(args, info->args[i].name)) {
            char *path = data_arg_path(args, info->args[i].name, root);
            h = mix_file(h, path);
            free(path);
        }
    return h;
}

/* ---- what is remembered ---- */

#define N_REMEMBERED 16

static struct remembered {
    char *text; /* the spec */
    uint64_t stamp;
    struct data_info info;
} remembered[N_REMEMBERED];
static int n_remembered;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static bool recall(const char *text, uint64_t stamp, struct data_info *info)
{
    bool found = false;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < N_REMEMBERED && !found; i++) {
        const struct remembered *m = &remembered[i];
        if (m->text && m->stamp == stamp && strcmp(m->text, text) == 0) {
            *info = m->info;
            found = true;
        }
    }
    pthread_mutex_unlock(&lock);
    return found;
}

static void remember(const char *text, uint64_t stamp, const struct data_info *info)
{
    pthread_mutex_lock(&lock);
    struct remembered *m = &remembered[n_remembered++ % N_REMEMBERED];
    free(m->text);
    *m = (struct remembered){xstrdup(text), stamp, *info};
    pthread_mutex_unlock(&lock);
}

bool data_request_describe(struct data_request *r, const char *root, struct error *err)
{
    const struct data_def *def = r->args.def;
    if (!def->describe)
        return true;
    /* Where the files of a set with a name of its own lie is the loader's to know. */
    if (!def->info.path)
        return def->describe(&r->args, root, &r->info, err);
    const uint64_t stamp = stamp_of(&r->args, root);
    if (recall(r->args.text, stamp, &r->info))
        return true;
    if (!data_request_present(r, root, err) || !def->describe(&r->args, root, &r->info, err))
        return false;
    remember(r->args.text, stamp, &r->info);
    return true;
}
