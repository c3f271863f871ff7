/* Several processes on one device. kill N: one is killed in the middle of its work N times, its neighbour never notices.
   cycles N: four processes N times, each with its own end; afterwards nothing is left, neither in the driver nor in the
   supervisor, whose memory and descriptors are looked at. */
#define _GNU_SOURCE
#include <dirent.h>
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

#define CHECK(what) do { if (!(what)) { fprintf(stderr, "line %d: %s failed, errno %d\n", __LINE__, #what, errno); _exit(1); } } while (0)

enum { ALLOC = 0x80384E66, FREE = 0x80084E16, COPY = 0x80284E17, BUFFER = 0xC0284E18, FILL = 0x80204E1C, MARK = 0xC0504E55,
       UNMARK = 0x40504E56, DUMP = 0x80084E74, APPS = 0x80084E07, CHANNELS = 4, CORES = 8, PROCESSES = 4 };
struct alloc { uint64_t size, align; uint32_t host, channel, region, nc, type, gap; uint64_t handle; uint32_t pad, gap2; };
struct buffer { uint64_t handle; void *buffer; uint64_t size, offset; uint32_t to_device, gap; };
struct copy { uint64_t src, dst, size, src_offset, dst_offset; };
struct fill { uint64_t handle, offset; uint32_t value, gap; uint64_t size; };
struct mark { uint32_t count, first, last, longest; uint64_t map[8]; };
struct dump { uint32_t channel, room, count, gap; uint64_t *chunks; };

static volatile sig_atomic_t stop;
static void on_signal(int signal) { (void)signal; stop = 1; }

static int device(int flags) { int fd = open("/dev/neuron0", flags | O_CLOEXEC); CHECK(fd >= 0); return fd; }

/* Reserves one core; the descriptor keeps it. */
static int reserve(uint32_t core) {
    int misc = device(O_WRONLY);
    struct mark m = { .count = 1, .first = core, .last = core };
    CHECK(ioctl(misc, MARK, &m) == 0 && m.map[0] == 1ull << core);
    return misc;
}

static uint64_t allocate(int fd, uint64_t size, uint32_t core, int host) {
    uint64_t handle = 0;
    struct alloc a = { .size = size, .host = host, .channel = core / 2, .nc = core, .type = host ? 2 : 9, .handle = (uint64_t)&handle };
    CHECK(ioctl(fd, ALLOC, &a) == 0 && handle);
    return handle;
}

/* Bytes go to the device, to another chunk there, to the host, and back. */
static void work(int fd, uint32_t core, unsigned char value) {
    unsigned char in[5000], out[5000];
    uint64_t a = allocate(fd, 1 << 20, core, 0), b = allocate(fd, 64 << 10, core, 0), h = allocate(fd, 8192, core, 1);
    memset(in, value, sizeof in);
    struct buffer put = { .handle = a, .buffer = in, .size = sizeof in, .offset = 100, .to_device = 1 };
    struct copy there = { .src = a, .dst = b, .size = sizeof in, .src_offset = 100, .dst_offset = 7 };
    struct copy back = { .src = b, .dst = h, .size = sizeof in, .src_offset = 7 };
    struct buffer get = { .handle = h, .buffer = out, .size = sizeof out };
    struct fill f = { .handle = b, .value = value, .size = 4096 };
    CHECK(ioctl(fd, BUFFER, &put) == 0 && ioctl(fd, COPY, &there) == 0 && ioctl(fd, COPY, &back) == 0);
    CHECK(ioctl(fd, BUFFER, &get) == 0 && memcmp(in, out, sizeof in) == 0 && ioctl(fd, FILL, &f) == 0);
    CHECK(ioctl(fd, FREE, &a) == 0 && ioctl(fd, FREE, &b) == 0 && ioctl(fd, FREE, &h) == 0);
}

/* Chunks in one HBM without that of the firmware. */
static uint32_t chunks(int fd, uint32_t channel) {
    uint64_t list[3 * 64];
    struct dump d = { .channel = channel, .room = 64, .chunks = list };
    CHECK(ioctl(fd, DUMP, &d) == 0 && d.count >= 1);
    return d.count - 1;
}

/* Attached processes. */
static uint32_t attached(int fd) {
    struct { uint16_t flags; uint32_t capacity, size, gap; char entries[16][152]; } apps = { .flags = 2, .capacity = 16 };
    CHECK(ioctl(fd, APPS, &apps) == 0);
    return apps.size;
}

