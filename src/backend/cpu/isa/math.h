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

#endif
