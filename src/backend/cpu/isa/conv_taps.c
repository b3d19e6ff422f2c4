/* Convolution by taps: for images with many channels, of any size and stride.
 *
 * Output pixels that see the same taps (those whose window does not leave the image at that side)
 * are one matrix product: a row is a pixel's window as it lies in the image, so nothing is padded,
 * spread or multiplied by zero.  At 3x3 and pad 1 there are nine kinds of pixels; an image of one
 * pixel has one, with one tap of nine.  The data gradient is the same over dy, with stride as taps
 * that are left out.  The weight gradient is one product for each tap, over the pixels that see it.
 */
#include "backend/cpu/isa/conv.h"

#include "backend/cpu/isa/product.h"

#define MIN_CHANNELS  16     /* of a group: with fewer, runs are too short */
#define CHUNK         256    /* pixels of a product: its result stays in the first cache */
#define LONG_CHUNK    512    /* pixels a weight gradient adds at a time */
#define BLOCK_FLOATS  65536  /* of the images (or lines of one) that are worked on at a time */
#define PANELS_FLOATS 131072 /* of weights (or their gradient) that stay in the second cache */
#define ALIGN16(n)    (((n) + 15) & ~(size_t)15)

/* ---- blocks of images ---- */

/* Output lines [h0, h1) of images [image, image + images): whole images, or a piece of one. */
struct block {
    int32_t image, images, h0, h1;
};

static int32_t at_least_one(size_t n)
{
    return n < 1 ? 1 : n > INT32_MAX / 2 ? INT32_MAX / 2 : (int32_t)n;
}

/* The block after *b (images 0: the first); false at the end. */
static bool next_block(struct block *b, int32_t rows, int32_t lines, size_t image_floats)
{
    const int32_t images = at_least_one(BLOCK_FLOATS / image_floats);
    const int32_t per_block = at_least_one(BLOCK_FLOATS * (size_t)lines / image_floats);
    if (b->images > 0 && b->h1 < lines) {
        b->h0 = b->h1;
    } else {
        b->image += b->images;
        b->h0 = 0;
    }
    const int32_t left = rows - b->image;
    b->images = left < images ? left : images;
    b->h1 = image_floats <= BLOCK_FLOATS || lines - b->h0 <= per_block ? lines : b->h0 + per_block;
    return left > 0;
}

/* ---- which taps a coordinate sees ---- */

/* One axis: output coordinate o sees n[o] taps, tap[o] + i step, at source[o] + i inc. */
struct axis {
    int32_t outputs, step, inc;
    int32_t *tap, *n, *source;
};

static int32_t common_divisor(int32_t a, int32_t b)
{
    return b == 0 ? a : common_divisor(b, a % b);
}

/* The forward pass: the source is x. */
static void axis_forward(struct axis *a, int32_t outputs, int32_t inputs, int32_t kernel,
                         int32_t stride, int32_t pad, int32_t dilation)
{
    a->outputs = outputs;
    a->step = 1;
    a->inc = dilation;
    for (int32_t o = 0; o < outputs; o++) {
        a->n[o] = 0;
        for (int32_t t = kernel - 1; t >= 0; t--) {
            const int32_t at = o * stride - pad + t * dilation;
            if (at < 0 || at >= inputs)
                continue;
            a->n[o]++;
            a->tap[o] = t;
            a->source[o] = at;
        }
    }
}

/* The data gradient: outputs are pixels of x, the source is dy, taps count from the last. */
static void axis_backward(struct axis *a, int32_t outputs, int32_t inputs, int32_t kernel,
                          int32_t stride, int32_t pad, int32_t dilation)
{
    const int32_t common = common_divisor(stride, dilation);
    a->outputs = inputs;
    a->step = stride / common;
    a->inc = dilation / common;
    for (int32_t h = 0; h < inputs; h++) {
        a->n[h] = 0;
        for (int32_t t = kernel - 1; t >= 0; t--) {
            const int32_t at = h + pad - (kernel - 1 - t) * dilation;
            if (at < 0 || at % stride != 0 || at / stride >= outputs)
                continue;
            a->n[h]++;
            a->tap[h] = t;
            a->source[h] = at / stride;
        }
    }
}

/* ---- the walk ---- */

