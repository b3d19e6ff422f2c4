/* The stacked convolutions and products alone: held against a plain host computation, then timed.
 *   gpu_gemm check    a grid of shapes, passes, arithmetics and choices
 *   gpu_gemm time     shapes of the catalogue: best choice, microseconds, share of the floor */
#include "backend/cuda/gemm/gemm.h"
#include "base/rng.h"

#include <cuda_runtime_api.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void must(int e, const char *what)
{
    if (e != 0) {
        fprintf(stderr, "%s: %s\n", what, cudaGetErrorString((cudaError_t)e));
        exit(1);
    }
}

static float uniform(uint32_t stream, uint32_t i)
{
    return rng_unit(rng_u32_at(77, RNG_TEST, stream, 0, 0, i)) * 2 - 1;
}

static struct gemm_shape conv(int K, int batch, int hw, int in_c, int out_c, int kernel, int stride,
                              int pad, int dilation, int groups)
{
    const int out = (hw + 2 * pad - dilation * (kernel - 1) - 1) / stride + 1;
    return (struct gemm_shape){K,      batch,  hw,     hw,  in_c, out,      out,      out_c, kernel,
                               kernel, stride, stride, pad, pad,  dilation, dilation, groups};
}

struct tensors {
    size_t nx, nw, ny; /* floats a model */
    float *x, *w, *y, *bias;
    float *dx, *dw, *dy, *dbias;
    void *workspace;
};

static float *filled(size_t n, uint32_t stream)
{
    float *p = malloc(n * 4);
    for (size_t i = 0; i < n; i++)
        p[i] = uniform(stream, (uint32_t)i);
    return p;
}

static float *on_device(const float *p, size_t n)
{
    float *d = NULL;
    must(cudaMalloc((void **)&d, n * 4), "cudaMalloc");
    if (p)
        must(cudaMemcpy(d, p, n * 4, cudaMemcpyHostToDevice), "copy in");
    return d;
}

/* The host's: out += products of one model, in double.  One loop for all passes. */
static void host_pass(enum gemm_pass pass, const struct gemm_shape *s, const float *x,
                      const float *w, const float *dy, int n_valid, double *out)
{
    const int ig = s->in_c / s->groups, og = s->out_c / s->groups;
    for (int n = 0; n < n_valid; n++)
        for (int oh = 0; oh < s->out_h; oh++)
            for (int ow = 0; ow < s->out_w; ow++)
                for (int t = 0; t < s->kernel_h * s->kernel_w; t++) {
                    const int h = oh * s->stride_h - s->pad_h + t / s->kernel_w * s->dilation_h;
                    const int v = ow * s->stride_w - s->pad_w + t % s->kernel_w * s->dilation_w;
                    if (h < 0 || h >= s->in_h || v < 0 || v >= s->in_w)
                        continue;
                    const size_t xi = ((size_t)(n * s->in_h + h) * s->in_w + v) * s->in_c;
                    const size_t yi = ((size_t)(n * s->out_h + oh) * s->out_w + ow) * s->out_c;
                    for (int c = 0; c < s->in_c; c++)
                        for (int o = c / ig * og; o < (c / ig + 1) * og; o++) {
                            const size_t wi = ((size_t)t * ig + c % ig) * s->out_c + o;
                            if (pass == GEMM_FORWARD)
                                out[yi + o] += (double)x[xi + c] * w[wi];
                            else if (pass == GEMM_DATA_GRAD)
                                out[xi + c] += (double)dy[yi + o] * w[wi];
                            else
                                out[wi] += (double)x[xi + c] * dy[yi + o];
                        }
                }
}

struct counts {
    int done, bad;
    double worst[3];
};

