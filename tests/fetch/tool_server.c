/* A web server on the loopback that serves a folder well or badly: the first part of an address
 * says how, the rest is the file.
 *   tool_server FOLDER PORT_FILE LOG
 * Writes its port to PORT_FILE, and a line "PATH RANGE-FROM" to LOG for each request.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static const char *folder;
static FILE *requests;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* A request and the file it asks for. */
struct request {
    int fd;
    char mode[32], path[512];
    long from; /* of Range; -1: none */
    char *body;
    long size;
};

static void pause_ms(long ms)
{
    const struct timespec t = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&t, NULL);
}

static bool put(const struct request *r, const char *data, long n)
{
    while (n > 0) {
        const ssize_t w = send(r->fd, data, (size_t)n, MSG_NOSIGNAL);
        if (w <= 0)
            return false;
        data += w;
        n -= w;
    }
    return true;
}

static void put_head(const struct request *r, int status, long length, const char *more)
{
    char head[1200];
    int n = snprintf(head, sizeof head, "HTTP/1.1 %d X\r\nConnection: close\r\n%s", status, more);
    if (length >= 0)
        n += snprintf(head + n, sizeof head - (size_t)n, "Content-Length: %ld\r\n", length);
    n += snprintf(head + n, sizeof head - (size_t)n, "\r\n");
    put(r, head, n);
}

/* The head of an honest answer, Range obeyed; returns where the body starts. */
static long honest_head(const struct request *r)
{
    char range[128];
    if (r->from < 0) {
        put_head(r, 200, r->size, "");
        return 0;
    }
    if (r->from >= r->size) {
        put_head(r, 416, 0, "");
        return r->size;
    }
    snprintf(range, sizeof range, "Content-Range: bytes %ld-%ld/%ld\r\n", r->from, r->size - 1,
             r->size);
    put_head(r, 206, r->size - r->from, range);
    return r->from;
}

