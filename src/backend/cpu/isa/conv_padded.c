/* Convolution of images with few channels: a matrix product that reads the padded image in place: a
 * row of A is an output pixel, its elements are the window, which is n_seg runs of memory.  No
 * patch matrix is ever written; images are padded into scratch a few at a time, so that they stay
 * in the second-level cache.
 *
 * The data gradient is the same product over dy, spread by the stride and padded, with the weights
 * flipped and transposed; the weight gradient has a row for each weight input and runs over pixels.
 */
#include "backend/cpu/isa/conv.h"

#include "backend/cpu/isa/gemm.h"

#define GROUP_FLOATS 32768 /* images taken at a time: 128 KB */
#define ALIGN16(n)   (((n) + 15) & ~(size_t)15)

/* A window sliding over images: how A of the product is read. */
struct sliding {
    int32_t height, width, channels; /* of the padded image */
    int32_t out_h, out_w;            /* positions of the window */
    int32_t stride_h, stride_w;
    int32_t n_seg, seg_len; /* runs of the window */
    int32_t images;         /* taken at a time */
    bool copied;            /* the padded image is a copy in scratch */
};

static int32_t group_channels(const struct plan_step *s)
{
    return s->in[0].d[2] / s->attr.groups;
}

/* Runs are whole lines of the window where nothing splits them. */
static void set_runs(struct sliding *w, const struct op_attr *a, int32_t channels_a_group)
{
    const bool whole_lines = a->dilation_w == 1 && a->groups == 1;
    w->n_seg = whole_lines ? a->kernel_h : a->kernel_h * a->kernel_w;
    w->seg_len = whole_lines ? a->kernel_w * channels_a_group : channels_a_group;
}

static int32_t images_at_a_time(const struct sliding *w, const struct plan_step *s, int32_t rows)
{
    size_t floats = (size_t)w->height * (size_t)w->width * (size_t)w->channels;
    const size_t in = shape_count(s->in[0]), out = shape_count(s->out);
    floats = floats > in ? floats : in;
    floats = floats > out ? floats : out;
    const int32_t images = (int32_t)(GROUP_FLOATS / floats);
    return images < 1 ? 1 : images > rows ? rows : images;
}

/* The window over x. */
static struct sliding over_input(const struct plan_step *s, int32_t rows)
{
    const struct op_attr *a = &s->attr;
    struct sliding w = {.height = s->in[0].d[0] + 2 * a->pad_h,
                        .width = s->in[0].d[1] + 2 * a->pad_w,
                        .channels = s->in[0].d[2],
                        .out_h = s->out.d[0],
                        .out_w = s->out.d[1],
                        .stride_h = a->stride_h,
                        .stride_w = a->stride_w,
                        .copied = a->pad_h > 0 || a->pad_w > 0};
    set_runs(&w, a, group_channels(s));
    w.images = images_at_a_time(&w, s, rows);
    return w;
}

/* The window over dy for the data gradient: one position for each input pixel. */
static struct sliding over_gradient(const struct plan_step *s, int32_t rows)
{
    const struct op_attr *a = &s->attr;
    struct sliding w = {.height = s->in[0].d[0] + (a->kernel_h - 1) * a->dilation_h,
                        .width = s->in[0].d[1] + (a->kernel_w - 1) * a->dilation_w,
                        .channels = s->out.d[2],
                        .out_h = s->in[0].d[0],
                        .out_w = s->in[0].d[1],
                        .stride_h = 1,
                        .stride_w = 1};
    w.copied = a->kernel_h > 1 || a->kernel_w > 1 || a->stride_h > 1 || a->stride_w > 1 ||
               a->pad_h > 0 || a->pad_w > 0;
    set_runs(&w, a, s->out.d[2] / a->groups);
    w.images = images_at_a_time(&w, s, rows);
    return w;
}

static size_t image_floats(const struct sliding *w)
{
    return (size_t)w->height * (size_t)w->width * (size_t)w->channels;
}

/* Where each window's runs start, from the window's first element. */
static void run_offsets(const struct sliding *w, const struct op_attr *a, int32_t *seg)
{
    const bool whole_lines = w->n_seg == a->kernel_h && a->dilation_w == 1 && a->groups == 1;
    for (int32_t s = 0; s < w->n_seg; s++) {
        const int32_t kh = whole_lines ? s : s / a->kernel_w;
        const int32_t kw = whole_lines ? 0 : s % a->kernel_w;
        seg[s] = (kh * a->dilation_h * w->width + kw * a->dilation_w) * w->channels;
    }
}

/* Where each window starts, from the first image. */
static void window_offsets(const struct sliding *w, int32_t *at)
{
    for (int32_t i = 0; i < w->images; i++)
        for (int32_t h = 0; h < w->out_h; h++)
            for (int32_t x = 0; x < w->out_w; x++)
                *at++ = (int32_t)((size_t)i * image_floats(w)) +
                        (h * w->stride_h * w->width + x * w->stride_w) * w->channels;
}

/* Copies images of h x w pixels to (top + h * step_h, left + w * step_w) of padded ones whose other
 * pixels are zero already; pixels that fall outside are left out. */