static void compare(const struct gemm_shape *s, enum gemm_pass pass, enum gemm_math math,
                    struct gemm_choice choice, const int32_t *valid, const struct tensors *h,
                    const struct tensors *d, const int32_t *d_valid, struct counts *count)
{
    const size_t n = pass == GEMM_FORWARD ? h->ny : pass == GEMM_DATA_GRAD ? h->nx : h->nw;
    const float *start = pass == GEMM_FORWARD ? h->y : pass == GEMM_DATA_GRAD ? h->dx : h->dw;
    float *out = pass == GEMM_FORWARD ? d->y : pass == GEMM_DATA_GRAD ? d->dx : d->dw;
    const size_t all = n * (size_t)s->n_models;
    must(cudaMemcpy(out, start, all * 4, cudaMemcpyHostToDevice), "poison");
    void *ws = NULL;
    const size_t bytes = gemm_workspace_bytes(pass, s, choice);
    must(cudaMalloc(&ws, bytes + 16), "workspace");
    must(cudaMemset(ws, 0xFF, bytes), "poison"); /* NaN */
    const bool acc = pass != GEMM_FORWARD && (choice.tile & 1);
    const struct gemm_args args = {.a = pass == GEMM_DATA_GRAD ? d->dy : d->x,
                                   .b = pass == GEMM_WEIGHT_GRAD ? d->dy : d->w,
                                   .out = out,
                                   .a_stride = pass == GEMM_DATA_GRAD ? h->ny : h->nx,
                                   .b_stride = pass == GEMM_WEIGHT_GRAD ? h->ny : h->nw,
                                   .out_stride = n,
                                   .bias = d->bias,
                                   .bias_stride = (size_t)s->out_c,
                                   .n_valid = d_valid,
                                   .accumulate = acc,
                                   .relu = pass == GEMM_FORWARD && choice.tile == 0,
                                   .workspace = ws};
    must(gemm_launch(pass, math, s, choice, &args, NULL), "launch");
    must(cudaDeviceSynchronize(), "kernel");
    float *got = malloc(all * 4);
    must(cudaMemcpy(got, out, all * 4, cudaMemcpyDeviceToHost), "copy out");
    cudaFree(ws);
    double err = 0, norm = 0;
    bool touched = false;
    double *want = malloc(n * sizeof *want);
    for (int k = 0; k < s->n_models; k++) {
        const size_t ko = (size_t)k * n, rows = (size_t)valid[k];
        const size_t live = valid[k] == 0              ? 0
                            : pass == GEMM_WEIGHT_GRAD ? n
                                                       : n / (size_t)s->batch * rows;
        memset(want, 0, n * sizeof *want);
        host_pass(pass, s, h->x + (size_t)k * h->nx, h->w + (size_t)k * h->nw,
                  h->dy + (size_t)k * h->ny, valid[k], want);
        for (size_t i = 0; i < n; i++) {
            if (i >= live) {
                touched |= got[ko + i] != start[ko + i];
                continue;
            }
            double v = want[i];
            if (pass == GEMM_FORWARD)
                v += h->bias[(size_t)k * s->out_c + i % (size_t)s->out_c];
            if (args.relu)
                v = v < 0 ? 0 : v;
            if (acc)
                v += start[ko + i];
            err += (got[ko + i] - v) * (got[ko + i] - v);
            norm += v * v;
        }
    }
    err = sqrt(err / (norm + 1e-30));
    static const double limit[] = {2e-6, 1e-3, 1e-2};
    const bool ok = err < limit[math] && !touched;
    count->done++;
    count->bad += !ok;
    count->worst[math] = fmax(count->worst[math], err);
    if (!ok)
        printf("FAIL pass %d math %d tile %s splits %d K %d batch %d in %dx%dx%d out %dx%dx%d "
               "kernel %d stride %d groups %d: error %.2e%s\n",
               pass, math, gemm_tile_name(math, choice), choice.splits, s->n_models, s->batch,
               s->in_h, s->in_w, s->in_c, s->out_h, s->out_w, s->out_c, s->kernel_h, s->stride_h,
               s->groups, err, touched ? ", masked rows written" : "");
    free(got);
    free(want);
}

static void check_bias(const struct gemm_shape *s, const int32_t *valid, const struct tensors *h,
                       const struct tensors *d, const int32_t *d_valid, struct counts *count)
{
    void *ws = NULL;
    must(cudaMalloc(&ws, gemm_bias_grad_workspace_bytes(s)), "workspace");
    must(gemm_bias_grad(s, d->dy, h->ny, d->dbias, (size_t)s->out_c, d_valid, false, ws, NULL),
         "bias");
    float *got = malloc((size_t)s->n_models * s->out_c * 4);
    must(cudaMemcpy(got, d->dbias, (size_t)s->n_models * s->out_c * 4, cudaMemcpyDeviceToHost),
         "copy out");
    cudaFree(ws);
    double err = 0, norm = 1e-30;
    for (int k = 0; k < s->n_models; k++)
        for (int c = 0; valid[k] > 0 && c < s->out_c; c++) {
            double sum = 0;
            for (size_t i = 0; i < (size_t)valid[k] * s->out_h * s->out_w; i++)
                sum += h->dy[(size_t)k * h->ny + i * s->out_c + c];
            err += pow(sum - got[k * s->out_c + c], 2);
            norm += sum * sum;
        }
    count->done++;
    if (!(sqrt(err / norm) < 1e-5)) {
        count->bad++;
        printf("FAIL bias gradient %d channels: %.2e\n", s->out_c, sqrt(err / norm));
    }
    free(got);
}

