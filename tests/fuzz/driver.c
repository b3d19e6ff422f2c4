/* Runs a fuzz target without libFuzzer: every file of the corpus, then N mutations of them.  The
 * same binary, corpus and N give the same inputs.
 *   fuzz_<format> CORPUS N [FIRST]     runs inputs FIRST .. N - 1
 * A crash, a hang (10 s) or an allocation beyond MAX_MEMORY ends it with the input's number, and
 * the input in ./fuzz-crash.
 */
#include "base/file.h"
#include "base/rng.h"
#include "base/text.h"
#include "fuzz.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define INPUT_MAX  ((size_t)1 << 16)
#define MAX_MEMORY ((rlim_t)1 << 30)
#define HANG_S     10

struct seed {
    char *data;
    size_t len;
};

static struct seed seeds[512];
static int n_seeds;
static uint8_t input[INPUT_MAX];
static size_t input_len;
static long number;

/* ---- random numbers of one input ---- */

static uint32_t drawn;

static uint32_t draw(uint32_t below)
{
    const uint32_t v =
        rng_u32_at(1, RNG_TEST, 0, (uint32_t)(number >> 31), (uint32_t)number, drawn++);
    return (uint32_t)(((uint64_t)v * below) >> 32);
}

/* ---- mutations ---- */

static void flip_bit(void)
{
    input[draw((uint32_t)input_len)] ^= (uint8_t)(1u << draw(8));
}

static void set_byte(void)
{
    static const uint8_t often[] = {0, 1, 0x7f, 0x80, 0xff, '"', '\\', '\n', ',', '.', '/', '0'};
    const uint32_t i = draw(2 * sizeof often);
    input[draw((uint32_t)input_len)] = i < sizeof often ? often[i] : (uint8_t)draw(256);
}

/* Sizes and offsets at their limits. */
static void set_number(void)
{
    static const uint64_t limits[] = {0,          1,          0x7f,       0xff,
                                      0x7fff,     0xffff,     0x7fffffff, 0x80000000,
                                      0xffffffff, INT64_MAX,  UINT64_MAX, 0x100000000,
                                      0x01000000, 0x00010000, 64,         1000000000};
    const size_t width = (size_t)1 << draw(4);
    uint64_t v = limits[draw(sizeof limits / sizeof *limits)];
    if (draw(2))
        v = __builtin_bswap64(v) >> (64 - 8 * width);
    if (input_len >= width)
        memcpy(input + draw((uint32_t)(input_len - width + 1)), &v, width);
}

static void remove_range(void)
{
    const size_t at = draw((uint32_t)input_len), left = input_len - at;
    const size_t n = 1 + draw((uint32_t)(left < 64 ? left : left / 4));
    memmove(input + at, input + at + n, left - n);
    input_len -= n;
}

static void insert(const void *data, size_t n)
{
    const size_t at = draw((uint32_t)input_len + 1);
    if (n > INPUT_MAX - input_len)
        n = INPUT_MAX - input_len;
    uint8_t copy[1024];
    n = n < sizeof copy ? n : sizeof copy;
    memcpy(copy, data, n);
    memmove(input + at + n, input + at, input_len - at);
    memcpy(input + at, copy, n);
    input_len += n;
}

static void repeat_range(void)
{
    const size_t at = draw((uint32_t)input_len);
    insert(input + at, 1 + draw((uint32_t)(input_len - at)));
}

static void take_from_other(void)
{
    const struct seed *s = &seeds[draw((uint32_t)n_seeds)];
    if (s->len == 0)
        return;
    const size_t at = draw((uint32_t)s->len);
    insert(s->data + at, 1 + draw((uint32_t)(s->len - at)));
}

static void cut(void)
{
    input_len = draw((uint32_t)input_len + 1);
}

static void mutate(void)
{
    static void (*const ways[])(void) = {flip_bit,     set_byte,       set_number, set_number,
                                         remove_range, repeat_range,   cut,        set_byte,
                                         flip_bit,     take_from_other};
    for (uint32_t n = 1 + draw(6); n > 0; n--) {
        if (input_len == 0)
            take_from_other();
        else
            ways[draw(sizeof ways / sizeof *ways)]();
    }
}

/* ---- running ---- */

/* Only what a signal handler may do. */
static void on_death(int sig)
{
    static const char said[] = "the input is in ./fuzz-crash\n";
    const int fd = open("fuzz-crash", O_WRONLY | O_CREAT | O_TRUNC, 0644);
    const bool kept = fd >= 0 && write(fd, input, input_len) == (ssize_t)input_len;
    if (!kept || write(STDERR_FILENO, said, sizeof said - 1) < 0)
        _exit(99);
    signal(sig, SIG_DFL);
    raise(sig);
}

static void run_input(const char *what)
{
    /* Its own allocation of exactly its size, so that a read beyond it can be seen. */
    uint8_t *exact = xmalloc(input_len + (input_len == 0));
    memcpy(exact, input, input_len);
    alarm(HANG_S);
    if (LLVMFuzzerTestOneInput(exact, input_len) != 0)
        fprintf(stderr, "%s: not counted\n", what);
    alarm(0);
    free(exact);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool read_corpus(const char *folder)
{
    struct text_list names;
    text_list_init(&names);
    DIR *dir = opendir(folder);
    for (const struct dirent *e; dir && (e = readdir(dir)) != NULL;)
        if (e->d_name[0] != '.')
            text_list_add(&names, e->d_name);
    if (dir)
        closedir(dir);
    qsort(names.items, names.n, sizeof *names.items, by_name);
    for (size_t i = 0; i < names.n && n_seeds < (int)(sizeof seeds / sizeof *seeds); i++) {
        char *path = path_join(folder, names.items[i]);
        struct error err = ERROR_INIT;
        if (file_read(path, INPUT_MAX, &seeds[n_seeds].data, &seeds[n_seeds].len, &err))
            n_seeds++;
        else
            fprintf(stderr, "%s\n", err.text);
        free(path);
    }
    text_list_release(&names);
    return n_seeds > 0;
}

static void limit_memory(void)
{
#if !defined(__SANITIZE_ADDRESS__)
    const struct rlimit limit = {MAX_MEMORY, MAX_MEMORY};
    setrlimit(RLIMIT_AS, &limit);
#endif
}

int main(int argc, char **argv)
{
    static const int deaths[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGALRM};
    int64_t n = 0, first = 0;
    if (argc < 3 || !text_to_int64(argv[2], &n) || (argc > 3 && !text_to_int64(argv[3], &first)) ||
        !read_corpus(argv[1])) {
        fprintf(stderr, "usage: %s CORPUS N [FIRST]\n", argv[0]);
        return 2;
    }
    for (size_t i = 0; i < sizeof deaths / sizeof *deaths; i++)
        signal(deaths[i], on_death);
    limit_memory();
    for (int i = 0; i < n_seeds; i++) {
        input_len = seeds[i].len;
        memcpy(input, seeds[i].data, input_len);
        run_input("corpus");
    }
    for (number = first; number < n; number++) {
        drawn = 0;
        const struct seed *s = &seeds[draw((uint32_t)n_seeds)];
        input_len = s->len;
        memcpy(input, s->data, input_len);
        mutate();
        run_input("mutated");
    }
    printf("%d files of the corpus, %lld mutated\n", n_seeds, (long long)(n - first));
    for (int i = 0; i < n_seeds; i++)
        free(seeds[i].data);
    return 0;
}
