#include "fetch/digest.h"

#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static uint32_t rotate_left(uint32_t x, unsigned n)
{
    return x << n | x >> (32 - n);
}

static uint32_t rotate_right(uint32_t x, unsigned n)
{
    return x >> n | x << (32 - n);
}

/* floor(2^32 |sin(i + 1)|) */
static const uint32_t md5_sines[64] = {
    0xd76aa478, 0xe8c7b756, 0x242070db, 0xc1bdceee, 0xf57c0faf, 0x4787c62a, 0xa8304613, 0xfd469501,
    0x698098d8, 0x8b44f7af, 0xffff5bb1, 0x895cd7be, 0x6b901122, 0xfd987193, 0xa679438e, 0x49b40821,
    0xf61e2562, 0xc040b340, 0x265e5a51, 0xe9b6c7aa, 0xd62f105d, 0x02441453, 0xd8a1e681, 0xe7d3fbc8,
    0x21e1cde6, 0xc33707d6, 0xf4d50d87, 0x455a14ed, 0xa9e3e905, 0xfcefa3f8, 0x676f02d9, 0x8d2a4c8a,
    0xfffa3942, 0x8771f681, 0x6d9d6122, 0xfde5380c, 0xa4beea44, 0x4bdecfa9, 0xf6bb4b60, 0xbebfbc70,
    0x289b7ec6, 0xeaa127fa, 0xd4ef3085, 0x04881d05, 0xd9d4d039, 0xe6db99e5, 0x1fa27cf8, 0xc4ac5665,
    0xf4292244, 0x432aff97, 0xab9423a7, 0xfc93a039, 0x655b59c3, 0x8f0ccc92, 0xffeff47d, 0x85845dd1,
    0x6fa87e4f, 0xfe2ce6e0, 0xa3014314, 0x4e0811a1, 0xf7537e82, 0xbd3af235, 0x2ad7d2bb, 0xeb86d391};

/* One step of a round: F is the round's function of b, c, d; K the word's place. */
#define MD5_ROUND(from, F, K)                                                                      \
    for (unsigned i = (from); i < (from) + 16; i++) {                                              \
        const uint32_t sum = a + (F) + md5_sines[i] + word[(K) % 16];                              \
        a = d;                                                                                     \
        d = c;                                                                                     \
        c = b;                                                                                     \
        b += rotate_left(sum, turns[(from) / 16][i % 4]);                                          \
    }

static void md5_block(uint32_t state[8], const uint8_t *p)
{
    static const uint8_t turns[4][4] = {
        {7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}};
    uint32_t word[16];
    for (int i = 0; i < 16; i++, p += 4)
        word[i] = (uint32_t)p[3] << 24 | (uint32_t)p[2] << 16 | (uint32_t)p[1] << 8 | p[0];
    uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
    MD5_ROUND(0, (b & c) | (~b & d), i)
    MD5_ROUND(16, (d & b) | (~d & c), 5 * i + 1)
    MD5_ROUND(32, b ^ c ^ d, 3 * i + 5)
    MD5_ROUND(48, c ^ (b | ~d), 7 * i)
    state[0] += a;
    state[1] += b;
    state[2] += c;
    state[3] += d;
}