/* Everything about one direction. */
struct walk {
    struct axis h, w;
    int32_t kernel_w, taps, groups;
    int32_t channels, inner; /* of the source; of a group of it */
    int32_t outer, ldc;      /* outputs of a group, floats to the next output pixel */
    int32_t source_w;
    size_t source_floats, out_floats; /* an image */
    const float *source, *weights, *bias;
    float *out;
    bool add, relu, backward;
    int32_t weight_ld;
    struct block block; /* being worked on */
    /* Scratch. */
    float *panels, *sums;
    int32_t *rows, *seg, *seg_tap;
    bool *used; /* taps some pixel sees */
};

/* Pixels that see the same taps. */
struct kind {
    int32_t tap_h, n_h, tap_w, n_w;
    int32_t n_seg, seg_len;
};

static bool sees(const struct axis *a, int32_t o, int32_t tap, int32_t n)
{
    return a->n[o] == n && (n == 0 || a->tap[o] == tap);
}

/* The first coordinate of each kind stands for it. */
static bool is_first(const struct axis *a, int32_t o)
{
    for (int32_t i = 0; i < o; i++)
        if (sees(a, i, a->tap[o], a->n[o]))
            return false;
    return true;
}

static bool any_sees(const struct axis *a, int32_t tap)
{
    for (int32_t o = 0; o < a->outputs; o++)
        for (int32_t i = 0; i < a->n[o]; i++)
            if (a->tap[o] + i * a->step == tap)
                return true;
    return false;
}

static void mark_used(struct walk *k)
{
    for (int32_t t = 0; t < k->taps; t++)
        k->used[t] = any_sees(&k->h, t / k->kernel_w) && any_sees(&k->w, t % k->kernel_w);
}

/* Columns j ... of the weights of group g, taps one after the other. */
static void pack(const struct walk *k, int32_t g, int32_t j, int32_t n_j, float *to)
{
    for (int32_t t = 0; t < k->taps; t++, to += (ptrdiff_t)k->inner * n_j) {
        if (!k->used[t])
            continue;
        if (k->backward) {
            /* Weights [tap][outer][inner of this walk]: turned, taps from the last. */
            const ptrdiff_t row = (ptrdiff_t)(k->taps - 1 - t) * k->outer + j;
            ISA_FN(transpose)
            (k->weights + row * k->weight_ld + (ptrdiff_t)g * k->inner, k->weight_ld, n_j, k->inner,
             to);
            continue;
        }
        const float *from =
            k->weights + (ptrdiff_t)t * k->inner * k->weight_ld + (ptrdiff_t)g * k->outer + j;
        for (int32_t i = 0; i < k->inner; i++)
            memcpy(to + (ptrdiff_t)i * n_j, from + (ptrdiff_t)i * k->weight_ld,
                   (size_t)n_j * sizeof *to);
    }
}

/* Runs of the window, from its first pixel: lines where taps lie side by side in the image. */
static void set_runs(const struct walk *k, struct kind *kind)
{
    const bool lines = k->w.step == 1 && k->w.inc == 1 && k->groups == 1;
    const int32_t across = lines ? 1 : kind->n_w;
    kind->n_seg = 0;
    kind->seg_len = lines ? kind->n_w * k->inner : k->inner;
    for (int32_t i = 0; i < kind->n_h; i++)
        for (int32_t j = 0; j < across; j++) {
            k->seg[kind->n_seg] = (i * k->h.inc * k->source_w + j * k->w.inc) * k->channels;
            k->seg_tap[kind->n_seg++] =
                (kind->tap_h + i * k->h.step) * k->kernel_w + kind->tap_w + j * k->w.step;
        }
}

/* Sums of n_rows pixels: a product for each chain of runs whose weights follow one another. */
static void multiply(const struct walk *k, const struct kind *kind, const float *source,
                     const float *panel, int32_t n_rows, int32_t n_j)
{
    int32_t taps = kind->seg_len / k->inner;
    for (int32_t s = 0, next; s < kind->n_seg; s = next) {
        for (next = s + 1; next < kind->n_seg; next++)
            if (k->seg_tap[next] != k->seg_tap[next - 1] + taps)
                break;
        const struct gemm g = {.m = n_rows,
                               .n = n_j,
                               .a = source,
                               .a_rows = k->rows,
                               .a_k = 1,
                               .seg = k->seg + s,
                               .n_seg = next - s,
                               .seg_len = kind->seg_len,
                               .b = panel + (ptrdiff_t)k->seg_tap[s] * k->inner * n_j,
                               .ldb = n_j,
                               .c = k->sums,
                               .ldc = n_j,
                               .add = s > 0};
        ISA_FN(gemm)(&g);
    }
}

