/* WikiText-2: a text as one stream of words, cut into windows; the target of a word is the next. */
#include "base/file.h"
#include "base/log.h"
#include "base/text.h"
#include "data/text/text_sets.h"
#include "data/text/utf8.h"
#include "data/text/words.h"

#include <stdlib.h>
#include <string.h>

/* The largest has 11 MB. */
#define MAX_BYTES (128u << 20)

/* Files in the layouts' order, and the words of the published ones, raw and .tokens alike. */
static const struct {
    const char *name;
    int64_t words;
} files[] = {{"train", 2051910}, {"valid", 213886}, {"test", 241211}};

static int file_of(const struct data_args *args, const char *part)
{
    const char *name = data_arg_text(args, part);
    int i = 0;
    while (strcmp(files[i].name, name) != 0)
        i++;
    return i;
}

/* Windows in so many words: the last one needs a target too. */
static int64_t windows_of(int64_t words, int64_t seq)
{
    return words > 0 ? (words - 1) / seq : 0;
}

bool wikitext_describe(const struct data_args *args, const char *root, struct data_info *info,
                       struct error *err)
{
    (void)root;
    const int train = file_of(args, "train"), test = file_of(args, "test");
    const int64_t seq = data_arg_int(args, "seq");
    if (train == test && data_arg_given(args, "n_test"))
        return error_set(err, ERROR_USAGE,
                         "data set '%s': it is tested on what it is trained on, so n_train is the "
                         "size of both; leave n_test out",
                         args->text);
    info->shape.d[0] = (int32_t)seq;
    info->vocabulary = info->n_outputs = (int32_t)data_arg_int(args, "vocab");
    info->n_train = text_limit(args, "n_train", windows_of(files[train].words, seq));
    info->n_test = train == test ? info->n_train
                                 : text_limit(args, "n_test", windows_of(files[test].words, seq));
    return true;
}

static const struct data_layout *find_layout(const struct data_args *args, const char *root,
                                             struct error *err)
{
    return data_layout_find_files(args->def, root,
                                  1u << file_of(args, "train") | 1u << file_of(args, "test"), err);
}

bool wikitext_present(const struct data_args *args, const char *root, struct error *err)
{
    return find_layout(args, root, err) != NULL;
}

/* ---- contents ---------------------------------------------------------------------------------
 */

/* The text of a file: *text is malloc'd. */
static bool read_text(const struct data_args *args, const struct data_layout *layout, int file,
                      const char *root, char **text, size_t *len, struct error *err)
{
    char *path = path_join(root, layout->file[file].path), *used = NULL;
    const int64_t seq = data_arg_int(args, "seq");
    bool ok = file_read_maybe_gz(path, MAX_BYTES, text, len, &used, err) &&
              utf8_check(*text, *len, used, err);
    const int64_t words = ok ? words_count(*text, *len) : 0;
    if (ok && words <= seq)
        ok = error_set(err, ERROR_DATA,
                       "'%s' has %lld words; a window of %lld and its last target "
                       "need %lld",
                       used, (long long)words, (long long)seq, (long long)seq + 1);
    if (ok && words != files[file].words)
        log_once(LOG_WARNING, "'%s' has %lld words; the published file has %lld", used,
                 (long long)words, (long long)files[file].words);
    free(used);
    free(path);
    return ok;
}

static bool fill_part(const struct data_args *args, const struct vocabulary *v, const char *text,
                      size_t len, const char *limit, struct data_part *part, struct error *err)
{
    const int64_t seq = data_arg_int(args, "seq");
    const int64_t n = text_limit(args, limit, windows_of(words_count(text, len), seq));
    const size_t tokens = (size_t)(n * seq);
    int32_t *x = data_alloc(tokens + 1, sizeof *x, args->def, err);
    int32_t *next = data_alloc(tokens, sizeof *next, args->def, err);
    part->x = x;
    part->label = next;
    if (!x || !next)
        return false;
    vocabulary_encode(v, text, len, (int64_t)tokens + 1, x);
    memcpy(next, x + 1, tokens * sizeof *next);
    part->n = n;
    return true;
}

bool wikitext_load(const struct data_args *args, const char *root, struct dataset *d,
                   struct error *err)
{
    const int train = file_of(args, "train"), test = file_of(args, "test");
    const struct data_layout *layout = find_layout(args, root, err);
    char *text = NULL, *test_text = NULL;
    size_t len = 0, test_len = 0;
    if (!layout)
        return false;
    bool ok = read_text(args, layout, train, root, &text, &len, err) &&
              (test == train || read_text(args, layout, test, root, &test_text, &test_len, err));
    struct vocabulary *v = ok ? vocabulary_make(text, len, d->vocabulary) : NULL;
    ok = ok && fill_part(args, v, text, len, "n_train", &d->train, err) &&
         (test == train || fill_part(args, v, test_text, test_len, "n_test", &d->test, err));
    d->test_is_train = test == train;
    if (ok && d->test_is_train)
        d->test = d->train;
    d->layout = layout->name;
    vocabulary_free(v);
    free(test_text);
    free(text);
    return ok;
}
