/* The worker protocol: framing, limits, numbers, the hello exchange, heartbeats. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/os.h"
#include "base/text.h"
#include "exec/channel.h"

#include <float.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct ends {
    struct channel a; /* under test */
    int raw;          /* the other end */
};

static void open_ends(struct ends *e)
{
    int ours;
    struct error err = ERROR_INIT;
    assert_true(channel_pair(&ours, &e->raw, &err));
    channel_init(&e->a, ours);
}

static void close_ends(struct ends *e)
{
    channel_release(&e->a);
    if (e->raw >= 0)
        close(e->raw);
}

static void write_raw(const struct ends *e, const char *text)
{
    assert_int_equal(write(e->raw, text, strlen(text)), (ssize_t)strlen(text));
}

static void messages_arrive_in_order_however_they_are_cut(void **state)
{
    (void)state;
    struct ends e;
    json_t *msg;
    struct error err = ERROR_INIT;
    open_ends(&e);
    write_raw(&e, "{\"type\":\"one\"}\n{\"type\":\"two\",\"n\":2}\n{\"ty");
    assert_int_equal(channel_receive(&e.a, 1, &msg, &err), CHANNEL_MESSAGE);
    assert_string_equal(json_string_value(json_object_get(msg, "type")), "one");
    json_decref(msg);
    assert_int_equal(channel_receive(&e.a, 1, &msg, &err), CHANNEL_MESSAGE);
    assert_int_equal(json_integer_value(json_object_get(msg, "n")), 2);
    json_decref(msg);
    assert_int_equal(channel_receive(&e.a, 0, &msg, &err), CHANNEL_NOTHING);
    assert_null(msg);
    write_raw(&e, "pe\":\"three\"");
    assert_int_equal(channel_receive(&e.a, 0, &msg, &err), CHANNEL_NOTHING);
    write_raw(&e, "}\n");
    assert_int_equal(channel_receive(&e.a, 0, &msg, &err), CHANNEL_MESSAGE);
    assert_string_equal(json_string_value(json_object_get(msg, "type")), "three");
    json_decref(msg);
    close_ends(&e);
}

static void waiting_takes_the_time_given_and_no_processor(void **state)
{
    (void)state;
    struct ends e;
    json_t *msg;
    open_ends(&e);
    const double t0 = clock_now_s();
    assert_int_equal(channel_receive(&e.a, 0.1, &msg, NULL), CHANNEL_NOTHING);
    assert_true(clock_now_s() - t0 >= 0.099);
    close_ends(&e);
}

static void end_of_file_is_the_end_even_within_a_line(void **state)
{
    (void)state;
    struct ends e;
    json_t *msg;
    struct error err = ERROR_INIT;
    open_ends(&e);
    write_raw(&e, "{\"type\":\"last\"}\n{\"type\":\"cut");
    close(e.raw);
    e.raw = -1;
    assert_int_equal(channel_receive(&e.a, 1, &msg, &err), CHANNEL_MESSAGE);
    json_decref(msg);
    assert_int_equal(channel_receive(&e.a, 1, &msg, &err), CHANNEL_CLOSED);
    assert_false(channel_sendf(&e.a, &err, "late", NULL));
    assert_non_null(strstr(err.text, "gone"));
    close_ends(&e);
    assert_int_equal(channel_receive(&e.a, 1, &msg, &err), CHANNEL_CLOSED);
}

static void garbage_is_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {"hello\n",
                                      "{\"type\":1}\n",
                                      "[1]\n",
                                      "\n",
                                      "{}\n",
                                      "{\"type\":\"a\"} x\n",
                                      "{\"type\":\"a\",\"type\":\"b\"}\n",
                                      "{\"type\":\"\xff\"}\n"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct ends e;
        json_t *msg;
        struct error err = ERROR_INIT;
        open_ends(&e);
        write_raw(&e, bad[i]);
        assert_int_equal(channel_receive(&e.a, 1, &msg, &err), CHANNEL_BROKEN);
        assert_null(msg);
        assert_true(strlen(err.text) > 10);
        close_ends(&e);
    }
}

struct flood {
    int fd;
    size_t bytes;
};

