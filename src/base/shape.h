/* Shape of one sample (the batch dimension is never part of it).  Images are height, width,
 * channels (NHWC in memory); sequences are length, features; vectors are features; a token sequence
 * is its length.  Compiles as C17 and C++17.
 */
#ifndef BASE_SHAPE_H
#define BASE_SHAPE_H

#include <stddef.h>
#include <stdint.h>

struct shape {
    int32_t rank; /* 1, 2 or 3 */
    int32_t d[3]; /* unused ones are 1 */
};

static inline struct shape shape_vector(int32_t features)
{
    struct shape s = {1, {features, 1, 1}};
    return s;
}

static inline struct shape shape_image(int32_t height, int32_t width, int32_t channels)
{
    struct shape s = {3, {height, width, channels}};
    return s;
}

static inline size_t shape_count(struct shape s)
{
    return (size_t)s.d[0] * (size_t)s.d[1] * (size_t)s.d[2];
}

static inline int shape_equal(struct shape a, struct shape b)
{
    return a.rank == b.rank && a.d[0] == b.d[0] && a.d[1] == b.d[1] && a.d[2] == b.d[2];
}

#endif
