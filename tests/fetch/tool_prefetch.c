/* fugue with downloads of the test's own: the table is read from the JSON file that
 * FUGUE_TEST_DOWNLOADS names, and servers are borne with for a short time.  All else is the real
 * command line.
 *   [{"name": "tiny", "files": [{"name": "a.tar.gz", "size": 123, "md5": "..", "sha256": "..",
 *     "source": ["http://..."], "place": "tiny", "take": "tiny", "unpacked": 1000}],
 *     "checks": [{"path": "tiny/a", "size": 5, "files": 0}]}]
 */
#include "base/json.h"
#include "base/text.h"
#include "cli/command.h"
#include "data/download.h"
#include "fetch/fetch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_DOWNLOADS 16

static json_t *text; /* lives to the end: the table borrows its strings */
static struct download downloads[MAX_DOWNLOADS];
static const struct download *table[MAX_DOWNLOADS + 1];

static const char *string_of(const json_t *obj, const char *key)
{
    return json_string_value(json_object_get(obj, key));
}

static int64_t int_of(const json_t *obj, const char *key)
{
    return json_integer_value(json_object_get(obj, key));
}

static void read_file(const json_t *obj, struct download_file *f)
{
    const json_t *sources = json_object_get(obj, "source");
    f->name = string_of(obj, "name");
    f->size = int_of(obj, "size");
    f->md5 = string_of(obj, "md5");
    f->sha256 = string_of(obj, "sha256");
    f->place = string_of(obj, "place");
    f->take = string_of(obj, "take");
    f->unpacked = int_of(obj, "unpacked");
    for (size_t i = 0; i < json_array_size(sources) && i < DOWNLOAD_MAX_SOURCES; i++)
        f->source[i] = json_string_value(json_array_get(sources, i));
}

static void read_download(const json_t *obj, struct download *d)
{
    const json_t *files = json_object_get(obj, "files"), *checks = json_object_get(obj, "checks");
    d->name = string_of(obj, "name");
    d->summary = "of a test";
    d->n_files = (int)json_array_size(files);
    d->n_checks = (int)json_array_size(checks);
    struct download_file *f = xcalloc((size_t)d->n_files + 1, sizeof *f);
    struct download_check *c = xcalloc((size_t)d->n_checks + 1, sizeof *c);
    for (int i = 0; i < d->n_files; i++)
        read_file(json_array_get(files, (size_t)i), &f[i]);
    for (int i = 0; i < d->n_checks; i++) {
        const json_t *check = json_array_get(checks, (size_t)i);
        c[i] = (struct download_check){.path = string_of(check, "path"),
                                       .size = int_of(check, "size"),
                                       .files = int_of(check, "files")};
    }
    d->files = f;
    d->checks = c;
}

int main(int argc, char **argv)
{
    const char *path = getenv("FUGUE_TEST_DOWNLOADS");
    struct error err = ERROR_INIT;
    text = path ? json_read_file(path, &err) : NULL;
    if (!json_is_array(text) || json_array_size(text) > MAX_DOWNLOADS) {
        fprintf(stderr, "FUGUE_TEST_DOWNLOADS: %s\n", path ? err.text : "not set");
        return 3;
    }
    for (size_t i = 0; i < json_array_size(text); i++) {
        read_download(json_array_get(text, i), &downloads[i]);
        table[i] = &downloads[i];
    }
    download_table_use(table);
    fetch_patience = (struct fetch_patience){.stall_s = 1, .pause_s = 0.01, .tries = 3};
    return cli_main(argc, argv);
}
