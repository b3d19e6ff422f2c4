/* exp, tanh, erf and what is made of them, in float: one element at a time, without branches, in
 * operations that become vector instructions in a loop.  Errors are relative to the exact value, in
 * units of the last place (tests/backend/test_math.c measures them).
 */
#ifndef BACKEND_CPU_ISA_MATH_H
#define BACKEND_CPU_ISA_MATH_H

#include <math.h>
#include <stdint.h>
#include <string.h>

/* exp of x <= 0 (or not a number); 0 below -87.  x = n ln 2 + r, exp(r) by its series, n put into
 * the exponent (Cody and Waite). */
static inline float exp_of(float x)
{
    const float low = -87.0f;
    const float t = x < low ? low : x;
    const float round = 12582912.0f; /* 1.5 * 2^23: adding it rounds to an integer */
    const float shifted = t * 1.44269504f + round;
    const float n = shifted - round;
    const float r = (t - n * 0.693359375f) + n * 2.12194440e-4f;
    float p = 1.0f / 5040.0f;
    p = p * r + 1.0f / 720.0f;
    p = p * r + 1.0f / 120.0f;
    p = p * r + 1.0f / 24.0f;
    p = p * r + 1.0f / 6.0f;
    p = p * r + 0.5f;
    p = p * r * r + r + 1.0f;
    uint32_t bits;
    memcpy(&bits, &shifted, sizeof bits);
    bits = (bits + 127u) << 23;
    float power;
    memcpy(&power, &bits, sizeof power);
    return x < low ? 0.0f : p * power;
}

/* tanh: x + x^3 P(x^2) near 0, else by exp.  P and the polynomials below: Chebyshev fits in double.
 */
static inline float tanh_of(float x)
{
    const float a = x < 0 ? -x : x, z = x * x;
    float p = -6.0966547e-3f;
    p = p * z + 2.0997126e-2f;
    p = p * z - 5.3850894e-2f;
    p = p * z + 1.3332770e-1f;
    p = p * z - 3.3333329e-1f;
    const float near = x + x * (z * p);
    const float e = exp_of(-2.0f * a);
    const float far = (1.0f - e) / (1.0f + e);
    return a < 0.625f ? near : x < 0 ? -far : far;
}

/* 1 / (1 + exp(-x)) */
static inline float sigmoid_of(float x)
{
    const float e = exp_of(x < 0 ? x : -x);
    return (x < 0 ? e : 1.0f) / (1.0f + e);
}

/* The normal distribution at x: its integral up to x, and exp(-x^2 / 2). */
struct normal {
    float cdf, e;
};

/* With u = |x| / sqrt 2: erf(u) = u P(u^2) for u < 0.62, erfc(u) = exp(-u^2) t Q(t), t = 1 / (1 + u
 * / 2) else. */
static inline struct normal normal_of(float x)
{
    const float u = (x < 0 ? -x : x) * 0.70710678f, z = u * u;
    const float e = exp_of(-0.5f * x * x), t = 1.0f / (1.0f + 0.5f * u);
    float p = 4.4604066e-03f;
    p = p * z - 2.6612973e-02f;
    p = p * z + 1.1280310e-01f;
    p = p * z - 3.7612470e-01f;
    p = p * z + 1.1283792e+00f;
    float q = -7.0845836e-02f;
    q = q * t + 2.3044397e-01f;
    q = q * t - 2.2199456e-01f;
    q = q * t + 8.3358115e-03f;
    q = q * t - 1.8786466e-02f;
    q = q * t + 8.5510136e-02f;
    q = q * t + 1.7620254e-01f;
    q = q * t + 2.4683529e-01f;
    q = q * t + 2.8209479e-01f;
    q = q * t + 2.8209479e-01f;
    const float half = 0.5f * u * p, tail = 0.5f * e * t * q;
    const float low = u < 0.62f ? 0.5f - half : tail;
    const float high = u < 0.62f ? 0.5f + half : 1.0f - tail;
    const struct normal n = {x < 0 ? low : high, e};
    return n;
}

static inline float gelu_of(float x)
{
    return x * normal_of(x).cdf;
}

static inline float gelu_slope_of(float x)
{
    const struct normal n = normal_of(x);
    /* 1 / sqrt(2 pi); x e is 0 where e is, also at infinity. */
    return n.cdf + (n.e > 0 ? x * n.e * 0.39894228f : 0.0f * n.e);
}

#endif
