#include "data/text/words.h"

#include "base/text.h"
#include "data/text/utf8.h"

#include <stdlib.h>
#include <string.h>

/* ---- words ------------------------------------------------------------------------------------
 */

bool word_next(const char **at, const char *end, struct word *word)
{
    const char *s = *at;
    for (size_t space; (space = utf8_space_len(s, end)) > 0;)
        s += space;
    word->at = s;
    while (s < end && utf8_space_len(s, end) == 0)
        s++;
    word->len = (size_t)(s - word->at);
    *at = s;
    return word->len > 0;
}

int64_t words_count(const char *text, size_t len)
{
    int64_t n = 0;
    struct word w;
    for (const char *at = text; word_next(&at, text + len, &w);)
        n++;
    return n;
}

/* ---- vocabularies -----------------------------------------------------------------------------
 */

struct entry {
    struct word word;
    uint64_t hash;
    int64_t count;
    int64_t order; /* of first appearance */
};

/* An open-addressing table (linear probing, at most half full) of 1 + index into entries. */
struct vocabulary {
    struct entry *entries; /* while counting: all words by first appearance; then those kept */
    size_t n, cap;
    uint32_t *slots;
    size_t n_slots; /* a power of two */
};

#define FIRST_SLOTS 1024

static uint64_t hash_of(struct word w)
{
    uint64_t h = UINT64_C(0xCBF29CE484222325); /* FNV-1a, and a last mix since low bits index */
    for (size_t i = 0; i < w.len; i++)
        h = (h ^ (unsigned char)w.at[i]) * UINT64_C(0x100000001B3);
    return h ^ h >> 32;
}

/* The slot that holds the word, or the empty one where it belongs. */
static uint32_t *find_slot(const struct vocabulary *v, struct word w, uint64_t hash)
{
    for (size_t i = (size_t)hash & (v->n_slots - 1);; i = (i + 1) & (v->n_slots - 1)) {
        if (v->slots[i] == 0)
            return &v->slots[i];
        const struct entry *e = &v->entries[v->slots[i] - 1];
        if (e->hash == hash && e->word.len == w.len && memcmp(e->word.at, w.at, w.len) == 0)
            return &v->slots[i];
    }
}

/* Fills the table anew from the entries. */
static void index_entries(struct vocabulary *v, size_t n_slots)
{
    free(v->slots);
    v->slots = xcalloc(n_slots, sizeof *v->slots);
    v->n_slots = n_slots;
    for (size_t i = 0; i < v->n; i++)
        *find_slot(v, v->entries[i].word, v->entries[i].hash) = (uint32_t)i + 1;
}

static void count_word(struct vocabulary *v, struct word w)
{
    const uint64_t hash = hash_of(w);
    uint32_t *slot = find_slot(v, w, hash);
    if (*slot) {
        v->entries[*slot - 1].count++;
        return;
    }
    if (v->n == v->cap) {
        v->cap = v->cap ? 2 * v->cap : FIRST_SLOTS;
        v->entries = xrealloc(v->entries, v->cap * sizeof *v->entries);
    }
    v->entries[v->n] = (struct entry){.word = w, .hash = hash, .count = 1, .order = (int64_t)v->n};
    *slot = (uint32_t)++v->n;
    if (2 * v->n > v->n_slots)
        index_entries(v, 2 * v->n_slots);
}

static int by_frequency(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    if (x->count != y->count)
        return x->count > y->count ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

static bool is_unknown_mark(struct word w)
{
    return w.len == 5 && memcmp(w.at, "<unk>", 5) == 0;
}

struct vocabulary *vocabulary_make(const char *text, size_t len, int32_t size)
{
    struct vocabulary *v = xcalloc(1, sizeof *v);
    index_entries(v, FIRST_SLOTS);
    struct word w;
    for (const char *at = text; word_next(&at, text + len, &w);)
        if (!is_unknown_mark(w))
            count_word(v, w);
    if (v->n > 0)
        qsort(v->entries, v->n, sizeof *v->entries, by_frequency);
    const size_t most = (size_t)(size - WORD_ID_FIRST);
    v->n = v->n < most ? v->n : most;
    index_entries(v, v->n_slots);
    return v;
}

void vocabulary_free(struct vocabulary *v)
{
    if (!v)
        return;
    free(v->entries);
    free(v->slots);
    free(v);
}

int32_t vocabulary_size(const struct vocabulary *v)
{
    return WORD_ID_FIRST + (int32_t)v->n;
}

struct word vocabulary_word(const struct vocabulary *v, int32_t id, int64_t *count)
{
    const struct entry *e = &v->entries[id - WORD_ID_FIRST];
    *count = e->count;
    return e->word;
}

int32_t vocabulary_id(const struct vocabulary *v, struct word word)
{
    const uint32_t slot = *find_slot(v, word, hash_of(word));
    return slot ? WORD_ID_FIRST + (int32_t)(slot - 1) : WORD_ID_UNKNOWN;
}

int64_t vocabulary_encode(const struct vocabulary *v, const char *text, size_t len, int64_t max,
                          int32_t *ids)
{
    struct word w;
    const char *at = text;
    int64_t n = 0;
    while (n < max && word_next(&at, text + len, &w))
        ids[n++] = vocabulary_id(v, w);
    return n;
}
