/* Holds memory and a core: N CORE allocates N chunks and waits for input; zero CORE copies nothing; engine CORE asks for
   an engine's queue; positive CORE shows two answers that are positive. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { ALLOC = 0x80384E66, FILL = 0x80204E1C, MARK = 0xC0504E55 };
struct alloc { uint64_t size, align; uint32_t host, channel, region, nc, type, gap; uint64_t handle; uint32_t pad, gap2; };
struct fill { uint64_t handle, offset; uint32_t value, gap; uint64_t size; };
struct mark { uint32_t count, first, last, longest; uint64_t map[8]; };

static int fd;

static uint64_t allocate(uint64_t size, uint32_t core) {
    uint64_t handle = 0;
    struct alloc a = { .size = size, .channel = core, .nc = core, .type = 9, .handle = (uint64_t)&handle };
    return ioctl(fd, ALLOC, &a) == 0 ? handle : 0;
}

static void hold(uint32_t core) {
    int misc = open("/dev/neuron0", O_WRONLY | O_CLOEXEC);
    struct mark m = { .count = 1, .first = core, .last = core };
    if (misc < 0 || ioctl(misc, MARK, &m) != 0) exit(2);
    fd = open("/dev/neuron0", O_RDWR | O_CLOEXEC);
    if (fd < 0) exit(2);
}

int main(int count, char **arguments) {
    if (count < 3) return 1;
    uint32_t core = atoi(arguments[2]);
    hold(core);
    if (!strcmp(arguments[1], "engine")) {
        char argument[48] = { 0 };
        return ioctl(fd, 0x80084E21, argument) == -1 ? errno : 0;
    }
    if (!strcmp(arguments[1], "positive")) {
        uint64_t info[6] = { 999 };
        errno = 0;
        int first = ioctl(fd, 0x40084E64, (void *)16), missing = errno;
        errno = 0;
        int second = ioctl(fd, 0x80084E1D, info), bad = errno;
        printf("%d %d %d %d\n", first, missing, second, bad);
        return 0;
    }
    if (!strcmp(arguments[1], "zero")) {
        struct fill f = { .handle = allocate(1 << 20, core), .size = 0 };
        return ioctl(fd, FILL, &f) == 0 ? 0 : errno;
    }
    for (int chunk = atoi(arguments[1]); chunk; chunk--)
        if (!allocate(4096, core)) return 3;
    printf("holding\n");
    fflush(stdout);
    getchar();
    return 0;
}
