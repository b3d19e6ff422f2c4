#include "base/log.h"
#include "base/text.h"
#include "helper_base.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

/* What `say` writes to stderr, malloc'd. */
static char *stderr_of(void **state, void (*say)(void))
{
    char *path = folder_file(state, "stderr", "");
    const int file = open(path, O_WRONLY | O_APPEND | O_CLOEXEC), saved = dup(STDERR_FILENO);
    assert_true(file >= 0 && saved >= 0);
    fflush(stderr);
    dup2(file, STDERR_FILENO);
    say();
    fflush(stderr);
    dup2(saved, STDERR_FILENO);
    close(saved);
    close(file);
    char *text = content_of(path);
    free(path);
    return text;
}

static void say_each_level(void)
{
    log_msg(LOG_DEBUG, "hidden");
    log_msg(LOG_NOTICE, "training %s", "E05");
    log_msg(LOG_WARNING, "no GPU, %d cores", 2);
    log_set_level(LOG_DEBUG);
    log_msg(LOG_DEBUG, "seen");
    log_set_level(LOG_WARNING);
    log_msg(LOG_NOTICE, "hidden");
    log_set_level(LOG_NOTICE);
}

static void test_lines_on_stderr(void **state)
{
    char *text = stderr_of(state, say_each_level);
    assert_string_equal(text, "fugue: training E05\n"
                              "fugue: warning: no GPU, 2 cores\n"
                              "fugue: debug: seen\n");
    free(text);
}

static void say_twice(void)
{
    for (int i = 0; i < 4; i++) {
        log_once(LOG_WARNING, "batch norm of %d", i / 2);
        log_once(LOG_DEBUG, "hidden");
    }
    log_msg(LOG_WARNING, "batch norm of 0");
    log_set_level(LOG_DEBUG);
    log_once(LOG_DEBUG, "hidden"); /* what was dropped was not said */
    log_set_level(LOG_NOTICE);
}

static void test_once(void **state)
{
    char *text = stderr_of(state, say_twice);
    assert_string_equal(text, "fugue: warning: batch norm of 0\n"
                              "fugue: warning: batch norm of 1\n"
                              "fugue: warning: batch norm of 0\n"
                              "fugue: debug: hidden\n");
    free(text);
}

static void collect(void *ctx, enum log_level level, const char *message)
{
    text_addf(ctx, "%d:%s;", (int)level, message);
}

static struct text collected;

static void say_to_a_sink(void)
{
    log_set_sink(collect, &collected);
    log_msg(LOG_NOTICE, "a%%");
    log_msg(LOG_DEBUG, "hidden");
    log_msg(LOG_WARNING, "b");
    log_set_sink(NULL, NULL);
    log_msg(LOG_NOTICE, "back");
}

static void test_sink(void **state)
{
    text_init(&collected);
    char *text = stderr_of(state, say_to_a_sink);
    assert_string_equal(text, "fugue: back\n");
    assert_string_equal(collected.data, "1:a%;2:b;");
    free(text);
    text_release(&collected);
}

/* Longer than any buffer one might have chosen. */
static void test_long_messages_are_whole(void **state)
{
    (void)state;
    char many[20001];
    memset(many, 'm', sizeof many - 1);
    many[sizeof many - 1] = '\0';
    text_init(&collected);
    log_set_sink(collect, &collected);
    log_msg(LOG_NOTICE, "<%s>", many);
    log_set_sink(NULL, NULL);
    assert_int_equal(collected.len, 2 + 2 + 20000 + 1);
    text_release(&collected);
}

static void *say_often(void *unused)
{
    (void)unused;
    for (int i = 0; i < 500; i++) {
        log_msg(LOG_NOTICE, "x");
        log_once(LOG_NOTICE, "y%d", i);
    }
    return NULL;
}

static void test_threads(void **state)
{
    (void)state;
    enum { THREADS = 4 };
    pthread_t threads[THREADS];
    text_init(&collected);
    log_set_sink(collect, &collected);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, say_often, NULL), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    log_set_sink(NULL, NULL);
    int lines = 0;
    for (size_t i = 0; i < collected.len; i++)
        lines += collected.data[i] == ';';
    assert_int_equal(lines, THREADS * 500 + 500);
    text_release(&collected);
}

static void test_colour_needs_a_willing_terminal(void **state)
{
    (void)state;
    const int terminal = posix_openpt(O_RDWR | O_NOCTTY);
    int pipe_fds[2];
    assert_int_equal(pipe(pipe_fds), 0);
    setenv("TERM", "xterm", 1);
    unsetenv("NO_COLOR");
    assert_false(log_use_color(pipe_fds[0]));
    assert_false(log_use_color(-1));
    if (terminal >= 0) {
        assert_true(log_use_color(terminal));
        setenv("NO_COLOR", "", 1);
        assert_true(log_use_color(terminal));
        setenv("NO_COLOR", "1", 1);
        assert_false(log_use_color(terminal));
        unsetenv("NO_COLOR");
        setenv("TERM", "dumb", 1);
        assert_false(log_use_color(terminal));
        close(terminal);
    }
    close(pipe_fds[0]);
    close(pipe_fds[1]);
}

#define WITH_FOLDER(test) cmocka_unit_test_setup_teardown(test, folder_setup, folder_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FOLDER(test_lines_on_stderr),
        WITH_FOLDER(test_once),
        WITH_FOLDER(test_sink),
        cmocka_unit_test(test_long_messages_are_whole),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_colour_needs_a_willing_terminal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
