/* What the kernel did to the calling thread, and what a mutex costs. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sys/resource.h>

/* How often the scheduler took the processor from the calling thread while it could have gone on. */
long nrt_c_preemptions(void)
{
    struct rusage usage;
    return getrusage(RUSAGE_THREAD, &usage) == 0 ? usage.ru_nivcsw : 0;
}

static pthread_mutex_t mutex __attribute__((aligned(64))) = PTHREAD_MUTEX_INITIALIZER;

void nrt_c_mutex_pairs(unsigned n)
{
    while (n--) {
        pthread_mutex_lock(&mutex);
        pthread_mutex_unlock(&mutex);
    }
}