static void waited(pid_t child, int expected) {
    int status;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(expected ? WIFSIGNALED(status) && WTERMSIG(status) == expected : WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static int killed(int rounds) {
    int fd = device(O_RDWR), pipes[2];
    signal(SIGUSR1, on_signal);
    CHECK(pipe(pipes) == 0);
    pid_t survivor = fork();
    if (survivor == 0) {
        int own = device(O_RDWR);
        reserve(0);
        uint64_t kept = allocate(own, 3 << 20, 0, 0);
        unsigned long done = 0;
        CHECK(write(pipes[1], "s", 1) == 1);
        for (; !stop; done++) work(own, 0, done);
        CHECK(chunks(own, 0) == 1 && ioctl(own, FREE, &kept) == 0);
        fprintf(stderr, "the neighbour worked %lu times\n", done);
        _exit(done == 0);
    }
    char byte;
    CHECK(read(pipes[0], &byte, 1) == 1 && byte == 's');
    for (int round = 0; round < rounds; round++) {
        pid_t victim = fork();
        if (victim == 0) {
            reserve(1);
            reserve(2);
            int own = device(O_RDWR);
            for (int left = 0; left < 5; left++) allocate(own, 200 << 20, 2, 0); /* never freed by itself */
            for (unsigned turn = 0;; turn++) {
                work(own, 2, turn);
                if (turn == 1) CHECK(write(pipes[1], "v", 1) == 1);
            }
        }
        CHECK(read(pipes[0], &byte, 1) == 1 && byte == 'v');
        CHECK(chunks(fd, 1) >= 5 && attached(fd) == 3);
        CHECK(kill(victim, SIGKILL) == 0);
        waited(victim, SIGKILL);
        CHECK(chunks(fd, 1) == 0 && attached(fd) == 2);
        int misc = device(O_WRONLY);
        struct mark m = { .count = 2, .first = 1, .last = 2 };
        CHECK(ioctl(misc, MARK, &m) == 0 && m.map[0] == 6 && close(misc) == 0);
    }
    CHECK(kill(survivor, 0) == 0 && kill(survivor, SIGUSR1) == 0);
    waited(survivor, 0);
    CHECK(chunks(fd, 0) == 0 && attached(fd) == 1);
    printf("killed %d times\n", rounds);
    return 0;
}

/* A number in a file after a word. */
static long number_in(const char *path, const char *word) {
    char text[8192];
    int file = open(path, O_RDONLY);
    CHECK(file >= 0);
    ssize_t length = read(file, text, sizeof text - 1);
    CHECK(length > 0 && close(file) == 0);
    text[length] = 0;
    char *found = strstr(text, word);
    CHECK(found);
    return strtol(found + strlen(word), 0, 10);
}

static long descriptors(pid_t pid) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/fd", pid);
    DIR *directory = opendir(path);
    CHECK(directory);
    long count = 0;
    while (readdir(directory)) count++;
    closedir(directory);
    return count;
}

static void worker(uint32_t core, int cycle) {
    int misc = reserve(core), fd = device(O_RDWR);
    work(fd, core, cycle);
    uint64_t left = allocate(fd, 300 << 10, core, 0);
    allocate(fd, 4096, core, 1);
    switch (core) {
        case 0: CHECK(ioctl(fd, FREE, &left) == 0 && close(misc) == 0); _exit(0); /* an orderly end, almost */
        case 1: kill(getpid(), SIGKILL); break;
        case 2: if (cycle % 50 == 0) CHECK(close(fd) == 0 && close(misc) == 0); _exit(0);
        default: _exit(0); /* everything is left open */
    }
}

static int cycles(int rounds) {
    int fd = device(O_RDWR), settled = rounds / 5;
    pid_t supervisor = getppid();
    char status[64];
    snprintf(status, sizeof status, "/proc/%d/status", supervisor);
    long memory = 0, open_files = 0;
    for (int cycle = 0; cycle < rounds; cycle++) {
        pid_t all[PROCESSES];
        for (uint32_t core = 0; core < PROCESSES; core++)
            if ((all[core] = fork()) == 0) worker(core, cycle);
        for (uint32_t core = 0; core < PROCESSES; core++) waited(all[core], core == 1 ? SIGKILL : 0);
        for (uint32_t channel = 0; channel < CHANNELS; channel++) CHECK(chunks(fd, channel) == 0);
        CHECK(attached(fd) == 1);
        CHECK(number_in("/sys/class/neuron_device/neuron0/stats/memory_usage/host_mem/tensors/total", "") == 0);
        CHECK(number_in("/sys/class/neuron_device/neuron0/neuron_core1/stats/memory_usage/device_mem/total", "") == 0);
        struct mark m = { .count = CORES, .first = 0, .last = CORES - 1 };
        CHECK(ioctl(fd, MARK, &m) == 0 && m.map[0] == 0xFF && ioctl(fd, UNMARK, &m) == 0);
        if (cycle == settled) {
            memory = number_in(status, "RssAnon:");
            open_files = descriptors(supervisor);
        }
    }
    long grown = number_in(status, "RssAnon:") - memory;
    printf("%d cycles, the supervisor grew by %ld kB and %ld descriptors\n", rounds, grown, descriptors(supervisor) - open_files);
    return grown > 256 || descriptors(supervisor) != open_files;
}

int main(int count, char **arguments) {
    CHECK(count == 3);
    int rounds = atoi(arguments[2]);
    return strcmp(arguments[1], "kill") ? cycles(rounds) : killed(rounds);
}