static void *write_flood(void *arg)
{
    const struct flood *f = arg;
    char block[4096];
    memset(block, 'x', sizeof block);
    for (size_t left = f->bytes; left > 0;) {
        const ssize_t n = write(f->fd, block, left < sizeof block ? left : sizeof block);
        if (n <= 0)
            return NULL;
        left -= (size_t)n;
    }
    return NULL;
}

static void a_line_over_the_limit_is_refused_without_being_kept(void **state)
{
    (void)state;
    struct ends e;
    json_t *msg;
    struct error err = ERROR_INIT;
    pthread_t writer;
    signal(SIGPIPE, SIG_IGN);
    open_ends(&e);
    struct flood f = {e.raw, 64u << 20};
    assert_int_equal(pthread_create(&writer, NULL, write_flood, &f), 0);
    assert_int_equal(channel_receive(&e.a, 20, &msg, &err), CHANNEL_BROKEN);
    assert_non_null(strstr(err.text, "1048576"));
    assert_true(e.a.cap < 4u << 20);
    channel_release(&e.a);
    pthread_join(writer, NULL);
    close(e.raw);
}

static void a_message_over_the_limit_is_not_sent(void **state)
{
    (void)state;
    struct ends e;
    struct error err = ERROR_INIT;
    open_ends(&e);
    char *big = xcalloc(CHANNEL_MAX_LINE + 1, 1);
    memset(big, 'a', CHANNEL_MAX_LINE);
    assert_false(channel_sendf(&e.a, &err, "big", "{s:s}", "text", big));
    assert_non_null(strstr(err.text, "over the limit"));
    free(big);
    close_ends(&e);
}

struct sender {
    struct channel *channel;
    json_t *msg;
};

static void *send_one(void *arg)
{
    const struct sender *s = arg;
    channel_send(s->channel, s->msg, NULL);
    return NULL;
}

static void the_longest_line_arrives_whole(void **state)
{
    (void)state;
    int fds[2];
    struct channel a, b;
    struct error err = ERROR_INIT;
    json_t *msg;
    pthread_t thread;
    assert_true(channel_pair(&fds[0], &fds[1], &err));
    channel_init(&a, fds[0]);
    channel_init(&b, fds[1]);
    const size_t len = CHANNEL_MAX_LINE - 64;
    char *big = xcalloc(len + 1, 1);
    memset(big, 'a', len);
    struct sender s = {&a, json_pack("{s:s,s:s}", "type", "big", "text", big)};
    assert_int_equal(pthread_create(&thread, NULL, send_one, &s), 0);
    assert_int_equal(channel_receive(&b, 20, &msg, &err), CHANNEL_MESSAGE);
    pthread_join(thread, NULL);
    assert_string_equal(json_string_value(json_object_get(msg, "text")), big);
    json_decref(msg);
    json_decref(s.msg);
    free(big);
    channel_release(&a);
    channel_release(&b);
}

static void numbers_survive_to_the_last_bit(void **state)
{
    (void)state;
    const double values[] = {
        0.1,    1.0 / 3.0,           DBL_MIN,          DBL_MAX,          DBL_TRUE_MIN, -0.0,
        1e-300, 123456789.123456789, (double)INFINITY, -(double)INFINITY};
    int fds[2];
    struct channel a, b;
    struct error err = ERROR_INIT;
    assert_true(channel_pair(&fds[0], &fds[1], &err));
    channel_init(&a, fds[0]);
    channel_init(&b, fds[1]);
    for (size_t i = 0; i <= sizeof values / sizeof *values; i++) {
        const bool nan = i == sizeof values / sizeof *values;
        const double v = nan ? (double)NAN : values[i];
        double got = 0;
        json_t *msg;
        assert_true(channel_sendf(&a, &err, "n", "{s:o}", "v", json_number(v)));
        assert_int_equal(channel_receive(&b, 1, &msg, &err), CHANNEL_MESSAGE);
        assert_true(json_get_number(msg, "v", "n", &got, &err));
        if (nan)
            assert_true(isnan(got));
        else
            assert_memory_equal(&got, &v, sizeof v);
        json_decref(msg);
    }
    channel_release(&a);
    channel_release(&b);
}