/* A row of sums to its pixel. */
static void deliver(const struct walk *k, const float *sums, const float *bias, float *out,
                    int32_t n_j)
{
    for (int32_t i = 0; i < n_j; i += VW) {
        const int32_t left = n_j - i;
        const vm mask = v_first(left < VW ? left : VW - 1);
        vf y = left < VW ? v_load_m(sums + i, mask) : v_load(sums + i);
        if (bias)
            y = v_add(y, left < VW ? v_load_m(bias + i, mask) : v_load(bias + i));
        if (k->add)
            y = v_add(left < VW ? v_load_m(out + i, mask) : v_load(out + i), y);
        if (k->relu)
            y = v_relu(y);
        if (left < VW)
            v_store_m(out + i, y, mask);
        else
            v_store(out + i, y);
    }
}

/* Pixels of a kind as they are walked: image, then line, then column. */
struct cursor {
    int32_t image, h, w;
};

static bool next_pixel(const struct walk *k, const struct kind *kind, struct cursor *at)
{
    for (; at->h < k->block.h1; at->h++, at->w = -1) {
        if (!sees(&k->h, at->h, kind->tap_h, kind->n_h))
            continue;
        while (++at->w < k->w.outputs)
            if (sees(&k->w, at->w, kind->tap_w, kind->n_w))
                return true;
    }
    return false;
}

/* Output offsets follow the source's in k->rows. */
static int32_t take_chunk(const struct walk *k, const struct kind *kind, struct cursor *at)
{
    int32_t n = 0;
    while (n < CHUNK && at->image < k->block.images) {
        if (!next_pixel(k, kind, at)) {
            at->image++;
            at->h = k->block.h0;
            at->w = -1;
            continue;
        }
        const int32_t h = kind->n_h > 0 ? k->h.source[at->h] : 0;
        const int32_t w = kind->n_w > 0 ? k->w.source[at->w] : 0;
        k->rows[n] = at->image * (int32_t)k->source_floats + (h * k->source_w + w) * k->channels;
        k->rows[CHUNK + n++] =
            at->image * (int32_t)k->out_floats + (at->h * k->w.outputs + at->w) * k->ldc;
    }
    return n;
}

static void walk_kind(const struct walk *k, struct kind kind, int32_t g, int32_t j, int32_t n_j,
                      const float *panel)
{
    const bool none = kind.n_h == 0 || kind.n_w == 0;
    const float *bias = k->bias ? k->bias + (ptrdiff_t)g * k->outer + j : NULL;
    const size_t first = (size_t)k->block.image;
    const float *source = k->source + first * k->source_floats + (ptrdiff_t)g * k->inner;
    float *out = k->out + first * k->out_floats + (ptrdiff_t)g * k->outer + j;
    if (none)
        memset(k->sums, 0, CHUNK * PANEL * sizeof *k->sums);
    else
        set_runs(k, &kind);
    struct cursor at = {0, k->block.h0, -1};
    for (int32_t n; (n = take_chunk(k, &kind, &at)) > 0;) {
        if (!none)
            multiply(k, &kind, source, panel, n, n_j);
        for (int32_t i = 0; i < n; i++)
            deliver(k, k->sums + (ptrdiff_t)i * n_j, bias, out + k->rows[CHUNK + i], n_j);
    }
}

static void walk_kinds(const struct walk *k, int32_t g, int32_t j, int32_t n_j, const float *panel)
{
    for (int32_t h = 0; h < k->h.outputs; h++) {
        if (!is_first(&k->h, h))
            continue;
        for (int32_t w = 0; w < k->w.outputs; w++)
            if (is_first(&k->w, w))
                walk_kind(k,
                          (struct kind){.tap_h = k->h.tap[h],
                                        .n_h = k->h.n[h],
                                        .tap_w = k->w.tap[w],
                                        .n_w = k->w.n[w]},
                          g, j, n_j, panel);
    }
}

/* Columns whose packed weights stay in the second cache: whole panels, at least one. */
static int32_t columns_at_once(const struct walk *k)
{
    const size_t panel = (size_t)k->taps * (size_t)k->inner * PANEL;
    const size_t columns = PANELS_FLOATS > panel ? PANELS_FLOATS / panel * PANEL : PANEL;
    const size_t all = ((size_t)k->outer + PANEL - 1) / PANEL * PANEL;
    return (int32_t)(columns < all ? columns : all);
}

