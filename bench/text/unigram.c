/* unigram SPEC: perplexity of the unigram model of a data set's training part on its test part. */
#include "base/env.h"
#include "helper_unigram.h"

#include <stdio.h>

int main(int argc, char **argv)
{
    struct error err = ERROR_INIT;
    if (argc != 2) {
        fputs("usage: unigram SPEC\n", stderr);
        return 2;
    }
    struct dataset *d = data_load(argv[1], env_value(ENV_DATA_DIR), false, &err);
    if (!d || d->labels_per_sample < 2) {
        fprintf(stderr, "unigram: %s\n", d ? "the set has no next words" : err.text);
        data_free(d);
        return 1;
    }
    printf("%.2f\n", unigram_perplexity(d));
    data_free(d);
    return 0;
}