static void *hello_child(void *arg)
{
    struct channel *c = arg;
    struct error err = ERROR_INIT;
    return channel_hello_child(c, &err) ? c : NULL;
}

static void hello_is_exchanged(void **state)
{
    (void)state;
    int fds[2];
    struct channel parent, child;
    struct error err = ERROR_INIT;
    pthread_t thread;
    void *good;
    assert_true(channel_pair(&fds[0], &fds[1], &err));
    channel_init(&parent, fds[0]);
    channel_init(&child, fds[1]);
    assert_int_equal(pthread_create(&thread, NULL, hello_child, &child), 0);
    assert_true(channel_hello_parent(&parent, 10, &err));
    pthread_join(thread, &good);
    assert_non_null(good);
    channel_release(&parent);
    channel_release(&child);
}

static void another_version_build_or_opening_is_refused(void **state)
{
    (void)state;
    const struct {
        char *line;
        const char *said;
    } cases[] = {
        {xasprintf("{\"type\":\"hello\",\"protocol\":2,\"build_id\":\"%s\"}\n", os_build_id()),
         "protocol 2"},
        {xstrdup("{\"type\":\"hello\",\"protocol\":1,\"build_id\":\"other\"}\n"), "build other"},
        {xstrdup("{\"type\":\"job\"}\n"), "'hello' was expected"},
        {xstrdup("{\"type\":\"hello\",\"protocol\":\"1\",\"build_id\":\"x\"}\n"), "protocol"},
        {xstrdup("SSH-2.0\n"), "message from another process"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ends e;
        struct error err = ERROR_INIT;
        open_ends(&e);
        write_raw(&e, cases[i].line);
        assert_false(channel_hello_parent(&e.a, 1, &err));
        if (!strstr(err.text, cases[i].said))
            fail_msg("case %zu says: %s", i, err.text);
        close_ends(&e);
        free(cases[i].line);
    }
}

static void a_mute_or_dead_peer_is_no_hello(void **state)
{
    (void)state;
    struct ends e;
    struct error err = ERROR_INIT;
    open_ends(&e);
    assert_false(channel_hello_parent(&e.a, 0.05, &err));
    assert_non_null(strstr(err.text, "no first message"));
    close(e.raw);
    e.raw = -1;
    assert_false(channel_hello_parent(&e.a, 1, &err));
    assert_non_null(strstr(err.text, "ended before its first message"));
    close_ends(&e);
}

static void heartbeats_come_and_stop_at_once(void **state)
{
    (void)state;
    int fds[2];
    struct channel a, b;
    struct error err = ERROR_INIT;
    json_t *msg;
    assert_true(channel_pair(&fds[0], &fds[1], &err));
    channel_init(&a, fds[0]);
    channel_init(&b, fds[1]);
    struct heartbeat *h = heartbeat_start(&a);
    assert_non_null(h);
    assert_int_equal(channel_receive(&b, 20, &msg, &err), CHANNEL_MESSAGE);
    assert_string_equal(json_string_value(json_object_get(msg, "type")), "heartbeat");
    json_decref(msg);
    const double before = b.last_heard_s;
    assert_true(clock_now_s() - before < 10);
    heartbeat_stop(h);
    heartbeat_stop(NULL);
    channel_release(&a);
    assert_int_equal(channel_receive(&b, 20, &msg, &err), CHANNEL_CLOSED);
    channel_release(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_arrive_in_order_however_they_are_cut),
        cmocka_unit_test(waiting_takes_the_time_given_and_no_processor),
        cmocka_unit_test(end_of_file_is_the_end_even_within_a_line),
        cmocka_unit_test(garbage_is_refused),
        cmocka_unit_test(a_line_over_the_limit_is_refused_without_being_kept),
        cmocka_unit_test(a_message_over_the_limit_is_not_sent),
        cmocka_unit_test(the_longest_line_arrives_whole),
        cmocka_unit_test(numbers_survive_to_the_last_bit),
        cmocka_unit_test(hello_is_exchanged),
        cmocka_unit_test(another_version_build_or_opening_is_refused),
        cmocka_unit_test(a_mute_or_dead_peer_is_no_hello),
        cmocka_unit_test(heartbeats_come_and_stop_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