/* Columns [first, end) of group g. */
static void walk_columns(struct walk *k, int32_t rows, int32_t g, int32_t first, int32_t end)
{
    const size_t column = (size_t)k->taps * (size_t)k->inner;
    const size_t floats = k->source_floats > k->out_floats ? k->source_floats : k->out_floats;
    for (int32_t j = first; j < end; j += PANEL)
        pack(k, g, j, end - j < PANEL ? end - j : PANEL, k->panels + (size_t)(j - first) * column);
    k->block = (struct block){0};
    while (next_block(&k->block, rows, k->h.outputs, floats))
        for (int32_t j = first; j < end; j += PANEL)
            walk_kinds(k, g, j, end - j < PANEL ? end - j : PANEL,
                       k->panels + (size_t)(j - first) * column);
}

static void walk_run(struct walk *k, int32_t rows)
{
    const int32_t columns = columns_at_once(k);
    mark_used(k);
    for (int32_t g = 0; g < k->groups; g++)
        for (int32_t j = 0; j < k->outer; j += columns)
            walk_columns(k, rows, g, j, k->outer - j < columns ? k->outer : j + columns);
}

/* Cuts the scratch; NULL: only counts. */
static size_t cut(struct walk *k, int32_t out_h, int32_t out_w, float *scratch)
{
    const size_t sizes[] = {(size_t)k->taps * (size_t)k->inner * (size_t)columns_at_once(k),
                            CHUNK * PANEL,
                            2 * CHUNK,
                            (size_t)k->taps,
                            (size_t)k->taps,
                            (size_t)k->taps,
                            3 * (size_t)out_h,
                            3 * (size_t)out_w};
    float *part[8];
    size_t at = 0;
    for (int i = 0; i < 8; i++) {
        part[i] = scratch ? scratch + at : NULL;
        at += ALIGN16(sizes[i]);
    }
    if (!scratch)
        return at;
    k->panels = part[0];
    k->sums = part[1];
    k->rows = (int32_t *)part[2];
    k->seg = (int32_t *)part[3];
    k->seg_tap = (int32_t *)part[4];
    k->used = (bool *)part[5];
    k->h.tap = (int32_t *)part[6];
    k->h.n = k->h.tap + out_h;
    k->h.source = k->h.n + out_h;
    k->w.tap = (int32_t *)part[7];
    k->w.n = k->w.tap + out_w;
    k->w.source = k->w.n + out_w;
    return at;
}

static struct walk forward_walk(const struct plan_step *s)
{
    const int32_t groups = s->attr.groups;
    return (struct walk){.kernel_w = s->attr.kernel_w,
                         .taps = s->attr.kernel_h * s->attr.kernel_w,
                         .groups = groups,
                         .channels = s->in[0].d[2],
                         .inner = s->in[0].d[2] / groups,
                         .outer = s->out.d[2] / groups,
                         .ldc = s->out.d[2],
                         .source_w = s->in[0].d[1],
                         .source_floats = shape_count(s->in[0]),
                         .out_floats = shape_count(s->out),
                         .weight_ld = s->out.d[2]};
}

static struct walk backward_walk(const struct plan_step *s)
{
    const int32_t groups = s->attr.groups;
    return (struct walk){.kernel_w = s->attr.kernel_w,
                         .taps = s->attr.kernel_h * s->attr.kernel_w,
                         .groups = groups,
                         .channels = s->out.d[2],
                         .inner = s->out.d[2] / groups,
                         .outer = s->in[0].d[2] / groups,
                         .ldc = s->in[0].d[2],
                         .source_w = s->out.d[1],
                         .source_floats = shape_count(s->out),
                         .out_floats = shape_count(s->in[0]),
                         .weight_ld = s->out.d[2],
                         .backward = true};
}

static void forward(const struct op_call *c)
{
    const struct plan_step *s = c->step;
    const struct op_attr *a = &s->attr;
    struct walk k = forward_walk(s);
    cut(&k, s->out.d[0], s->out.d[1], c->scratch);
    axis_forward(&k.h, s->out.d[0], s->in[0].d[0], a->kernel_h, a->stride_h, a->pad_h,
                 a->dilation_h);
    axis_forward(&k.w, s->out.d[1], s->in[0].d[1], a->kernel_w, a->stride_w, a->pad_w,
                 a->dilation_w);
    k.source = c->x;
    k.weights = c->param[0];
    k.bias = c->param[1];
    k.out = c->y;
    k.relu = c->relu;
    walk_run(&k, c->rows);
}