static void check_shape(const struct gemm_shape *s, struct counts *count)
{
    struct tensors h, d;
    const size_t K = (size_t)s->n_models;
    h.nx = (size_t)s->batch * s->in_h * s->in_w * s->in_c;
    h.ny = (size_t)s->batch * s->out_h * s->out_w * s->out_c;
    h.nw = (size_t)s->kernel_h * s->kernel_w * (s->in_c / s->groups) * s->out_c;
    h.x = filled(K * h.nx, 1), h.w = filled(K * h.nw, 2), h.y = filled(K * h.ny, 3);
    h.dx = filled(K * h.nx, 4), h.dw = filled(K * h.nw, 5), h.dy = filled(K * h.ny, 6);
    h.bias = filled(K * s->out_c, 8);
    d.x = on_device(h.x, K * h.nx), d.w = on_device(h.w, K * h.nw), d.y = on_device(NULL, K * h.ny);
    d.dx = on_device(NULL, K * h.nx), d.dw = on_device(NULL, K * h.nw);
    d.dy = on_device(h.dy, K * h.ny), d.bias = on_device(h.bias, K * s->out_c);
    d.dbias = on_device(NULL, K * s->out_c);
    int32_t valid[16];
    for (int k = 0; k < s->n_models; k++) /* whole, none, all but one, half */
        valid[k] = k % 4 == 1   ? 0
                   : k % 4 == 2 ? s->batch - 1
                   : k % 4 == 3 ? s->batch / 2
                                : s->batch;
    int32_t *d_valid = (int32_t *)on_device((float *)valid, K);
    for (int pass = 0; pass < 3; pass++)
        for (int math = 0; math < 3; math++) {
            struct gemm_choice choices[GEMM_MAX_CHOICES];
            const int n = gemm_choices((enum gemm_pass)pass, (enum gemm_math)math, s, 132, choices,
                                       GEMM_MAX_CHOICES);
            for (int i = 0; i < n; i++)
                if (choices[i].splits < 17)
                    compare(s, (enum gemm_pass)pass, (enum gemm_math)math, choices[i], valid, &h,
                            &d, d_valid, count);
        }
    check_bias(s, valid, &h, &d, d_valid, count);
    float *all[] = {h.x, h.w, h.y, h.dx, h.dw, h.dy, h.bias};
    float *dev[] = {d.x, d.w, d.y, d.dx, d.dw, d.dy, d.bias, d.dbias, (float *)d_valid};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
    for (size_t i = 0; i < sizeof dev / sizeof *dev; i++)
        cudaFree(dev[i]);
}

static int check_all(void)
{
    const struct gemm_shape shapes[] = {
        conv(3, 5, 7, 3, 10, 3, 1, 1, 1, 1),   conv(1, 4, 9, 8, 12, 3, 2, 1, 1, 1),
        conv(16, 3, 8, 16, 20, 3, 1, 1, 1, 1), conv(3, 6, 10, 12, 8, 5, 2, 2, 1, 1),
        conv(2, 3, 11, 5, 7, 3, 1, 2, 2, 1),   conv(3, 4, 6, 8, 8, 1, 2, 0, 1, 1),
        conv(2, 3, 6, 8, 16, 3, 1, 1, 1, 2),   conv(2, 3, 7, 6, 6, 3, 2, 1, 1, 6),
        conv(3, 2, 4, 68, 132, 3, 1, 1, 1, 1), gemm_linear(3, 37, 1, 130, 67),
        gemm_linear(2, 5, 13, 64, 96),         gemm_linear(1, 64, 1, 256, 10),
    };
    struct counts count = {0};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        check_shape(shapes + i, &count);
    printf("gemm: %d checks, %d failed; largest error f32 %.1e tf32 %.1e bf16 %.1e\n", count.done,
           count.bad, count.worst[0], count.worst[1], count.worst[2]);
    return count.bad != 0;
}

