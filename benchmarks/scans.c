/* A running sum of i32 by two passes over as many parts as there are threads. */
#include <omp.h>
#include <stdint.h>

void scan(int32_t *out, const int32_t *in, int64_t n) {
    uint32_t sums[256];
#pragma omp parallel
    {
        int64_t me = omp_get_thread_num(), parts = omp_get_num_threads();
        int64_t low = n * me / parts, high = n * (me + 1) / parts;
        uint32_t sum = 0;
        for (int64_t i = low; i < high; i++) sum += (uint32_t)in[i];
        sums[me] = sum;
#pragma omp barrier
        uint32_t running = 0;
        for (int64_t part = 0; part < me; part++) running += sums[part];
        for (int64_t i = low; i < high; i++) out[i] = (int32_t)(running += (uint32_t)in[i]);
    }
}
