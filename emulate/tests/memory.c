/* Opens a device, allocates, maps, copies and frees: alone, in a thread, in a forked child, after exec. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <dirent.h>
#include <unistd.h>

#define CHECK(what) do { if (!(what)) { printf("line %d: %s failed, errno %d\n", __LINE__, #what, errno); exit(1); } } while (0)

enum { ALLOC = 0x80384E66, FREE = 0x80084E16, INFO = 0x80084E1D, COPY = 0x80284E17, BUFFER = 0xC0284E18, FILL = 0x80204E1C,
       BASIC = 0x40084E64, GET_PA = 0x80084E19, MARK = 0xC0504E55 };

struct alloc { uint64_t size, align; uint32_t host, channel, region, nc, type, gap; uint64_t handle; uint32_t pad, gap2; };
struct info { uint64_t handle; uint32_t version, host; uint64_t offset, pa, pid, size; };
struct copy { uint64_t src, dst, size, src_offset, dst_offset; };
struct buffer { uint64_t handle; void *buffer; uint64_t size, offset; uint32_t to_device, gap; };
struct fill { uint64_t handle, offset; uint32_t value, gap; uint64_t size; };
struct mark { uint32_t count, first, last, longest; uint64_t map[8]; };

static int device(int flags) { int fd = open("/dev/neuron0", flags | O_CLOEXEC); CHECK(fd >= 0); return fd; }

static uint64_t allocate(int fd, uint64_t size, int host) {
    uint64_t handle = 0;
    struct alloc a = { .size = size, .host = host, .type = host ? 2 : 9, .handle = (uint64_t)&handle };
    CHECK(ioctl(fd, ALLOC, &a) == 0 && handle != 0);
    return handle;
}

static struct info info(int fd, uint64_t handle) {
    struct info i = { .handle = handle };
    CHECK(ioctl(fd, INFO, &i) == 0);
    return i;
}

/* Bytes go into one chunk, to another, and out of it through its mapping. */
static void move(int fd, uint64_t size) {
    uint64_t a = allocate(fd, size, 0), b = allocate(fd, size, 1);
    struct info there = info(fd, b);
    CHECK(there.pid == (uint64_t)getpid() && there.size >= size && there.offset == there.pa);
    unsigned char *out = malloc(size);
    for (uint64_t i = 0; i < size; i++) out[i] = i * 31 + size;
    struct buffer in = { .handle = a, .buffer = out, .size = size, .to_device = 1 };
    CHECK(ioctl(fd, BUFFER, &in) == 0);
    struct copy c = { .src = a, .dst = b, .size = size };
    CHECK(ioctl(fd, COPY, &c) == 0);
    unsigned char *map = mmap(0, there.size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, there.offset);
    CHECK(map != MAP_FAILED && memcmp(map, out, size) == 0);
    map[7] = 42;
    struct buffer back = { .handle = b, .buffer = out, .size = size };
    CHECK(ioctl(fd, BUFFER, &back) == 0 && out[7] == 42);
    struct fill f = { .handle = b, .offset = 1, .value = 0x5A, .size = size - 1 };
    CHECK(ioctl(fd, FILL, &f) == 0 && map[1] == 0x5A && map[size - 1] == 0x5A);
    munmap(map, there.size);
    CHECK(ioctl(fd, FREE, &a) == 0 && ioctl(fd, FREE, &b) == 0);
    free(out);
}

static void *worker(void *argument) {
    for (int round = 0; round < 50; round++) move((int)(intptr_t)argument, 4096 + 1000 * round);
    return 0;
}

int main(int count, char **arguments) {
    (void)count;
    if (arguments[1] && !strcmp(arguments[1], "after-exec")) {
        int fd = device(O_RDWR);
        CHECK(info(fd, allocate(fd, 1 << 20, 0)).pa == 16 << 20); /* what the program before had was given back */
        return 0;
    }
    struct stat s;
    CHECK(stat("/dev/neuron0", &s) == 0 && S_ISCHR(s.st_mode) && minor(s.st_rdev) == 0);
    CHECK(access("/dev/neuron9999", F_OK) == -1 && errno == ENOENT);
    char version[32] = { 0 };
    int file = open("/sys/module/neuron/version", O_RDONLY);
    CHECK(file >= 0 && read(file, version, sizeof version - 1) > 4 && close(file) == 0);
    DIR *directory = opendir("/dev");
    CHECK(directory);
    int nodes = 0;
    for (struct dirent *entry; (entry = readdir(directory));) nodes += !strncmp(entry->d_name, "neuron", 6);
    CHECK(nodes == 1 && closedir(directory) == 0);

    int misc = device(O_WRONLY);
    uint32_t basic[2];
    CHECK(ioctl(misc, BASIC, basic) == 0 && basic[0] >= 2 && basic[0] <= 4);
    CHECK(ioctl(misc, ALLOC, basic) == -1 && errno == EINVAL);
    struct mark m = { .count = 1, .first = 0, .last = 1 };
    CHECK(ioctl(misc, MARK, &m) == 0 && m.map[0] == 1);
    int fd = device(O_RDWR);
    move(fd, 100000);
    uint64_t none = 1;
    CHECK(ioctl(fd, FREE, &none) == -1 && errno == EINVAL);
    CHECK(ioctl(fd, BASIC, (void *)16) == 8); /* bytes that could not be written */
    CHECK(ioctl(fd, 0x12345678, 0) == -1 && errno == EINVAL);
    CHECK(mmap(0, 4096, PROT_READ, MAP_SHARED, misc, 0) == MAP_FAILED && errno == EACCES);

    pthread_t threads[3];
    for (int i = 0; i < 3; i++) CHECK(pthread_create(&threads[i], 0, worker, (void *)(intptr_t)fd) == 0);
    for (int i = 0; i < 3; i++) pthread_join(threads[i], 0);

    uint64_t mine = allocate(fd, 4096, 0);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        uint64_t pa[2] = { mine, (uint64_t)&pa[1] };
        CHECK(ioctl(fd, GET_PA, pa) == -1 && errno == EACCES); /* a child is not attached */
        CHECK(close(fd) == 0);
        int own = device(O_RDWR);
        CHECK(info(own, mine).pid == (uint64_t)getppid());
        allocate(own, 1 << 20, 0);
        _exit(0); /* takes its chunk along */
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    CHECK(info(fd, mine).size == 4096);
    CHECK(ioctl(fd, FREE, &mine) == 0);
    CHECK(allocate(fd, 1 << 20, 0) != 0);
    printf("memory ok %s", version);
    fflush(stdout);
    execl("/proc/self/exe", arguments[0], "after-exec", (char *)0);
    return 1;
}
