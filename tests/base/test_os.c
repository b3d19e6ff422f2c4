#include "base/clock.h"
#include "base/file.h"
#include "base/os.h"
#include "base/text.h"
#include "helper_base.h"
#include "helper_child.h"

#include <ctype.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static void start(struct os_child *child, const char *mode, int log_fd, int channel_fd, bool group)
{
    struct error err = ERROR_INIT;
    char *argv[] = {"test", "child", (char *)mode, NULL};
    if (!os_spawn(child, os_executable(), argv, log_fd, channel_fd, group, &err))
        fail_msg("%s", err.text);
    assert_true(child->pid > 0);
}

/* Starts, waits, and gives the wait status. */
static int run(const char *mode, int log_fd, int channel_fd)
{
    struct os_child child;
    int status = -1;
    start(&child, mode, log_fd, channel_fd, false);
    assert_true(os_wait(&child, 30, &status));
    return status;
}

/* What a mode prints, malloc'd. */
static char *output_of(void **state, const char *mode)
{
    char *path = folder_file(state, "log", "");
    const int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(run(mode, fd, -1), 0);
    close(fd);
    char *text = content_of(path);
    free(path);
    return text;
}

static void test_exit_code(void **state)
{
    (void)state;
    struct os_child child;
    int status = -1;
    char said[64];
    start(&child, "exit_3", -1, -1, false);
    assert_true(child.start_time >= os_process_start_time(0));
    assert_true(os_wait(&child, 30, &status));
    assert_true(WIFEXITED(status));
    os_describe_status(status, said, sizeof said);
    assert_string_equal(said, "exit code 3");
    assert_true(child.ended);
    assert_int_equal(child.pidfd, -1);
    /* Asked again it still knows, and touches nobody. */
    int again = -1;
    assert_true(os_wait(&child, 0, &again));
    assert_int_equal(again, status);
    os_end_child(&child, 0, &again);
    assert_int_equal(again, status);
    assert_true(os_wait(&child, 0, NULL));
}

static void test_missing_program(void **state)
{
    (void)state;
    struct error err = ERROR_INIT;
    struct os_child child;
    char *argv[] = {"x", NULL};
    assert_false(os_spawn(&child, "/no/such/program", argv, -1, -1, false, &err));
    assert_int_equal(err.class_, ERROR_SYSTEM);
    assert_string_equal(err.text, "cannot start '/no/such/program': No such file or directory");
    assert_false(os_spawn(&child, os_executable(), argv, 1000, -1, false, &err));
    assert_contains(err.text, "Bad file descriptor");
}

static void test_killed_from_outside(void **state)
{
    (void)state;
    struct os_child child;
    int status = -1;
    char said[64];
    start(&child, "sleep", -1, -1, false);
    assert_false(os_wait(&child, 0, &status));
    assert_false(os_wait(&child, 0.02, &status));
    if (child.pidfd >= 0) {
        struct pollfd p = {.fd = child.pidfd, .events = POLLIN};
        assert_int_equal(poll(&p, 1, 0), 0);
        kill(child.pid, SIGKILL);
        assert_int_equal(poll(&p, 1, 10000), 1);
    }
    kill(child.pid, SIGKILL);
    assert_true(os_wait(&child, 30, &status));
    os_describe_status(status, said, sizeof said);
    assert_string_equal(said, "killed by signal 9 (Killed)");
}

static void test_end_child(void **state)
{
    (void)state;
    struct os_child child;
    int status = -1, pair[2];
    start(&child, "sleep", -1, -1, true);
    assert_int_equal(getpgid(child.pid), child.pid);
    os_end_child(&child, 30, &status);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGTERM);

    /* One that is stopped still gets its SIGTERM. */
    start(&child, "sleep", -1, -1, false);
    assert_int_equal(getpgid(child.pid), getpgrp());
    kill(child.pid, SIGSTOP);
    assert_int_equal(waitpid(child.pid, &status, WUNTRACED), child.pid);
    assert_true(WIFSTOPPED(status));
    os_end_child(&child, 30, &status);
    assert_int_equal(WTERMSIG(status), SIGTERM);

    /* One that does not listen. */
    char c;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    start(&child, "ignore_term", -1, pair[1], true);
    assert_int_equal(read(pair[0], &c, 1), 1);
    os_end_child(&child, 0.05, &status);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGKILL);
    close(pair[0]);
    close(pair[1]);
}