/* First 32 bits of the fractional parts of the cube roots of the first 64 primes. */
static const uint32_t sha256_roots[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static void sha256_block(uint32_t state[8], const uint8_t *p)
{
    uint32_t w[64];
    for (int i = 0; i < 16; i++, p += 4)
        w[i] = (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
    for (int i = 16; i < 64; i++) {
        const uint32_t x = w[i - 15], y = w[i - 2];
        w[i] = w[i - 16] + (rotate_right(x, 7) ^ rotate_right(x, 18) ^ x >> 3) + w[i - 7] +
               (rotate_right(y, 17) ^ rotate_right(y, 19) ^ y >> 10);
    }
    uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
    uint32_t e = state[4], f = state[5], g = state[6], h = state[7];
    for (int i = 0; i < 64; i++) {
        const uint32_t t1 = h + (rotate_right(e, 6) ^ rotate_right(e, 11) ^ rotate_right(e, 25)) +
                            ((e & f) ^ (~e & g)) + sha256_roots[i] + w[i];
        const uint32_t t2 = (rotate_right(a, 2) ^ rotate_right(a, 13) ^ rotate_right(a, 22)) +
                            ((a & b) ^ (a & c) ^ (b & c));
        h = g;
        g = f;
        f = e;
        e = d + t1;
        d = c;
        c = b;
        b = a;
        a = t1 + t2;
    }
    const uint32_t sum[8] = {a, b, c, d, e, f, g, h};
    for (int i = 0; i < 8; i++)
        state[i] += sum[i];
}

void digest_md5_init(struct digest *d)
{
    *d = (struct digest){.state = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476}};
}

void digest_sha256_init(struct digest *d)
{
    *d = (struct digest){.state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f,
                                   0x9b05688c, 0x1f83d9ab, 0x5be0cd19},
                         .is_sha256 = true};
}

static void take_block(struct digest *d, const uint8_t *block)
{
    if (d->is_sha256)
        sha256_block(d->state, block);
    else
        md5_block(d->state, block);
}

void digest_add(struct digest *d, const void *data, size_t len)
{
    const uint8_t *p = data;
    const size_t filled = d->n_bytes % 64;
    d->n_bytes += len;
    if (filled > 0) {
        const size_t n = len < 64 - filled ? len : 64 - filled;
        memcpy(d->block + filled, p, n);
        p += n;
        len -= n;
        if (filled + n < 64)
            return;
        take_block(d, d->block);
    }
    for (; len >= 64; p += 64, len -= 64)
        take_block(d, p);
    if (len > 0)
        memcpy(d->block, p, len);
}

void digest_hex(struct digest *d, char out[DIGEST_HEX])
{
    static const char hex[] = "0123456789abcdef";
    static const uint8_t padding[64] = {0x80};
    const uint64_t bits = 8 * d->n_bytes;
    const size_t filled = d->n_bytes % 64;
    uint8_t length[8];
    for (int i = 0; i < 8; i++)
        length[i] = (uint8_t)(bits >> 8 * (d->is_sha256 ? 7 - i : i));
    digest_add(d, padding, filled < 56 ? 56 - filled : 120 - filled);
    digest_add(d, length, 8);
    const int n = d->is_sha256 ? 32 : 16;
    for (int i = 0; i < n; i++) {
        const int byte = d->is_sha256 ? 3 - i % 4 : i % 4;
        const uint8_t v = (uint8_t)(d->state[i / 4] >> 8 * byte);
        out[2 * i] = hex[v >> 4];
        out[2 * i + 1] = hex[v & 15];
    }
    out[2 * n] = '\0';
}

#define CHUNK ((size_t)1 << 20)

bool digest_file(const char *path, char md5[DIGEST_HEX], char sha256[DIGEST_HEX],
                 bool (*stop)(void), struct error *err)
{
    struct digest m, s;
    digest_md5_init(&m);
    digest_sha256_init(&s);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return error_errno(err, errno, "cannot read '%s'", path);
    uint8_t *chunk = xmalloc(CHUNK);
    ssize_t n = 1;
    bool ok = true;
    while (ok && n > 0) {
        n = read(fd, chunk, CHUNK);
        if (n < 0 && errno == EINTR)
            n = 1;
        else if (n < 0)
            ok = error_errno(err, errno, "cannot read '%s'", path);
        else if (stop && stop())
            ok = error_set(err, ERROR_RUN, "interrupted");
        else {
            if (md5)
                digest_add(&m, chunk, (size_t)n);
            if (sha256)
                digest_add(&s, chunk, (size_t)n);
        }
    }
    free(chunk);
    close(fd);
    if (md5)
        digest_hex(&m, md5);
    if (sha256)
        digest_hex(&s, sha256);
    return ok;
}
