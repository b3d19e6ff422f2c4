/* Generated content of a set's exact shape: sequences of token ids.  data/loader.h has the rules.
 */
#include "data/synthetic.h"

/* One word of a sample's stream of random numbers. */
static uint32_t word_of(uint32_t set, int64_t sample, int32_t i)
{
    return synth_draw(set, STREAM_SAMPLE, (uint32_t)sample, (uint32_t)i / 4).v[i % 4];
}

static bool take_memory(const struct data_def *def, const struct dataset *d, int64_t n,
                        struct data_part *part, struct error *err)
{
    part->x = data_alloc((size_t)n, shape_count(d->shape) * sizeof(int32_t), def, err);
    part->label = data_alloc((size_t)n, (size_t)d->labels_per_sample * sizeof(int32_t), def, err);
    part->n = n;
    return part->x && part->label;
}

/* ---- next words ---- */

#define FIRST_WORD 2
#define ODDITY     256 /* one word in so many follows no rule */

struct grammar {
    uint32_t set;
    struct rng_perm follow;
};

static uint32_t any_word(const struct grammar *g, uint32_t random)
{
    return random / ODDITY % g->follow.n;
}

static void make_sentence(const struct grammar *g, int64_t sample, int32_t length, int32_t *x,
                          int32_t *next)
{
    uint32_t word = any_word(g, word_of(g->set, sample, 0)), turn = 0;
    for (int32_t t = 0; t < length; t++) {
        const uint32_t random = word_of(g->set, sample, t + 1);
        const uint32_t plain = rng_perm_at(&g->follow, word);
        const uint32_t turned = (plain ^ turn) < g->follow.n ? plain ^ turn : plain;
        x[t] = FIRST_WORD + (int32_t)word;
        word = random % ODDITY == 0 ? any_word(g, random) : turned;
        next[t] = FIRST_WORD + (int32_t)word;
        turn = plain & 1;
    }
}

static bool make_sentences(const struct data_def *def, const struct grammar *g, int64_t first,
                           int64_t n, const struct dataset *d, struct data_part *part,
                           struct error *err)
{
    if (!take_memory(def, d, n, part, err))
        return false;
    const int32_t length = d->shape.d[0];
    int32_t *x = (int32_t *)part->x, *next = (int32_t *)part->label;
    for (int64_t i = 0; i < n; i++)
        make_sentence(g, first + i, length, x + i * length, next + i * length);
    return true;
}

bool synthetic_words(const struct data_def *def, const struct data_info *info, struct dataset *d,
                     struct error *err)
{
    struct grammar g = {.set = synth_set(info->name)};
    g.follow = rng_perm_make((uint32_t)info->vocabulary - FIRST_WORD, 0, RNG_SYNTH, g.set);
    return make_sentences(def, &g, 0, info->n_train, d, &d->train, err) &&
           make_sentences(def, &g, info->n_train, info->n_test, d, &d->test, err);
}

/* ---- classes of texts ---- */

enum { ID_START, ID_PAD, ID_END, ID_UNKNOWN, ID_WORDS };

#define OWN_WORDS  32 /* of a class */
#define LEAST      4  /* words of a text */
#define MOST       32
#define MOST_TELLS 3 /* of them, words of the class */

struct language {
    uint32_t set;
    int32_t classes, own;         /* words of each class */
    int32_t first_plain, n_plain; /* words of none */
};

static void make_text(const struct language *l, int64_t sample, int32_t length, int32_t *x,
                      int32_t *label)
{
    const struct rng_block b = synth_draw(l->set, STREAM_NOISE, (uint32_t)sample, 0);
    const int32_t most = length - 2 < MOST ? length - 2 : MOST;
    const int32_t words = LEAST + (int32_t)(b.v[0] % (uint32_t)(most - LEAST + 1));
    const int32_t tells = 1 + (int32_t)(b.v[1] % MOST_TELLS);
    const int32_t start = (int32_t)(b.v[2] % (uint32_t)words);
    *label = (int32_t)(b.v[3] % (uint32_t)l->classes);
    x[0] = ID_START;
    for (int32_t i = 0; i < words; i++) {
        const uint32_t random = word_of(l->set, sample, i);
        const bool tell = (i + words - start) % words < tells;
        x[1 + i] = tell ? ID_WORDS + *label * l->own + (int32_t)(random % (uint32_t)l->own)
                        : l->first_plain + (int32_t)(random % (uint32_t)l->n_plain);
    }
    x[1 + words] = ID_END;
    for (int32_t i = 2 + words; i < length; i++)
        x[i] = ID_PAD;
}

static bool make_texts(const struct data_def *def, const struct language *l, int64_t first,
                       int64_t n, const struct dataset *d, struct data_part *part,
                       struct error *err)
{
    if (!take_memory(def, d, n, part, err))
        return false;
    const int32_t length = d->shape.d[0];
    int32_t *x = (int32_t *)part->x, *label = (int32_t *)part->label;
    for (int64_t i = 0; i < n; i++)
        make_text(l, first + i, length, x + i * length, label + i);
    return true;
}

bool synthetic_texts(const struct data_def *def, const struct data_info *info, struct dataset *d,
                     struct error *err)
{
    struct language l = {.set = synth_set(info->name), .classes = info->n_outputs};
    const int32_t words = info->vocabulary - 1 - ID_WORDS; /* less <mask> */
    const int32_t most = words / (2 * l.classes);          /* half of them stay plain */
    l.own = most < OWN_WORDS ? most : OWN_WORDS;
    l.first_plain = ID_WORDS + l.classes * l.own;
    l.n_plain = info->vocabulary - 1 - l.first_plain;
    return make_texts(def, &l, 0, info->n_train, d, &d->train, err) &&
           make_texts(def, &l, info->n_train, info->n_test, d, &d->test, err);
}