static void test_reaped_by_somebody_else(void **state)
{
    (void)state;
    struct os_child child;
    int status = -1;
    start(&child, "exit_3", -1, -1, false);
    assert_int_equal(waitpid(child.pid, NULL, 0), child.pid);
    assert_true(os_wait(&child, 0, &status));
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 255);
}

static void test_no_descriptor_leaks(void **state)
{
    /* Left open without O_CLOEXEC, as a careless library would. */
    int leaks[8];
    for (int i = 0; i < 8; i++)
        leaks[i] = open("/dev/null", O_RDONLY);
    const int far = fcntl(leaks[0], F_DUPFD, 500);
    assert_true(far >= 500);
    char *text = output_of(state, "list_fds");
    assert_string_equal(text, "0 1 2 null\nerr\n");
    free(text);

    char *path = folder_file(state, "log", "");
    int pair[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    const int fd = open(path, O_WRONLY | O_APPEND);
    assert_int_equal(run("list_fds", fd, pair[0]), 0);
    text = content_of(path);
    assert_string_equal(text, "0 1 2 3 null\nerr\n");
    /* The parent's own stay open. */
    assert_true(fcntl(fd, F_GETFD) >= 0 && fcntl(pair[0], F_GETFD) >= 0);
    free(text);
    free(path);
    close(fd);
    close(pair[0]);
    close(pair[1]);
    close(far);
    for (int i = 0; i < 8; i++)
        close(leaks[i]);
}

static void test_channel(void **state)
{
    (void)state;
    struct os_child child;
    int pair[2], status;
    char answer[8] = "";
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    start(&child, "echo", -1, pair[1], false);
    close(pair[1]);
    assert_int_equal(write(pair[0], "ping\n", 5), 5);
    assert_int_equal(read(pair[0], answer, sizeof answer), 5);
    assert_memory_equal(answer, "ping\n", 5);
    close(pair[0]); /* the end of file ends it */
    assert_true(os_wait(&child, 30, &status));
    assert_int_equal(status, 0);
}

/* Descriptors of ours that have the very numbers the child's are to have. */
static void test_channel_and_log_in_each_others_place(void **state)
{
    char *path = folder_file(state, "log", ""), *text;
    int pair[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    const int log = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
    const int saved_in = dup(STDIN_FILENO), saved_3 = dup(OS_CHANNEL_FD);
    assert_true(log >= 0 && saved_in >= 0);
    const int channel = fcntl(pair[0], F_DUPFD_CLOEXEC, 20), file = fcntl(log, F_DUPFD_CLOEXEC, 20);
    dup2(file, OS_CHANNEL_FD);
    dup2(channel, STDIN_FILENO);
    const int status = run("list_fds", OS_CHANNEL_FD, STDIN_FILENO);
    dup2(saved_in, STDIN_FILENO);
    if (saved_3 >= 0)
        dup2(saved_3, OS_CHANNEL_FD);
    assert_int_equal(status, 0);
    text = content_of(path);
    assert_string_equal(text, "0 1 2 3 null\nerr\n");
    free(text);
    free(path);
    close(channel);
    close(file);
    close(saved_in);
}

static void test_child_starts_with_clean_signals(void **state)
{
    (void)state;
    sigset_t blocked, before;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGTERM);
    sigprocmask(SIG_BLOCK, &blocked, &before);
    void (*old)(int) = signal(SIGPIPE, SIG_IGN);
    const int status = run("signal_state", -1, -1);
    signal(SIGPIPE, old);
    sigprocmask(SIG_SETMASK, &before, NULL);
    assert_int_equal(WEXITSTATUS(status), 0);
    assert_true(WIFEXITED(status));
}

static void test_describe(void **state)
{
    (void)state;
    char said[64], tiny[6];
    os_describe_status(0, said, sizeof said);
    assert_string_equal(said, "exit code 0");
    os_describe_status(SIGSEGV, said, sizeof said);
    assert_string_equal(said, "killed by signal 11 (Segmentation fault)");
    os_describe_status(255 << 8, tiny, sizeof tiny);
    assert_string_equal(tiny, "exit ");
}

static void test_start_time_names_a_process(void **state)
{
    (void)state;
    struct os_child child;
    const uint64_t own = os_process_start_time(getpid());
    assert_true(own > 0);
    assert_true(own == os_process_start_time(0));
    start(&child, "sleep", -1, -1, false);
    const pid_t pid = child.pid;
    assert_true(child.start_time > 0);
    assert_true(child.start_time == os_process_start_time(pid));
    os_end_child(&child, 30, NULL);
    assert_true(os_process_start_time(pid) != child.start_time);
    assert_true(os_process_start_time(INT32_MAX) == 0);
}

static void test_executable(void **state)
{
    (void)state;
    char *real = realpath("/proc/self/exe", NULL);
    assert_non_null(real);
    assert_string_equal(os_executable(), real);
    assert_true(os_executable() == os_executable());
    free(real);
}

/* The id stands in the file behind the note's name, and a child of the same binary has the same. */
static void test_build_id(void **state)
{
    const char *id = os_build_id();
    assert_int_equal(strlen(id), 40);
    char raw[4 + 20] = "GNU";
    for (int i = 0; i < 20; i++) {
        const char digits[3] = {id[2 * i], id[2 * i + 1], '\0'};
        assert_true(isxdigit((unsigned char)digits[0]) && isxdigit((unsigned char)digits[1]));
        raw[4 + i] = (char)strtol(digits, NULL, 16);
    }
    struct error err = ERROR_INIT;
    char *file;
    size_t len;
    assert_true(file_read(os_executable(), (size_t)256 << 20, &file, &len, &err));
    assert_non_null(memmem(file, len, raw, sizeof raw));
    free(file);
    char *text = output_of(state, "print_build_id");
    assert_int_equal(strlen(text), 41);
    assert_memory_equal(text, id, 40);
    free(text);
}

static void test_cores(void **state)
{
    const int n = os_cpu_count();
    assert_in_range(n, 1, sysconf(_SC_NPROCESSORS_CONF));
    assert_int_equal(WEXITSTATUS(run("one_core", -1, -1)), 1);

    cpu_set_t before, now;
    CPU_ZERO(&before);
    assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
    int last = -1;
    for (int i = 0; i < 2 * CPU_COUNT(&before); i++) {
        assert_true(os_pin_thread(i));
        CPU_ZERO(&now);
        assert_int_equal(sched_getaffinity(0, sizeof now, &now), 0);
        assert_int_equal(CPU_COUNT(&now), 1);
        assert_true(CPU_ISSET(sched_getcpu(), &now));
        int cpu = 0;
        while (!CPU_ISSET(cpu, &now))
            cpu++;
        assert_true(CPU_ISSET(cpu, &before));
        assert_true(i % CPU_COUNT(&before) == 0 ? last == -1 || cpu <= last : cpu > last);
        last = cpu;
    }
    assert_false(os_pin_thread(-1));
    assert_int_equal(os_cpu_count(), n); /* the process's, not the pinned thread's */
    char *text = output_of(state, "print_cores"), *want = xasprintf("%d\n", CPU_COUNT(&before));
    assert_string_equal(text, want); /* a child is not pinned with its parent */
    assert_int_equal(sched_getaffinity(0, sizeof now, &now), 0);
    assert_int_equal(CPU_COUNT(&now), 1);
    sched_setaffinity(0, sizeof before, &before);
    free(want);
    free(text);
}

static void test_memory(void **state)
{
    enum { MIB = 1 << 20 };
    const int64_t before = os_current_rss(0), peak_before = os_peak_rss(0);
    assert_true(before > 0 && peak_before >= before);
    const size_t size = (size_t)96 * MIB;
    unsigned char *block =
        mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(block != MAP_FAILED);
    for (size_t i = 0; i < size; i += 4096)
        ((volatile unsigned char *)block)[i] = (unsigned char)(i >> 12);
    assert_true(os_current_rss(getpid()) >= before + 90 * MIB);
    assert_true(os_peak_rss(0) >= before + 90 * MIB);
    /* A child's peak is its own, not what its parent had when it was started. */
    char *text = output_of(state, "print_peak");
    text[strcspn(text, "\n")] = '\0';
    int64_t peak = 0;
    assert_true(text_to_int64(text, &peak));
    assert_true(peak > 0 && peak < os_peak_rss(0) - 50 * MIB);
    free(text);
    munmap(block, size);
    assert_true(os_current_rss(0) < before + 50 * MIB);
    assert_true(os_peak_rss(0) >= before + 90 * MIB);
    assert_true(os_current_rss(INT32_MAX) == -1);
    const int64_t all = (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
    assert_true(os_available_memory() > 0 && os_available_memory() <= all);
}

static void test_cpu_model(void **state)
{
    (void)state;
    char *cpuinfo = content_of("/proc/cpuinfo");
    if (strcmp(os_cpu_model(), "unknown") != 0)
        assert_contains(cpuinfo, os_cpu_model());
    else
        assert_null(strstr(cpuinfo, "model name"));
    free(cpuinfo);
}

static void test_signals(void **state)
{
    (void)state;
    int status = run("catch_signals", -1, -1);
    if (!WIFSIGNALED(status))
        fail_msg("step %d failed", WEXITSTATUS(status));
    assert_int_equal(WTERMSIG(status), SIGTERM);
    assert_int_equal(run("catch_under_nohup", -1, -1), 0);
    status = run("ignore_interrupts", -1, -1);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGTERM);
    status = run("harmless_signal", -1, -1);
    assert_int_equal(WEXITSTATUS(status), 128 + SIGCHLD);
    assert_int_equal(os_stop_requested(), 0);
    assert_int_equal(os_stop_fd(), -1);
}

/* Reads a number and a newline from the channel. */
static pid_t read_pid(int fd)
{
    char line[32] = "";
    for (size_t i = 0; i + 1 < sizeof line; i++) {
        assert_int_equal(read(fd, line + i, 1), 1);
        if (line[i] == '\n') {
            line[i] = '\0';
            break;
        }
    }
    int64_t pid = 0;
    assert_true(text_to_int64(line, &pid));
    return (pid_t)pid;
}

/* Kills a parent in the middle; its child must end of SIGKILL, and we must be the ones to reap it.
 */
static void kill_parent_in_the_middle(const char *mode)
{
    struct os_child child;
    int pair[2], status = 0;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    start(&child, mode, -1, pair[1], false);
    close(pair[1]);
    const pid_t orphan = read_pid(pair[0]);
    assert_true(orphan > 0 && orphan != child.pid);
    kill(child.pid, SIGKILL);
    assert_true(os_wait(&child, 30, &status));
    const double end = clock_now_s() + 30;
    pid_t reaped = 0;
    while (reaped == 0 && clock_now_s() < end) {
        reaped = waitpid(orphan, &status, WNOHANG);
        clock_sleep_s(0.002);
    }
    assert_int_equal(reaped, orphan);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGKILL);
    close(pair[0]);
}

