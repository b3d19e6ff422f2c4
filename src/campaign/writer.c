#include "campaign/writer.h"
#include "results/results.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

struct writer {
    struct results *store;
    void (*written)(void *ctx, int job, const json_t *row);
    void *ctx;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    json_t *queue; /* array of [row, history, job] */
    bool finish;
    struct text_list lost; /* the thread's own until it has ended */
    struct error err;
};

/* The next pair (new reference); NULL when all is written and no more will come. */
static json_t *take(struct writer *w)
{
    json_t *item = NULL;
    pthread_mutex_lock(&w->lock);
    while (json_array_size(w->queue) == 0 && !w->finish)
        pthread_cond_wait(&w->wake, &w->lock);
    if (json_array_size(w->queue) > 0) {
        item = json_incref(json_array_get(w->queue, 0));
        json_array_remove(w->queue, 0);
    }
    pthread_mutex_unlock(&w->lock);
    return item;
}

static void *write_rows(void *arg)
{
    struct writer *w = arg;
    for (json_t *item; (item = take(w)) != NULL; json_decref(item)) {
        const json_t *row = json_array_get(item, 0);
        struct error err = ERROR_INIT;
        if (w->store && !results_add_job(w->store, row, json_array_get(item, 1), &err)) {
            text_list_add(&w->lost, json_string_value(json_object_get(row, "job_id")));
            if (w->err.class_ == ERROR_NONE)
                w->err = err;
        }
        w->written(w->ctx, (int)json_integer_value(json_array_get(item, 2)), row);
    }
    return NULL;
}

struct writer *writer_start(struct results *store,
                            void (*written)(void *ctx, int job, const json_t *row), void *ctx,
                            struct error *err)
{
    struct writer *w = xcalloc(1, sizeof *w);
    w->store = store;
    w->written = written;
    w->ctx = ctx;
    w->queue = json_array();
    text_list_init(&w->lost);
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->wake, NULL);
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    const int rc = pthread_create(&w->thread, NULL, write_rows, w);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (rc == 0)
        return w;
    error_errno(err, rc, "cannot start the thread that writes rows");
    text_list_release(&w->lost);
    json_decref(w->queue);
    free(w);
    return NULL;
}

void writer_add(struct writer *w, int job, json_t *row, json_t *history)
{
    json_t *item = json_pack("[o,o,i]", row, history, job);
    pthread_mutex_lock(&w->lock);
    json_array_append_new(w->queue, item);
    pthread_cond_signal(&w->wake);
    pthread_mutex_unlock(&w->lock);
}

void writer_finish(struct writer *w, struct text_list *lost, struct error *err)
{
    pthread_mutex_lock(&w->lock);
    w->finish = true;
    pthread_cond_signal(&w->wake);
    pthread_mutex_unlock(&w->lock);
    pthread_join(w->thread, NULL);
    for (size_t i = 0; i < w->lost.n; i++)
        text_list_add(lost, w->lost.items[i]);
    if (w->lost.n > 0)
        *err = w->err;
    text_list_release(&w->lost);
    json_decref(w->queue);
    pthread_cond_destroy(&w->wake);
    pthread_mutex_destroy(&w->lock);
    free(w);
}
