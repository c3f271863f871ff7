/* What the kernel did to the calling thread. */
#define _GNU_SOURCE
#include <sys/resource.h>

/* How often the scheduler took the processor from the calling thread while it could have gone on. */
long nrt_c_preemptions(void)
{
    struct rusage usage;
    return getrusage(RUSAGE_THREAD, &usage) == 0 ? usage.ru_nivcsw : 0;
}