static void data_gradient(const struct op_call *c)
{
    const struct plan_step *s = c->step;
    const struct op_attr *a = &s->attr;
    struct walk k = backward_walk(s);
    cut(&k, s->in[0].d[0], s->in[0].d[1], c->scratch);
    axis_backward(&k.h, s->out.d[0], s->in[0].d[0], a->kernel_h, a->stride_h, a->pad_h,
                  a->dilation_h);
    axis_backward(&k.w, s->out.d[1], s->in[0].d[1], a->kernel_w, a->stride_w, a->pad_w,
                  a->dilation_w);
    k.source = c->dy;
    k.weights = c->param[0];
    k.out = c->dx;
    k.add = c->add_dx;
    walk_run(&k, c->rows);
}

static size_t forward_scratch(const struct plan_step *s, int32_t rows_per_shard)
{
    (void)rows_per_shard;
    struct walk k = forward_walk(s);
    return cut(&k, s->out.d[0], s->out.d[1], NULL);
}

static size_t data_scratch(const struct plan_step *s, int32_t rows_per_shard)
{
    (void)rows_per_shard;
    struct walk k = backward_walk(s);
    return cut(&k, s->in[0].d[0], s->in[0].d[1], NULL);
}

/* ---- the weight gradient ---- */

/* Outputs [first, first + n) of an axis see a tap, the first of them at `source`. */
struct span {
    int32_t first, n, source;
};

/* Of outputs [from, to); at_tap: where output 0 sees the tap. */
static struct span span_of(int32_t from, int32_t to, int32_t inputs, int32_t at_tap, int32_t stride)
{
    struct span s = {0, 0, 0};
    for (int32_t o = from; o < to; o++) {
        const int32_t at = o * stride + at_tap;
        if (at < 0 || at >= inputs)
            continue;
        if (s.n++ == 0) {
            s.first = o;
            s.source = at;
        }
    }
    return s;
}

/* Lines (of one image each) of a block that see a tap, taken a few at a time. */
struct tap_lines {
    struct span h, w;
    int32_t per_chunk;
    bool single; /* one pixel an image: images are the run */
};

static struct tap_lines tap_lines(const struct plan_step *s, const struct block *b, int32_t tap)
{
    const struct op_attr *a = &s->attr;
    struct tap_lines t = {.h = span_of(b->h0, b->h1, s->in[0].d[0],
                                       tap / a->kernel_w * a->dilation_h - a->pad_h, a->stride_h),
                          .w = span_of(0, s->out.d[1], s->in[0].d[1],
                                       tap % a->kernel_w * a->dilation_w - a->pad_w, a->stride_w)};
    t.single = t.h.n == 1 && t.w.n == 1;
    t.per_chunk = t.w.n > 0 ? (LONG_CHUNK + t.w.n - 1) / t.w.n : 1;
    return t;
}

/* What a weight gradient is made of: rows [from, to) of a tap, columns [j, j + n_j) of group g. */
struct gradient_tile {
    int32_t tap, from, to, g, j, n_j;
    const float *x, *dy; /* of the block's first image */
};

/* Copies the tile's columns of dy's lines [l, l + n), and says where the lines of x start, from the
 * first image of them. */
static void take_lines(const struct op_call *c, const struct tap_lines *t, int32_t l, int32_t n,
                       const struct gradient_tile *tile, float *panel, int32_t *seg)
{
    const struct plan_step *s = c->step;
    const int32_t ld = s->out.d[2], n_j = tile->n_j;
    const float *dy = tile->dy + (ptrdiff_t)tile->g * (ld / s->attr.groups) + tile->j;
    for (int32_t i = 0; i < n; i++) {
        const int32_t image = (l + i) / t->h.n, line = (l + i) % t->h.n;
        const float *from = dy + (size_t)image * shape_count(s->out) +
                            ((ptrdiff_t)(t->h.first + line) * s->out.d[1] + t->w.first) * ld;
        for (int32_t w = 0; w < t->w.n; w++, panel += n_j)
            memcpy(panel, from + (ptrdiff_t)w * ld, (size_t)n_j * sizeof *panel);
        seg[i] = (image - l / t->h.n) * (int32_t)shape_count(s->in[0]) +
                 line * s->attr.stride_h * s->in[0].d[1] * s->in[0].d[2];
    }
}

