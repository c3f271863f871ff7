/* What calls cost: emulated requests, calls with a path, and calls the filter lets through. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec * 1e6 + t.tv_nsec * 1e-3; }
#define COST(rounds, what, call) do { double start = now(); for (int i = 0; i < (rounds); i++) (void)(call); \
    printf("%-34s %8.3f us\n", what, (now() - start) / (rounds)); } while (0)

int main(void) {
    int fd = open("/dev/neuron0", O_RDWR | O_CLOEXEC), null = open("/dev/null", O_RDWR);
    if (fd < 0 || null < 0) return 1;
    uint64_t word[10] = { 0 };
    COST(20000, "request without argument", ioctl(fd, 0x80084E04, 0));
    COST(20000, "request with 8 bytes out", ioctl(fd, 0x40084E64, word));
    COST(20000, "request with 48 bytes, bad handle", ioctl(fd, 0x80084E1D, word));
    COST(5000, "open and close, passed through", close(open("/dev/null", O_RDONLY)));
    COST(200000, "ioctl, not trapped", ioctl(null, 0x5401, word));
    COST(200000, "read of nothing, not trapped", read(null, word, 0));
    COST(200000, "getppid, not trapped", getppid());
    return 0;
}