struct spread {
    int32_t h, w, top, left, step_h, step_w;
};

static void spread_images(const struct sliding *to, const struct spread *s, const float *x,
                          int32_t images, float *out)
{
    const size_t pixel = (size_t)to->channels;
    for (int32_t i = 0; i < images; i++, out += image_floats(to))
        for (int32_t h = 0; h < s->h; h++, x += (size_t)s->w * pixel) {
            const int32_t line = s->top + h * s->step_h;
            if (line < 0 || line >= to->height)
                continue;
            float *o = out + (size_t)line * (size_t)to->width * pixel;
            if (s->step_w == 1 && s->left >= 0 && s->left + s->w <= to->width) {
                memcpy(o + (size_t)s->left * pixel, x, (size_t)s->w * pixel * sizeof(float));
                continue;
            }
            for (int32_t w = 0; w < s->w; w++) {
                const int32_t col = s->left + w * s->step_w;
                if (col >= 0 && col < to->width)
                    memcpy(o + (size_t)col * pixel, x + (size_t)w * pixel, pixel * sizeof(float));
            }
        }
}

static struct spread pad_spread(const struct plan_step *s)
{
    return (struct spread){.h = s->in[0].d[0],
                           .w = s->in[0].d[1],
                           .top = s->attr.pad_h,
                           .left = s->attr.pad_w,
                           .step_h = 1,
                           .step_w = 1};
}

static struct spread gradient_spread(const struct plan_step *s)
{
    const struct op_attr *a = &s->attr;
    return (struct spread){.h = s->out.d[0],
                           .w = s->out.d[1],
                           .top = (a->kernel_h - 1) * a->dilation_h - a->pad_h,
                           .left = (a->kernel_w - 1) * a->dilation_w - a->pad_w,
                           .step_h = a->stride_h,
                           .step_w = a->stride_w};
}

/* Scratch of a pass over images: padded copies, window starts, run starts. */
struct room {
    float *images;
    int32_t *rows, *seg;
    size_t floats;
};

static struct room room_at(const struct sliding *w, float *scratch, size_t n_rows, size_t n_seg)
{
    const size_t images = w->copied ? ALIGN16((size_t)w->images * image_floats(w)) : 0;
    const size_t rows = ALIGN16(n_rows), seg = ALIGN16(n_seg);
    struct room r = {.floats = images + rows + seg};
    if (scratch) {
        r.images = scratch;
        r.rows = (int32_t *)(scratch + images);
        r.seg = (int32_t *)(scratch + images + rows);
    }
    return r;
}

static size_t windows(const struct sliding *w)
{
    return (size_t)w->images * (size_t)w->out_h * (size_t)w->out_w;
}

/* A product with a row of C for each position of the window, a few images at a time. */
static void slide(const struct op_call *c, const struct sliding *w, const struct spread *spread,
                  struct gemm g, const float *x, size_t x_row, size_t c_row, float *scratch)
{
    const struct room room = room_at(w, scratch, windows(w), (size_t)w->n_seg);
    const int32_t groups = c->step->attr.groups, inner = w->channels / groups, n = g.n;
    const float *b = g.b, *bias = g.bias;
    float *out = g.c;
    window_offsets(w, room.rows);
    run_offsets(w, &c->step->attr, room.seg);
    if (w->copied)
        memset(room.images, 0, (size_t)w->images * image_floats(w) * sizeof(float));
    g.a_rows = room.rows;
    g.a_k = 1;
    g.seg = room.seg;
    g.n_seg = w->n_seg;
    g.seg_len = w->seg_len;
    for (int32_t r = 0; r < c->rows; r += w->images) {
        const int32_t images = c->rows - r < w->images ? c->rows - r : w->images;
        if (w->copied)
            spread_images(w, spread, x + (size_t)r * x_row, images, room.images);
        const float *from = w->copied ? room.images : x + (size_t)r * x_row;
        g.m = images * w->out_h * w->out_w;
        for (int32_t k = 0; k < groups; k++) {
            g.a = from + k * inner;
            /* Weights of a group: columns of the forward's, a block of their own backwards. */
            g.b = g.ldb == n ? b + (size_t)k * (size_t)(w->n_seg * w->seg_len) * (size_t)n
                             : b + (size_t)k * (size_t)n;
            g.bias = bias ? bias + (size_t)k * (size_t)n : NULL;
            g.c = out + (size_t)r * c_row + (size_t)k * (size_t)n;
            ISA_FN(gemm)(&g);
        }
    }
}

static void forward(const struct op_call *c)
{
    const struct plan_step *s = c->step;
    const struct sliding w = over_input(s, c->rows_per_shard);
    const struct spread spread = pad_spread(s);
    const struct gemm g = {.n = s->out.d[2] / s->attr.groups,
                           .b = c->param[0],
                           .ldb = s->out.d[2],
                           .c = c->y,
                           .ldc = s->out.d[2],
                           .bias = c->param[1],
                           .relu = c->relu};
    slide(c, &w, &spread, g, c->x, shape_count(s->in[0]), shape_count(s->out), c->scratch);
}