/* What is left unread would turn the close into a reset: that is for `reset` alone. */
static void reset(const struct request *r)
{
    const struct linger now = {.l_onoff = 1, .l_linger = 0};
    setsockopt(r->fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
}

static void at_most(const struct request *r, long n)
{
    const long at = honest_head(r), left = r->size - at;
    put(r, r->body + at, left < n ? left : n);
}

static void ok(const struct request *r)
{
    at_most(r, r->size);
}
static void truncate_half(const struct request *r)
{
    at_most(r, r->size / 2);
}
/* Enough of it each time for the client to go on. */
static void flaky(const struct request *r)
{
    at_most(r, 1500000);
    pause_ms(20); /* so that it arrives before the reset */
    reset(r);
}
static void stall(const struct request *r)
{
    at_most(r, 1000);
    pause_ms(20000);
}
static void slow(const struct request *r)
{
    const long at = honest_head(r);
    for (long i = at; i < r->size; i += 16384) {
        if (!put(r, r->body + i, r->size - i < 16384 ? r->size - i : 16384))
            return;
        pause_ms(20);
    }
}
static void no_range(const struct request *r)
{
    put_head(r, 200, r->size, "");
    put(r, r->body, r->size);
}
static void bad_range(const struct request *r)
{
    char range[128];
    snprintf(range, sizeof range, "Content-Range: bytes %d-%ld/%ld\r\n", 1, r->size - 1, r->size);
    put_head(r, 206, r->size - 1, range);
    put(r, r->body + 1, r->size - 1);
}
static void loop(const struct request *r)
{
    char where[700];
    snprintf(where, sizeof where, "Location: /loop/%s\r\n", r->path);
    put_head(r, 302, 0, where);
}
static void redirect(const struct request *r)
{
    char where[700];
    snprintf(where, sizeof where, "Location: /ok/%s\r\n", r->path);
    put_head(r, 302, 0, where);
}
static void to_file(const struct request *r)
{
    put_head(r, 302, 0, "Location: file:///etc/passwd\r\n");
}
static void longer(const struct request *r)
{
    put_head(r, 200, r->size + 10, "");
    put(r, r->body, r->size);
}
static void shorter(const struct request *r)
{
    put_head(r, 200, r->size - 10, "");
    put(r, r->body, r->size - 10);
}
/* Without a length, and without an end. */
static void endless(const struct request *r)
{
    put_head(r, 200, -1, "");
    for (int i = 0; i < 1000 && put(r, r->body, r->size); i++)
        continue;
}
static void unstated_half(const struct request *r)
{
    put_head(r, 200, -1, "");
    put(r, r->body, r->size / 2);
}
static void wrong(const struct request *r)
{
    r->body[r->size / 2] ^= 1;
    at_most(r, r->size);
}
static void stated(const struct request *r)
{
    put_head(r, 200, r->size,
             "X-Linked-ETag: "
             "\"0000000000000000000000000000000000000000000000000000000000000000\"\r\n");
    put(r, r->body, r->size);
}
static void missing(const struct request *r)
{
    put_head(r, 404, 9, "");
    put(r, "not here\n", 9);
}
static void broken(const struct request *r)
{
    put_head(r, 500, 5, "");
    put(r, "oops\n", 5);
}
static void garbage(const struct request *r)
{
    put(r, r->body, r->size);
}
static void heads(const struct request *r)
{
    put(r, "HTTP/1.1 200 X\r\n", 16);
    for (int i = 0; i < 1000000 && put(r, "X-More: and more and more and more\r\n", 36); i++)
        continue;
}

static const struct {
    const char *mode;
    void (*answer)(const struct request *r);
} modes[] = {
    {"ok", ok},
    {"truncate", truncate_half},
    {"flaky", flaky},
    {"stall", stall},
    {"slow", slow},
    {"norange", no_range},
    {"badrange", bad_range},
    {"loop", loop},
    {"redirect", redirect},
    {"tofile", to_file},
    {"long", longer},
    {"short", shorter},
    {"endless", endless},
    {"half", unstated_half},
    {"wrong", wrong},
    {"stated", stated},
    {"404", missing},
    {"500", broken},
    {"reset", reset},
    {"garbage", garbage},
    {"heads", heads},
};

static bool read_body(struct request *r)
{
    char path[1200];
    snprintf(path, sizeof path, "%s/%s", folder, r->path);
    FILE *f = strstr(r->path, "..") ? NULL : fopen(path, "r");
    if (!f)
        return false;
    fseek(f, 0, SEEK_END);
    r->size = ftell(f);
    rewind(f);
    r->body = malloc((size_t)r->size + 1);
    const bool whole = fread(r->body, 1, (size_t)r->size, f) == (size_t)r->size;
    fclose(f);
    return whole;
}

static bool read_request(struct request *r)
{
    char head[4096];
    size_t n = 0;
    head[0] = '\0';
    while (n + 1 < sizeof head && !strstr(head, "\r\n\r\n")) {
        const ssize_t got = recv(r->fd, head + n, sizeof head - 1 - n, 0);
        if (got <= 0)
            return false;
        n += (size_t)got;
        head[n] = '\0';
    }
    r->from = -1;
    const char *range = strstr(head, "Range: bytes=");
    if (range)
        r->from = strtol(range + 13, NULL, 10);
    return sscanf(head, "GET /%31[^/ ]/%511[^ ?]", r->mode, r->path) == 2;
}

static void *serve(void *arg)
{
    struct request r = {.fd = (int)(long)arg};
    if (read_request(&r)) {
        pthread_mutex_lock(&lock);
        fprintf(requests, "%s/%s %ld\n", r.mode, r.path, r.from);
        fflush(requests);
        pthread_mutex_unlock(&lock);
        void (*answer)(const struct request *) = missing;
        for (size_t i = 0; read_body(&r) && i < sizeof modes / sizeof *modes; i++) {
            if (strcmp(modes[i].mode, r.mode) == 0) {
                answer = modes[i].answer;
                break;
            }
            free(r.body);
            r.body = NULL;
        }
        answer(&r);
        free(r.body);
    }
    close(r.fd);
    return NULL;
}

int main(int argc, char **argv)
{
    if (argc != 4) {
        fprintf(stderr, "usage: tool_server FOLDER PORT_FILE LOG\n");
        return 2;
    }
    folder = argv[1];
    requests = fopen(argv[3], "a");
    const int server = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof at;
    if (!requests || server < 0 || bind(server, (struct sockaddr *)&at, sizeof at) != 0 ||
        listen(server, 64) != 0 || getsockname(server, (struct sockaddr *)&at, &len) != 0) {
        perror("tool_server");
        return 1;
    }
    signal(SIGPIPE, SIG_IGN);
    FILE *port = fopen(argv[2], "w");
    if (!port)
        return 1;
    fprintf(port, "%d\n", ntohs(at.sin_port));
    fclose(port);
    for (;;) {
        const int fd = accept(server, NULL, NULL);
        pthread_t thread;
        if (fd >= 0 && pthread_create(&thread, NULL, serve, (void *)(long)fd) == 0)
            pthread_detach(thread);
    }
}
