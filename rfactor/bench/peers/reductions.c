/* The six reductions as a C programmer writes them with OpenMP: its own reduction clauses where it has them, private
   results merged in the order of the threads where it has not. All arithmetic wraps. */
#include <stdint.h>
#include <string.h>

typedef struct { uint32_t re, im; } complex_t;

static complex_t times(complex_t x, complex_t y) {
    complex_t z = {x.re * y.re - x.im * y.im, x.re * y.im + x.im * y.re};
    return z;
}

#pragma omp declare reduction(times : complex_t : omp_out = times(omp_out, omp_in)) initializer(omp_priv = (complex_t){1, 0})

void maximum(const int32_t *a, int64_t n, int32_t *out) {
    int32_t best = INT32_MIN;
    #pragma omp parallel for reduction(max : best)
    for (int64_t i = 0; i < n; i++) best = a[i] > best ? a[i] : best;
    *out = best;
}

void dot(const float *a, const float *b, int64_t n, float *out) {
    float sum = 0;
    #pragma omp parallel for simd reduction(+ : sum)
    for (int64_t i = 0; i < n; i++) sum += a[i] * b[i];
    *out = sum;
}

void complex_product(const int32_t *a, const int32_t *b, int64_t n, int32_t *re, int32_t *im) {
    complex_t z = {1, 0};
    #pragma omp parallel for reduction(times : z)
    for (int64_t i = 0; i < n; i++) z = times(z, (complex_t){(uint32_t)a[i], (uint32_t)b[i]});
    *re = (int32_t)z.re;
    *im = (int32_t)z.im;
}

void histogram(const uint8_t *a, int64_t n, int32_t *counts) {
    memset(counts, 0, 256 * sizeof *counts);
    #pragma omp parallel for reduction(+ : counts[:256])
    for (int64_t i = 0; i < n; i++) counts[a[i]]++;
}

void argmin(const uint8_t *a, int64_t n, uint8_t *least, int64_t *at) {
    uint8_t best = 255;
    int64_t where = n;
    #pragma omp parallel
    {
        uint8_t own = 255;
        int64_t own_at = n;
        #pragma omp for schedule(static) nowait
        for (int64_t i = 0; i < n; i++)
            if (a[i] < own) own = a[i], own_at = i;
        #pragma omp critical
        if (own < best || (own == best && own_at < where)) best = own, where = own_at;
    }
    *least = best;
    *at = where == n ? 0 : where;
}

typedef struct { uint32_t product, sum; int32_t high, high_at, low, low_at; uint32_t squares, even; } sink_t;

void kitchen_sink(const int32_t *a, int64_t n, sink_t *out) {
    sink_t all = {1, 0, INT32_MIN, 0, INT32_MAX, 0, 0, 0};
    #pragma omp parallel
    {
        sink_t own = {1, 0, INT32_MIN, 0, INT32_MAX, 0, 0, 0};
        #pragma omp for schedule(static) nowait
        for (int64_t i = 0; i < n; i++) {
            int32_t v = a[i];
            own.product *= (uint32_t)v;
            own.sum += (uint32_t)v;
            if (v > own.high) own.high = v, own.high_at = (int32_t)i;
            if (v < own.low) own.low = v, own.low_at = (int32_t)i;
            own.squares += (uint32_t)v * (uint32_t)v;
            own.even += (v & 1) == 0;
        }
        #pragma omp critical
        {
            all.product *= own.product;
            all.sum += own.sum;
            if (own.high > all.high || (own.high == all.high && own.high_at < all.high_at))
                all.high = own.high, all.high_at = own.high_at;
            if (own.low < all.low || (own.low == all.low && own.low_at < all.low_at))
                all.low = own.low, all.low_at = own.low_at;
            all.squares += own.squares;
            all.even += own.even;
        }
    }
    *out = all;
}
