#include "fetch/get.h"

#include "base/clock.h"
#include "base/env.h"
#include "base/file.h"
#include "base/log.h"
#include "base/os.h"
#include "base/text.h"
#include "fetch/digest.h"
#include "fetch/transfer.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MIB ((int64_t)1 << 20)

struct fetch_patience fetch_patience = {.stall_s = 30, .pause_s = 1, .tries = 5};

/* ---- digests ---- */

static bool stop_requested(void)
{
    return os_stop_requested() != 0;
}

static bool same_digest(const char *kind, const char *is, const char *wanted, struct error *err)
{
    if (!wanted || strcmp(is, wanted) == 0)
        return true;
    return error_set(err, ERROR_DATA, "its %s is %s, and should be %s: a damaged or another file",
                     kind, is, wanted);
}

bool get_check(const struct download_file *f, const char *path, const char *stated_sha256,
               struct error *err)
{
    char md5[DIGEST_HEX], sha256[DIGEST_HEX];
    const char *wanted = f->sha256;
    if (!f->md5 && !f->sha256 && stated_sha256 && *stated_sha256)
        wanted = stated_sha256;
    const int64_t size = file_size(path);
    if (f->size > 0 && size != f->size)
        return error_set(err, ERROR_DATA, "it has %" PRId64 " bytes, and should have %" PRId64,
                         size, f->size);
    if (wanted)
        return digest_file(path, NULL, sha256, stop_requested, err) &&
               same_digest("SHA-256", sha256, wanted, err);
    return !f->md5 || (digest_file(path, md5, NULL, stop_requested, err) &&
                       same_digest("MD5", md5, f->md5, err));
}

/* ---- one source ---- */

struct getting {
    const struct download_file *f;
    const struct fetch_options *o;
    const char *label; /* in progress: "cifar10: cifar-10-binary.tar.gz" */
    char *part, *whole;
    int64_t *bytes;
    double start_s; /* of the present transfer, for its rate */
    int64_t start_have;
};

static void show(void *ctx, int64_t have, int64_t total)
{
    const struct getting *g = ctx;
    if (!g->o->progress)
        return;
    const double elapsed = clock_now_s() - g->start_s;
    progress_update(
        g->o->progress, g->label,
        &(struct progress_state){.bytes = true,
                                 .done = (double)have,
                                 .total = (double)total,
                                 .loss = (double)NAN,
                                 .samples_per_s =
                                     elapsed > 0 ? (double)(have - g->start_have) / elapsed : 0});
}

/* True when the pause was not interrupted. */
static bool pause_before(int failures)
{
    const double end =
        clock_now_s() + fetch_patience.pause_s * (double)(1 << (failures < 4 ? failures - 1 : 3));
    while (clock_now_s() < end && !os_stop_requested())
        clock_sleep_s(0.02);
    return !os_stop_requested();
}

enum outcome { GOT, NEXT_SOURCE, GIVE_UP };

/* Is the part the file?  A wrong one is removed; it may have been put together from several
 * sources or over several days, so the source gets another chance unless all of it was its own. */
static enum outcome conclude(struct getting *g, const char *stated, bool all_own, bool *again,
                             struct error *err)
{
    *again = false;
    if (get_check(g->f, g->part, stated, err)) {
        if (rename(g->part, g->whole) == 0)
            return GOT;
        error_errno(err, errno, "cannot rename '%s'", g->part);
        return GIVE_UP;
    }
    if (err->class_ != ERROR_DATA)
        return GIVE_UP;
    unlink(g->part);
    *again = !all_own;
    return NEXT_SOURCE;
}