static void test_orphans_end(void **state)
{
    (void)state;
    os_become_subreaper();
    kill_parent_in_the_middle("parent_early");
    kill_parent_in_the_middle("parent_late");
    assert_int_equal(run("with_parent", -1, -1), 0);
}

#define WITH_FOLDER(test) cmocka_unit_test_setup_teardown(test, folder_setup, folder_teardown)

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "child") == 0)
        return child_main(argv[2]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exit_code),
        cmocka_unit_test(test_missing_program),
        cmocka_unit_test(test_killed_from_outside),
        cmocka_unit_test(test_end_child),
        cmocka_unit_test(test_reaped_by_somebody_else),
        WITH_FOLDER(test_no_descriptor_leaks),
        cmocka_unit_test(test_channel),
        WITH_FOLDER(test_channel_and_log_in_each_others_place),
        cmocka_unit_test(test_child_starts_with_clean_signals),
        cmocka_unit_test(test_describe),
        cmocka_unit_test(test_start_time_names_a_process),
        cmocka_unit_test(test_executable),
        WITH_FOLDER(test_build_id),
        WITH_FOLDER(test_cores),
        WITH_FOLDER(test_memory),
        cmocka_unit_test(test_cpu_model),
        cmocka_unit_test(test_signals),
        cmocka_unit_test(test_orphans_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
