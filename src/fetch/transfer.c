#include "fetch/transfer.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/os.h"
#include "base/text.h"
#include "fetch/curl.h"
#include "fugue_version.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_REDIRECTS     8
#define CONNECT_TIMEOUT_S 20
#define MAX_UNSTATED      ((int64_t)8 << 30) /* bytes of a file whose size nobody has said */

/* An attempt on its way. */
struct attempt {
    struct transfer *t;
    const struct curl_api *curl;
    CURL *easy;
    int fd;
    int64_t have;                    /* length of the part */
    double last_s;                   /* when the last byte came, or the attempt began */
    bool body_begun;                 /* the head was judged and taken */
    int64_t range_from, range_total; /* of the reply's Content-Range; -1: none */
    enum transfer_result why;        /* why a callback gave up; TRANSFER_WHOLE: it did not */
    char message[CURL_ERROR_SIZE];
    struct error err;
};

/* ---- the reply's head ---- */

static bool header_value(const char *line, size_t n, const char *name, char *out, size_t size)
{
    const size_t m = strlen(name);
    if (n <= m || strncasecmp(line, name, m) != 0 || line[m] != ':')
        return false;
    const char *p = line + m + 1, *end = line + n;
    while (p < end && isspace((unsigned char)*p))
        p++;
    while (end > p && isspace((unsigned char)end[-1]))
        end--;
    snprintf(out, size, "%.*s", (int)(end - p), p);
    return true;
}

/* A strong ETag of 64 hexadecimal digits. */
static void take_stated_digest(struct transfer *t, const char *value)
{
    const char *p = *value == '"' ? value + 1 : value;
    if (strspn(p, "0123456789abcdef") == 64 && (p[64] == '\0' || p[64] == '"'))
        snprintf(t->stated_sha256, sizeof t->stated_sha256, "%.64s", p);
}

static size_t on_header(char *line, size_t size, size_t n, void *ctx)
{
    struct attempt *a = ctx;
    char value[256];
    n *= size;
    if (n >= 5 && strncmp(line, "HTTP/", 5) == 0) /* of a redirect's next stop */
        a->range_from = a->range_total = -1;
    if (header_value(line, n, "Content-Range", value, sizeof value) &&
        sscanf(value, "bytes %" SCNd64 "-%*d/%" SCNd64, &a->range_from, &a->range_total) < 1)
        a->range_from = -1;
    if (header_value(line, n, "X-Linked-ETag", value, sizeof value))
        take_stated_digest(a->t, value);
    return n;
}

/* ---- the body ---- */

static bool give_up(struct attempt *a, enum transfer_result why)
{
    a->why = why;
    return false;
}

static bool drop_part(struct attempt *a)
{
    if (ftruncate(a->fd, 0) != 0) {
        error_errno(&a->err, errno, "cannot empty '%s'", a->t->part);
        return give_up(a, TRANSFER_LOCAL);
    }
    a->t->restarted = a->have > 0;
    a->have = 0;
    return true;
}

