/* The sets of texts: how data/table.c knows them. */
#ifndef DATA_TEXT_TEXT_SETS_H
#define DATA_TEXT_TEXT_SETS_H

#include "data/loader.h"

/* WikiText-2.  Files of a layout in the order train, valid, test: which of them train and test the
 * arguments say, and both are taken from one layout. */
data_describe_fn wikitext_describe;
data_present_fn wikitext_present;
data_load_fn wikitext_load;

/* SST-2.  Files of a layout: train, dev (GLUE's validation split, which tests: the labels of its
 * test split were never published). */
data_describe_fn sst2_describe;
data_present_fn sst2_present;
data_load_fn sst2_load;

/* Where `fugue prefetch` puts the published XLM-R tokenizer under the data root (data/download.c).
 */
#define XLMR_TOKENIZER_PATH "weights/xlm-roberta-base/sentencepiece.bpe.model"

/* The limit n_train or n_test where it is given, else n: the first samples of a part. */
static inline int64_t text_limit(const struct data_args *args, const char *name, int64_t n)
{
    const int64_t limit = data_arg_given(args, name) ? data_arg_int(args, name) : n;
    return limit < n ? limit : n;
}

#endif
