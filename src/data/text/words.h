/* Words of a text and vocabularies by frequency, in memory: no files here.
 *
 * A word is what lies between white space, as Python's str.split() splits; so the text is one
 * stream, and blank lines and line ends leave nothing behind.
 */
#ifndef DATA_TEXT_WORDS_H
#define DATA_TEXT_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct word {
    const char *at; /* in the text, not terminated */
    size_t len;
};

/* The next word from *at on, which moves past it; false at the end.  Text is valid UTF-8. */
bool word_next(const char **at, const char *end, struct word *word);
int64_t words_count(const char *text, size_t len);

/* Ids: 0 <pad> (no word has it), 1 <unk>, then from 2 on the size - 2 most frequent words, ties by
 * first appearance.  A literal "<unk>" in the text, as .tokens files have it for rare words, is
 * id 1 and takes no place among the frequent ones. */
enum { WORD_ID_PAD, WORD_ID_UNKNOWN, WORD_ID_FIRST };

struct vocabulary;
/* The vocabulary of a text, size >= 2.  Borrows the text, which must outlive it.  Never NULL. */
struct vocabulary *vocabulary_make(const char *text, size_t len, int32_t size);
void vocabulary_free(struct vocabulary *v);
/* Ids in use: less than the size asked for where the text has fewer words. */
int32_t vocabulary_size(const struct vocabulary *v);
/* The word of an id from WORD_ID_FIRST on, and how often the text has it. */
struct word vocabulary_word(const struct vocabulary *v, int32_t id, int64_t *count);
/* Id of a word; WORD_ID_UNKNOWN for those outside the vocabulary. */
int32_t vocabulary_id(const struct vocabulary *v, struct word word);
/* Ids of the first `max` words of a text; returns how many there are of them. */
int64_t vocabulary_encode(const struct vocabulary *v, const char *text, size_t len, int64_t max,
                          int32_t *ids);

#endif
