#include "helper_unigram.h"

#include "base/text.h"

#include <math.h>
#include <stdlib.h>

double unigram_perplexity(const struct dataset *d)
{
    const int64_t n = d->train.n * d->labels_per_sample, m = d->test.n * d->labels_per_sample;
    double *count = xcalloc((size_t)d->vocabulary, sizeof *count);
    double loss = 0;
    for (int64_t i = 0; i < n; i++)
        count[d->train.label[i]]++;
    for (int64_t i = 0; i < m; i++)
        loss -= log((count[d->test.label[i]] + 1) / ((double)n + d->vocabulary));
    free(count);
    return exp(loss / (double)m);
}