static enum outcome one_try(struct getting *g, const char *url, bool *all_own, bool *again,
                            struct error *err)
{
    int64_t have = file_size(g->part);
    struct transfer t = {.url = url,
                         .part = g->part,
                         .size = g->f->size,
                         .stall_s = fetch_patience.stall_s,
                         .progress = show,
                         .ctx = g};
    *again = true;
    if (g->f->size > 0 && have == g->f->size)
        return conclude(g, NULL, *all_own, again, err);
    g->start_s = clock_now_s();
    g->start_have = have > 0 ? have : 0;
    const enum transfer_result result = transfer_run(&t, err);
    *g->bytes += t.got;
    *all_own = *all_own || have <= 0 || t.restarted;
    have = file_size(g->part);
    if (result == TRANSFER_STOPPED || result == TRANSFER_LOCAL)
        return GIVE_UP;
    if (result == TRANSFER_WHOLE && (g->f->size == 0 || have == g->f->size))
        return conclude(g, t.stated_sha256, *all_own, again, err);
    if (result == TRANSFER_WHOLE)
        error_set(err, ERROR_DATA, "the server ends after %" PRId64 " of %" PRId64 " bytes", have,
                  g->f->size);
    *again = result != TRANSFER_REFUSED;
    return NEXT_SOURCE;
}

/* A source is left when it refuses, or brings nothing new several times in a row. */
static enum outcome from_source(struct getting *g, const char *url, struct error *err)
{
    int failures = 0;
    bool all_own = false, again = true;
    int64_t most = file_size(g->part);
    for (;;) {
        struct error why = ERROR_INIT;
        const enum outcome outcome = one_try(g, url, &all_own, &again, &why);
        const int64_t have = file_size(g->part);
        *err = why;
        if (outcome != NEXT_SOURCE)
            return outcome;
        failures = have >= most + MIB ? 1 : failures + 1;
        most = have > most ? have : most;
        if (!again || failures >= fetch_patience.tries)
            return NEXT_SOURCE;
        log_msg(LOG_NOTICE, "%s: %s; trying again", url, why.text);
        if (!pause_before(failures)) {
            error_set(err, ERROR_RUN, "interrupted");
            return GIVE_UP;
        }
    }
}

/* ---- all sources ---- */

static void add_mirrors(struct text_list *urls, const char *mirrors, const char *set,
                        const char *name)
{
    struct text_list bases;
    text_list_init(&bases);
    text_split(&bases, mirrors, ' ');
    for (size_t i = 0; i < bases.n; i++) {
        char *base = bases.items[i];
        for (size_t n = strlen(base); n > 0 && base[n - 1] == '/'; n--)
            base[n - 1] = '\0';
        if (!*base)
            continue;
        char *url = xasprintf("%s/%s/%s", base, set, name);
        text_list_add(urls, url);
        free(url);
    }
    text_list_release(&bases);
}

static bool from_any(struct getting *g, const struct text_list *urls, struct error *err)
{
    for (size_t i = 0; i < urls->n; i++) {
        const enum outcome outcome = from_source(g, urls->items[i], err);
        if (outcome == GOT)
            return true;
        if (outcome == GIVE_UP)
            return false;
        if (i + 1 < urls->n)
            log_msg(LOG_WARNING, "%s: %s; trying %s", urls->items[i], err->text,
                    urls->items[i + 1]);
        else
            error_prefix(err, "%s", urls->items[i]);
    }
    if (urls->n == 0)
        return error_set(err, ERROR_USAGE, "FUGUE_MIRROR holds no address");
    if (urls->n > 1)
        error_prefix(err, "none of its %zu sources will do; the last", urls->n);
    return false;
}

bool get_file(const struct download *d, const struct download_file *f,
              const struct fetch_options *o, const char *work, int64_t *bytes, struct error *err)
{
    char *label = xasprintf("%s: %s", d->name, f->name);
    struct getting g = {.f = f,
                        .o = o,
                        .label = label,
                        .part = xasprintf("%s/%s.part", work, f->name),
                        .whole = path_join(work, f->name),
                        .bytes = bytes};
    struct text_list urls;
    text_list_init(&urls);
    if (o->mirrors && *o->mirrors)
        add_mirrors(&urls, o->mirrors, d->name, f->name);
    else
        for (int i = 0; f->source[i]; i++)
            text_list_add(&urls, f->source[i]);
    /* Renamed to its name only when it was checked: whole already. */
    bool ok = file_exists(g.whole);
    if (!ok && env_offline())
        error_set(err, ERROR_DATA, "FUGUE_OFFLINE forbids downloads; unset it to fetch %s",
                  urls.n > 0 ? urls.items[0] : "it");
    else if (!ok)
        ok = from_any(&g, &urls, err);
    text_list_release(&urls);
    free(g.part);
    free(g.whole);
    free(label);
    return ok;
}
