/* What a language model must beat: the unigram model of the training part, with the same ids. */
#ifndef TESTS_ENGINE_HELPER_UNIGRAM_H
#define TESTS_ENGINE_HELPER_UNIGRAM_H

#include "data/dataset.h"

/* Perplexity on the test targets of the model p(w) = (count of w among the training targets + 1) /
 * (training targets + ids); one more of each, since a test may have a word that the windows of the
 * training part leave out. */
double unigram_perplexity(const struct dataset *d);

#endif