static void time_shape(const char *name, const struct gemm_shape *s)
{
    const size_t K = (size_t)s->n_models, nx = (size_t)s->batch * s->in_h * s->in_w * s->in_c;
    const size_t ny = (size_t)s->batch * s->out_h * s->out_w * s->out_c;
    const size_t nw = (size_t)s->kernel_h * s->kernel_w * s->in_c * s->out_c;
    float *seed = filled(K * (nx > ny ? nx : ny) + K * nw, 1);
    float *x = on_device(seed, K * nx), *y = on_device(seed, K * ny), *w = on_device(seed, K * nw);
    void *ws = NULL;
    must(cudaMalloc(&ws, (size_t)2 << 30), "workspace");
    cudaEvent_t a, b;
    must(cudaEventCreate(&a), "event");
    must(cudaEventCreate(&b), "event");
    static const double peak[] = {50e12, 350e12, 700e12};
    static const char *const maths[] = {"f32", "tf32", "bf16"}, *const passes[] = {"fwd", "dx",
                                                                                   "dw"};
    const double flop = 2.0 * (double)K * (double)ny * s->kernel_h * s->kernel_w * s->in_c;
    for (int math = 0; math < 3; math++)
        for (int pass = 0; pass < 3; pass++) {
            struct gemm_choice c[GEMM_MAX_CHOICES], best = {0, 0};
            const int n = gemm_choices((enum gemm_pass)pass, (enum gemm_math)math, s, 132, c,
                                       GEMM_MAX_CHOICES);
            float best_ms = 1e30f, first_ms = 0;
            for (int i = 0; i < n; i++) {
                if (gemm_workspace_bytes((enum gemm_pass)pass, s, c[i]) > (size_t)2 << 30)
                    continue;
                const struct gemm_args args = {.a = pass == 1 ? y : x,
                                               .b = pass == 2 ? y : w,
                                               .out = pass == 0   ? y
                                                      : pass == 1 ? x
                                                                  : w,
                                               .a_stride = pass == 1 ? ny : nx,
                                               .b_stride = pass == 2 ? ny : nw,
                                               .out_stride = pass == 0   ? ny
                                                             : pass == 1 ? nx
                                                                         : nw,
                                               .workspace = ws};
                float t[5];
                for (int r = 0; r < 5; r++) {
                    must(cudaEventRecord(a, NULL), "event");
                    for (int j = 0; j < 4; j++)
                        must(gemm_launch((enum gemm_pass)pass, (enum gemm_math)math, s, c[i], &args,
                                         NULL),
                             "launch");
                    must(cudaEventRecord(b, NULL), "event");
                    must(cudaEventSynchronize(b), "time");
                    must(cudaEventElapsedTime(t + r, a, b), "time");
                    for (int j = r; j > 0 && t[j] < t[j - 1]; j--) {
                        const float v = t[j];
                        t[j] = t[j - 1];
                        t[j - 1] = v;
                    }
                }
                const float ms = t[2] / 4;
                first_ms = i == 0 ? ms : first_ms;
                if (ms < best_ms) {
                    best_ms = ms;
                    best = c[i];
                }
            }
            const double arith = flop / peak[math] * 1e6;
            const double move = 4.0 * (double)K * (double)(nx + ny + nw) / 4.3e12 * 1e6;
            printf("%-22s K %2d %-4s %-3s %9.1f us  first guess %9.1f  %s splits %2d  floor %7.1f "
                   "us  %5.1f TFLOP/s\n",
                   name, s->n_models, maths[math], passes[pass], (double)best_ms * 1e3,
                   (double)first_ms * 1e3, gemm_tile_name((enum gemm_math)math, best), best.splits,
                   arith > move ? arith : move, flop / (double)best_ms * 1e-9);
        }
    fflush(stdout);
    free(seed);
    cudaFree(x), cudaFree(y), cudaFree(w), cudaFree(ws);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "check") == 0)
        return check_all();
    if (argc < 2 || strcmp(argv[1], "time") != 0) {
        fprintf(stderr, "gpu_gemm check | gpu_gemm time\n");
        return 2;
    }
    const struct {
        const char *name;
        struct gemm_shape shape;
    } cases[] = {
        {"3x3 64 at 16", conv(8, 128, 16, 64, 64, 3, 1, 1, 1, 1)},
        {"3x3 64 at 8", conv(8, 128, 8, 64, 64, 3, 1, 1, 1, 1)},
        {"3x3 128 at 4", conv(8, 128, 4, 128, 128, 3, 1, 1, 1, 1)},
        {"3x3 256 at 2", conv(8, 128, 2, 256, 256, 3, 1, 1, 1, 1)},
        {"3x3 512 at 1", conv(8, 128, 1, 512, 512, 3, 1, 1, 1, 1)},
        {"3x3 64 at 8", conv(1, 128, 8, 64, 64, 3, 1, 1, 1, 1)},
        {"3x3 64-128 s2 at 8", conv(8, 128, 8, 64, 128, 3, 2, 1, 1, 1)},
        {"7x7 3-64 s2 at 32", conv(8, 128, 32, 3, 64, 7, 2, 3, 1, 1)},
        {"linear 1280x384-1536", gemm_linear(4, 10, 128, 384, 1536)},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        time_shape(cases[i].name, &cases[i].shape);
    return 0;
}
