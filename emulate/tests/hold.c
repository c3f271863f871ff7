/* Holds memory and a core: N CORE allocates N chunks and waits for input; load CORE works until SIGUSR1; victim CORE
   has a child that works until it is killed; check CORE tries whether everything is free; zero CORE copies nothing. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ALLOC = 0x80384E66, FREE = 0x80084E16, BUFFER = 0xC0284E18, FILL = 0x80204E1C, MARK = 0xC0504E55, BIG = 64 << 20 };
struct alloc { uint64_t size, align; uint32_t host, channel, region, nc, type, gap; uint64_t handle; uint32_t pad, gap2; };
struct buffer { uint64_t handle; void *buffer; uint64_t size, offset; uint32_t to_device, gap; };
struct fill { uint64_t handle, offset; uint32_t value, gap; uint64_t size; };
struct mark { uint32_t count, first, last, longest; uint64_t map[8]; };

static volatile sig_atomic_t stop;
static void on_signal(int signal) { (void)signal; stop = 1; }
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

/* One round of work, with a check of what was written. */
static void work(uint32_t core, unsigned char value) {
    static unsigned char in[8192], out[8192];
    uint64_t handle = allocate(BIG, core);
    memset(in, value, sizeof in);
    struct buffer put = { .handle = handle, .buffer = in, .size = sizeof in, .offset = 4096, .to_device = 1 };
    struct buffer get = { .handle = handle, .buffer = out, .size = sizeof out, .offset = 4096 };
    if (!handle || ioctl(fd, BUFFER, &put) || ioctl(fd, BUFFER, &get) || memcmp(in, out, sizeof in)) exit(7);
    if (ioctl(fd, FREE, &handle)) exit(8);
}

int main(int count, char **arguments) {
    if (count < 3) return 1;
    uint32_t core = atoi(arguments[2]);
    if (!strcmp(arguments[1], "victim")) {
        int pipes[2];
        if (pipe(pipes)) return 1;
        pid_t child = fork();
        if (child == 0) {
            hold(core);
            if (!allocate(BIG, core)) _exit(9); /* never freed by itself */
            for (unsigned round = 0;; round++) {
                work(core, round);
                if (round == 2 && write(pipes[1], "x", 1) != 1) _exit(1);
            }
        }
        char byte;
        close(pipes[1]);
        if (read(pipes[0], &byte, 1) != 1) return 2;
        kill(child, SIGKILL);
        int status;
        waitpid(child, &status, 0);
        hold(core); /* the core is free as soon as the parent knows of the death */
        printf("killed\n");
        return !WIFSIGNALED(status);
    }
    if (!strcmp(arguments[1], "load")) signal(SIGUSR1, on_signal);
    hold(core);
    if (!strcmp(arguments[1], "load")) {
        for (unsigned round = 0; !stop; round++) work(core, round);
        return 0;
    }
    if (!strcmp(arguments[1], "check")) return allocate((15ull << 30) - (16 << 20), core) ? 0 : 3; /* all of the main pool of Trn1 */
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