static size_t forward_scratch(const struct plan_step *s, int32_t rows_per_shard)
{
    const struct sliding w = over_input(s, rows_per_shard);
    return room_at(&w, NULL, windows(&w), (size_t)w.n_seg).floats;
}

/* Rows of the weight gradient: inputs of a weight of one group. */
static size_t weight_rows(const struct plan_step *s)
{
    return (size_t)(s->attr.kernel_h * s->attr.kernel_w) * (size_t)group_channels(s);
}

static void weight_gradient(const struct op_call *c)
{
    const struct plan_step *s = c->step;
    const struct op_attr *a = &s->attr;
    const struct sliding w = over_input(s, c->rows_per_shard);
    const struct spread spread = pad_spread(s);
    const size_t n_rows = weight_rows(s);
    int32_t from, to;
    conv_part(c, &from, &to);
    const struct room room = room_at(&w, c->scratch, n_rows, (size_t)w.images * (size_t)w.out_h);
    const int32_t inner = group_channels(s), outer = s->out.d[2] / a->groups;
    for (size_t i = 0; i < n_rows; i++) {
        const int32_t tap = (int32_t)i / inner;
        room.rows[i] =
            (tap / a->kernel_w * a->dilation_h * w.width + tap % a->kernel_w * a->dilation_w) *
                w.channels +
            (int32_t)i % inner;
    }
    for (int32_t i = 0; i < w.images * w.out_h; i++)
        room.seg[i] = (int32_t)((size_t)(i / w.out_h) * image_floats(&w)) +
                      i % w.out_h * w.stride_h * w.width * w.channels;
    if (w.copied)
        memset(room.images, 0, (size_t)w.images * image_floats(&w) * sizeof(float));
    struct gemm g = {.m = to - from,
                     .n = outer,
                     .a_rows = room.rows + from,
                     .a_k = w.stride_w * w.channels,
                     .seg = room.seg,
                     .seg_len = w.out_w,
                     .ldb = s->out.d[2],
                     .ldc = s->out.d[2]};
    for (int32_t r = 0; r < c->rows; r += w.images) {
        const int32_t images = c->rows - r < w.images ? c->rows - r : w.images;
        const float *x = c->x + (size_t)r * shape_count(s->in[0]);
        if (w.copied)
            spread_images(&w, &spread, x, images, room.images);
        g.n_seg = images * w.out_h;
        g.add = r > 0 || (c->add_grad & 1);
        for (int32_t k = 0; k < a->groups; k++) {
            g.a = (w.copied ? room.images : x) + k * inner;
            g.b = c->dy + (size_t)r * shape_count(s->out) + k * outer;
            g.c = c->grad[0] + (ptrdiff_t)from * s->out.d[2] + k * outer;
            ISA_FN(gemm)(&g);
        }
    }
}

/* Weights for the data gradient: group, tap from the last, output, input. */
static void turn_weights(const struct op_call *c, float *to)
{
    const struct plan_step *s = c->step;
    const int32_t inner = group_channels(s), outer = s->out.d[2] / s->attr.groups;
    const int32_t taps = s->attr.kernel_h * s->attr.kernel_w;
    const size_t block = (size_t)inner * (size_t)s->out.d[2];
    for (int32_t k = 0; k < s->attr.groups; k++)
        for (int32_t t = taps - 1; t >= 0; t--, to += (size_t)inner * (size_t)outer)
            ISA_FN(transpose)
    (c->param[0] + (size_t)t * block + k * outer, s->out.d[2], inner, outer, to);
}

static void data_gradient(const struct op_call *c)
{
    const struct plan_step *s = c->step;
    const struct sliding w = over_gradient(s, c->rows_per_shard);
    const struct spread spread = gradient_spread(s);
    const int32_t inner = group_channels(s);
    float *turned = c->scratch;
    turn_weights(c, turned);
    const struct gemm g = {
        .n = inner, .b = turned, .ldb = inner, .c = c->dx, .ldc = s->in[0].d[2], .add = c->add_dx};
    slide(c, &w, &spread, g, c->dy, shape_count(s->out), shape_count(s->in[0]),
          c->scratch + ALIGN16(s->param_count[0]));
}

static size_t params_scratch(const struct plan_step *s, int32_t rows_per_shard)
{
    const struct sliding w = over_input(s, rows_per_shard);
    return room_at(&w, NULL, weight_rows(s), (size_t)w.images * (size_t)w.out_h).floats;
}

static size_t data_scratch(const struct plan_step *s, int32_t rows_per_shard)
{
    const struct sliding g = over_gradient(s, rows_per_shard);
    return ALIGN16(s->param_count[0]) + room_at(&g, NULL, windows(&g), (size_t)g.n_seg).floats;
}

static bool fits(const struct plan_step *s, enum conv_pass pass)
{
    (void)s;
    (void)pass;
    return true;
}

const struct conv_way ISA_FN(conv_padded) = {
    fits,
    {forward, data_gradient, weight_gradient},
    {forward_scratch, data_scratch, params_scratch},
};