static bool refused(struct attempt *a, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static bool refused(struct attempt *a, const char *format, ...)
{
    char text[400];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    error_set(&a->err, ERROR_DATA, "%s", text);
    return give_up(a, TRANSFER_REFUSED);
}

/* Is this body what was asked for, and where does it go? */
static bool begin_body(struct attempt *a)
{
    long status = 0;
    curl_off_t length = -1;
    a->curl->easy_getinfo(a->easy, CURLINFO_RESPONSE_CODE, &status);
    a->curl->easy_getinfo(a->easy, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &length);
    if (status != 200 && status != 206)
        return give_up(a, TRANSFER_REFUSED); /* judged by its number once it is over */
    if (status == 206 && a->range_from != a->have)
        return refused(a, "the server sends byte %" PRId64 " where %" PRId64 " was asked for",
                       a->range_from, a->have);
    if (status == 200 && !drop_part(a))
        return false;
    int64_t total = 0;
    if (status == 206 && a->range_total > 0)
        total = a->range_total;
    else if (length >= 0)
        total = a->have + length;
    a->t->stated_size = total;
    if (a->t->size > 0 && total > 0 && total != a->t->size)
        return refused(a, "the server's file has %" PRId64 " bytes, %" PRId64 " were expected",
                       total, a->t->size);
    a->body_begun = true;
    return true;
}

static size_t on_body(char *data, size_t size, size_t n, void *ctx)
{
    struct attempt *a = ctx;
    n *= size;
    a->last_s = clock_now_s();
    if (!a->body_begun && !begin_body(a))
        return 0;
    const int64_t most = a->t->size > 0 ? a->t->size : MAX_UNSTATED;
    if ((int64_t)n > most - a->have) {
        refused(a, "the server sends more than the %" PRId64 " bytes of the file", most);
        return 0;
    }
    for (size_t done = 0; done < n;) {
        const ssize_t w = write(a->fd, data + done, n - done);
        if (w < 0 && errno == EINTR)
            continue;
        if (w < 0) {
            error_errno(&a->err, errno, "cannot write to '%s' after %" PRId64 " bytes", a->t->part,
                        a->have);
            give_up(a, TRANSFER_LOCAL);
            return 0;
        }
        done += (size_t)w;
        a->have += w;
        a->t->got += w;
    }
    if (a->t->progress)
        a->t->progress(a->t->ctx, a->have, a->t->size ? a->t->size : a->t->stated_size);
    return n;
}

/* ---- the attempt ---- */

static void set_options(struct attempt *a)
{
    const struct curl_api *c = a->curl;
    CURL *e = a->easy;
    c->easy_setopt(e, CURLOPT_URL, a->t->url);
    c->easy_setopt(e, CURLOPT_USERAGENT, "fugue/" FUGUE_VERSION);
    c->easy_setopt(e, CURLOPT_ERRORBUFFER, a->message);
    c->easy_setopt(e, CURLOPT_NOSIGNAL, 1L);
    c->easy_setopt(e, CURLOPT_FOLLOWLOCATION, 1L);
    c->easy_setopt(e, CURLOPT_MAXREDIRS, (long)MAX_REDIRECTS);
    /* The strings that replace these masks came with libcurl 7.85, after Ubuntu 22.04. */
#if LIBCURL_VERSION_NUM >= 0x075500
    const bool secure = text_starts_with(a->t->url, "https:");
    c->easy_setopt(e, CURLOPT_PROTOCOLS_STR, "http,https");
    c->easy_setopt(e, CURLOPT_REDIR_PROTOCOLS_STR, secure ? "https" : "http,https");
#else
    const bool secure = text_starts_with(a->t->url, "https:");
    c->easy_setopt(e, CURLOPT_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
    c->easy_setopt(e, CURLOPT_REDIR_PROTOCOLS,
                   (long)(secure ? CURLPROTO_HTTPS : CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
    c->easy_setopt(e, CURLOPT_CONNECTTIMEOUT, (long)CONNECT_TIMEOUT_S);
    c->easy_setopt(e, CURLOPT_HEADERFUNCTION, on_header);
    c->easy_setopt(e, CURLOPT_HEADERDATA, a);
    c->easy_setopt(e, CURLOPT_WRITEFUNCTION, on_body);
    c->easy_setopt(e, CURLOPT_WRITEDATA, a);
}

/* Waits for the end of the transfer, or for the user's wish to stop. */
static CURLcode perform(struct attempt *a)
{
    const struct curl_api *c = a->curl;
    CURLM *multi = c->multi_init();
    CURLcode code = CURLE_FAILED_INIT;
    int running = 1;
    if (!multi || c->multi_add_handle(multi, a->easy) != CURLM_OK)
        return CURLE_OUT_OF_MEMORY;
    struct curl_waitfd stop = {.fd = os_stop_fd(), .events = CURL_WAIT_POLLIN};
    a->last_s = clock_now_s();
    while (running && c->multi_perform(multi, &running) == CURLM_OK && running) {
        const double silent_s = clock_now_s() - a->last_s;
        if (os_stop_requested()) {
            give_up(a, TRANSFER_STOPPED);
            break;
        }
        if (silent_s >= a->t->stall_s) {
            error_set(&a->err, ERROR_DATA, "nothing came for %.0f s", silent_s);
            give_up(a, TRANSFER_CUT);
            break;
        }
        c->multi_poll(multi, &stop, stop.fd >= 0 ? 1 : 0, 250, NULL);
    }
    int left = 0;
    for (const CURLMsg *m; (m = c->multi_info_read(multi, &left)) != NULL;)
        if (m->msg == CURLMSG_DONE)
            code = m->data.result;
    c->multi_remove_handle(multi, a->easy);
    c->multi_cleanup(multi);
    return code;
}

static enum transfer_result judge_status(long status, struct error *err)
{
    static const long busy[] = {408, 429, 500, 502, 503, 504};
    error_set(err, ERROR_DATA, "the server answers %ld%s", status,
              status == 404   ? " (not found)"
              : status == 403 ? " (forbidden)"
              : status == 429 ? " (too many requests)"
              : status >= 500 ? " (its own error)"
                              : "");
    for (size_t i = 0; i < sizeof busy / sizeof *busy; i++)
        if (status == busy[i])
            return TRANSFER_CUT;
    return TRANSFER_REFUSED;
}

static enum transfer_result judge(struct attempt *a, CURLcode code, struct error *err)
{
    long status = 0;
    a->curl->easy_getinfo(a->easy, CURLINFO_RESPONSE_CODE, &status);
    if (a->why == TRANSFER_STOPPED) {
        error_set(err, ERROR_RUN, "interrupted");
        return TRANSFER_STOPPED;
    }
    if (a->err.class_ != ERROR_NONE) {
        *err = a->err;
        return a->why;
    }
    /* A part as long as the file, or longer: nothing is left to ask for. */
    if (status == 416) {
        if (!drop_part(a)) {
            *err = a->err;
            return a->why;
        }
        error_set(err, ERROR_DATA, "the server has nothing after the part that is there");
        return TRANSFER_CUT;
    }
    if (status >= 400 || (status > 0 && status != 200 && status != 206 && code == CURLE_OK))
        return judge_status(status, err);
    if (code == CURLE_OK && (a->body_begun || begin_body(a)))
        return TRANSFER_WHOLE;
    if (a->err.class_ != ERROR_NONE) {
        *err = a->err;
        return a->why;
    }
    error_set(err, ERROR_DATA, "%s", *a->message ? a->message : a->curl->easy_strerror(code));
    static const CURLcode hopeless[] = {
        CURLE_URL_MALFORMAT,        CURLE_UNSUPPORTED_PROTOCOL,     CURLE_TOO_MANY_REDIRECTS,
        CURLE_COULDNT_RESOLVE_HOST, CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CONNECT_ERROR,
        CURLE_COULDNT_CONNECT,      CURLE_BAD_CONTENT_ENCODING,     CURLE_WEIRD_SERVER_REPLY};
    for (size_t i = 0; i < sizeof hopeless / sizeof *hopeless; i++)
        if (code == hopeless[i])
            return TRANSFER_REFUSED;
    return TRANSFER_CUT;
}

static enum transfer_result run_open(struct attempt *a, struct error *err)
{
    struct stat st;
    char range[40];
    if (fstat(a->fd, &st) != 0) {
        error_errno(err, errno, "cannot read '%s'", a->t->part);
        return TRANSFER_LOCAL;
    }
    a->have = st.st_size;
    /* More than there can be is not a part of it. */
    if (a->t->size > 0 && a->have > a->t->size && !drop_part(a)) {
        *err = a->err;
        return TRANSFER_LOCAL;
    }
    set_options(a);
    if (a->have > 0) {
        snprintf(range, sizeof range, "%" PRId64 "-", a->have);
        a->curl->easy_setopt(a->easy, CURLOPT_RANGE, range);
    }
    return judge(a, perform(a), err);
}

enum transfer_result transfer_run(struct transfer *t, struct error *err)
{
    struct attempt a = {
        .t = t, .range_from = -1, .range_total = -1, .why = TRANSFER_WHOLE, .err = ERROR_INIT};
    t->restarted = false;
    t->got = t->stated_size = 0;
    t->stated_sha256[0] = '\0';
    a.curl = curl_open(err);
    if (!a.curl)
        return TRANSFER_LOCAL;
    a.fd = open(t->part, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (a.fd < 0) {
        error_errno(err, errno, "cannot write '%s'", t->part);
        return TRANSFER_LOCAL;
    }
    a.easy = a.curl->easy_init();
    enum transfer_result result = TRANSFER_LOCAL;
    if (a.easy)
        result = run_open(&a, err);
    else
        error_set(err, ERROR_SYSTEM, "no memory for a transfer");
    a.curl->easy_cleanup(a.easy);
    if (close(a.fd) != 0 && result == TRANSFER_WHOLE) {
        error_errno(err, errno, "cannot write '%s'", t->part);
        result = TRANSFER_LOCAL;
    }
    return result;
}