static void tap_gradient(const struct op_call *c, const struct block *b,
                         const struct gradient_tile *tile, bool add)
{
    const struct plan_step *s = c->step;
    const int32_t inner = s->in[0].d[2] / s->attr.groups, outer = s->out.d[2] / s->attr.groups;
    const struct tap_lines t = tap_lines(s, b, tile->tap);
    const int32_t lines = b->images * t.h.n;
    float *panel = c->scratch;
    int32_t *seg = (int32_t *)(panel + (size_t)(LONG_CHUNK + s->out.d[1]) * PANEL);
    struct gemm k = {.m = tile->to - tile->from,
                     .n = tile->n_j,
                     .a_row = 1,
                     .a_k = t.single ? (ptrdiff_t)shape_count(s->in[0])
                                     : (ptrdiff_t)s->attr.stride_w * s->in[0].d[2],
                     .seg = t.single ? NULL : seg,
                     .b = panel,
                     .ldb = tile->n_j,
                     .c = c->grad[0] + ((ptrdiff_t)tile->tap * inner + tile->from) * s->out.d[2] +
                          (ptrdiff_t)tile->g * outer + tile->j,
                     .ldc = s->out.d[2],
                     .add = add};
    if (t.w.n == 0 || lines == 0) {
        for (int32_t i = 0; !add && i < k.m; i++)
            memset(k.c + i * k.ldc, 0, (size_t)k.n * sizeof *k.c);
        return;
    }
    for (int32_t l = 0; l < lines; l += t.per_chunk, k.add = true) {
        const int32_t n = lines - l < t.per_chunk ? lines - l : t.per_chunk;
        take_lines(c, &t, l, n, tile, panel, seg);
        k.a = tile->x + (size_t)(l / t.h.n) * shape_count(s->in[0]) +
              ((ptrdiff_t)t.h.source * s->in[0].d[1] + t.w.source) * s->in[0].d[2] +
              (ptrdiff_t)tile->g * inner + tile->from;
        k.n_seg = t.single ? 1 : n;
        k.seg_len = t.single ? n : t.w.n;
        ISA_FN(gemm)(&k);
    }
}

/* Rows [first, end) of the weights, columns [j, stop) of group g, block after block. */
static void gradient_columns(const struct op_call *c, int32_t first, int32_t end, int32_t g,
                             int32_t j, int32_t stop)
{
    const struct plan_step *s = c->step;
    const int32_t inner = s->in[0].d[2] / s->attr.groups;
    const size_t in = shape_count(s->in[0]), out = shape_count(s->out);
    struct block b = {0};
    for (bool add = c->add_grad & 1; next_block(&b, c->rows, s->out.d[0], in > out ? in : out);
         add = true)
        for (int32_t column = j; column < stop; column += PANEL)
            for (int32_t at = first, to; at < end; at = to) {
                struct gradient_tile t = {.tap = at / inner, .g = g, .j = column};
                to = (t.tap + 1) * inner < end ? (t.tap + 1) * inner : end;
                t.from = at - t.tap * inner;
                t.to = to - t.tap * inner;
                t.n_j = stop - column < PANEL ? stop - column : PANEL;
                t.x = c->x + (size_t)b.image * in;
                t.dy = c->dy + (size_t)b.image * out;
                tap_gradient(c, &b, &t, add);
            }
}

static void weight_gradient(const struct op_call *c)
{
    const struct plan_step *s = c->step;
    const int32_t outer = s->out.d[2] / s->attr.groups;
    int32_t first, end;
    conv_part(c, &first, &end);
    const size_t panel = (size_t)(end - first) * PANEL;
    const int32_t columns =
        panel > 0 && PANELS_FLOATS > panel ? (int32_t)(PANELS_FLOATS / panel) * PANEL : PANEL;
    for (int32_t g = 0; g < s->attr.groups; g++)
        for (int32_t j = 0; j < outer; j += columns)
            gradient_columns(c, first, end, g, j, outer - j < columns ? outer : j + columns);
}

static size_t weight_scratch(const struct plan_step *s, int32_t rows_per_shard)
{
    (void)rows_per_shard;
    return (size_t)(LONG_CHUNK + s->out.d[1]) * PANEL + LONG_CHUNK;
}

static bool fits(const struct plan_step *s, enum conv_pass pass)
{
    const int32_t inner = s->in[0].d[2] / s->attr.groups, outer = s->out.d[2] / s->attr.groups;
    /* Columns of dy are copied once for each tap: that pays with enough rows. */
    const int32_t least[CONV_PASSES] = {inner, outer, inner / 2};
    return least[pass] >= MIN_CHANNELS;
}

const struct conv_way ISA_FN(conv_taps) = {
    fits,
    {forward, data_gradient, weight_gradient},
    {forward_scratch, data_scratch, weight_scratch},
};
