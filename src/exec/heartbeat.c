/* A sign of life each second, from a thread of its own: training may keep the others busy. */
#include "base/text.h"
#include "exec/channel.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#define PERIOD_MS 1000

struct heartbeat {
    struct channel *channel;
    pthread_t thread;
    int stop[2]; /* a pipe: poll's clock is monotonic everywhere, a condition's is not */
};

static void *beat(void *arg)
{
    struct heartbeat *h = arg;
    struct pollfd p = {.fd = h->stop[0], .events = POLLIN};
    for (;;) {
        const int ready = poll(&p, 1, PERIOD_MS);
        if (ready > 0)
            return NULL;
        if (ready == 0 && !channel_sendf(h->channel, NULL, "heartbeat", NULL))
            return NULL;
    }
}

struct heartbeat *heartbeat_start(struct channel *c)
{
    struct heartbeat *h = xcalloc(1, sizeof *h);
    h->channel = c;
    if (pipe(h->stop) != 0) {
        free(h);
        return NULL;
    }
    for (int i = 0; i < 2; i++)
        fcntl(h->stop[i], F_SETFD, FD_CLOEXEC);
    /* Signals stay with the main thread. */
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    const int rc = pthread_create(&h->thread, NULL, beat, h);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (rc == 0)
        return h;
    close(h->stop[0]);
    close(h->stop[1]);
    free(h);
    return NULL;
}

void heartbeat_stop(struct heartbeat *h)
{
    if (!h)
        return;
    close(h->stop[1]);
    pthread_join(h->thread, NULL);
    close(h->stop[0]);
    free(h);
}
