/* SST-2: labelled sentences as XLM-R's token ids. */
#include "base/file.h"
#include "base/log.h"
#include "base/text.h"
#include "data/download.h"
#include "data/text/text_sets.h"
#include "data/text/tokenizer.h"
#include "data/text/tsv.h"

#include <stdlib.h>
#include <string.h>

/* The largest has 3.8 MB. */
#define MAX_BYTES (64u << 20)

enum file { FILE_TRAIN, FILE_TEST };

/* ---- the tokenizer ---- */

/* malloc'd; the published one's place where none is named. */
static char *tokenizer_path(const struct data_args *args, const char *root)
{
    return data_arg_given(args, "tokenizer") ? data_arg_path(args, "tokenizer", root)
                                             : path_join(root, XLMR_TOKENIZER_PATH);
}

/* Where the published one comes from, as the table of downloads says. */
static const char *published_url(void)
{
    const struct download *d = download_find("sst2");
    for (int i = 0; d && i < d->n_files; i++)
        if (strcmp(d->files[i].place, XLMR_TOKENIZER_PATH) == 0)
            return d->files[i].source[0];
    return "XLM-R's sentencepiece.bpe.model";
}

static bool tokenizer_present(const struct data_args *args, const char *path, struct error *err)
{
    if (file_exists(path))
        return true;
    if (data_arg_given(args, "tokenizer"))
        return error_set(err, ERROR_DATA,
                         "data set '%s': there is no tokenizer '%s'; name a SentencePiece model",
                         args->text, path);
    return error_set(
        err, ERROR_DATA,
        "data set '%s': its tokenizer '%s' is not there; 'fugue prefetch sst2' fetches "
        "it, or download %s and put it at that path, name another SentencePiece model "
        "with the argument tokenizer=FILE, or use --data synthetic",
        args->text, path, published_url());
}

bool sst2_describe(const struct data_args *args, const char *root, struct data_info *info,
                   struct error *err)
{
    info->shape.d[0] = (int32_t)data_arg_int(args, "seq");
    info->n_train = text_limit(args, "n_train", info->n_train);
    info->n_test = text_limit(args, "n_test", info->n_test);
    if (!data_arg_given(args, "tokenizer"))
        return true;
    char *path = tokenizer_path(args, root);
    const bool ok =
        tokenizer_present(args, path, err) && tokenizer_vocabulary(path, &info->vocabulary, err);
    free(path);
    return ok;
}

bool sst2_present(const struct data_args *args, const char *root, struct error *err)
{
    char *path = tokenizer_path(args, root);
    const bool ok = data_layout_find(args->def, root, err) && tokenizer_present(args, path, err);
    free(path);
    return ok;
}

/* A tokenizer whose ids are those the set was described with. */
static struct tokenizer *open_tokenizer(const struct data_args *args, const char *root,
                                        const struct dataset *d, struct error *err)
{
    char *path = tokenizer_path(args, root);
    struct tokenizer *t = NULL;
    int32_t vocabulary;
    if (tokenizer_vocabulary(path, &vocabulary, err)) {
        if (vocabulary == d->vocabulary)
            t = tokenizer_open(path, err);
        else
            error_set(err, ERROR_DATA,
                      "'%s' has a vocabulary of %d; XLM-R's has %d: to use another model, name it "
                      "with the argument tokenizer=FILE",
                      path, (int)vocabulary, (int)d->vocabulary);
    }
    if (!t)
        error_prefix(err, "data set '%s'", args->def->info.name);
    free(path);
    return t;
}

/* ---- contents ---- */

static bool encode_rows(const struct data_args *args, const struct tokenizer *t,
                        const struct tsv *tsv, int64_t n, struct data_part *part, struct error *err)
{
    const int32_t length = (int32_t)data_arg_int(args, "seq");
    int32_t *x = data_alloc((size_t)n, (size_t)length * sizeof *x, args->def, err);
    int32_t *label = data_alloc((size_t)n, sizeof *label, args->def, err);
    part->x = x;
    part->label = label;
    if (!x || !label)
        return false;
    for (int64_t i = 0; i < n; i++) {
        const struct tsv_row *row = &tsv->rows[i];
        if (!tokenizer_encode(t, row->text, row->len, length, x + i * length, err))
            return false;
        label[i] = row->label;
    }
    part->n = n;
    return true;
}

static bool load_part(const struct data_args *args, const char *root, const char *name,
                      const struct tokenizer *t, int64_t expected, const char *limit,
                      struct data_part *part, struct error *err)
{
    char *path = path_join(root, name), *text = NULL, *used = NULL;
    size_t len = 0;
    struct tsv tsv = {0};
    const bool ok = file_read_maybe_gz(path, MAX_BYTES, &text, &len, &used, err) &&
                    tsv_parse(text, len, used, args->def->info.n_outputs, &tsv, err) &&
                    encode_rows(args, t, &tsv, text_limit(args, limit, tsv.n), part, err);
    if (ok && tsv.n != expected)
        log_once(LOG_WARNING, "'%s' has %lld rows; the published file has %lld", used,
                 (long long)tsv.n, (long long)expected);
    tsv_release(&tsv);
    free(text);
    free(used);
    free(path);
    return ok;
}

bool sst2_load(const struct data_args *args, const char *root, struct dataset *d, struct error *err)
{
    const struct data_info *info = &args->def->info;
    const struct data_layout *layout = data_layout_find(args->def, root, err);
    struct tokenizer *t = layout ? open_tokenizer(args, root, d, err) : NULL;
    if (!t)
        return false;
    const bool ok = load_part(args, root, layout->file[FILE_TRAIN].path, t, info->n_train,
                              "n_train", &d->train, err) &&
                    load_part(args, root, layout->file[FILE_TEST].path, t, info->n_test, "n_test",
                              &d->test, err);
    d->layout = layout->name;
    tokenizer_close(t);
    return ok;
}
