/* Programs that are interrupted, stopped, replaced or killed while they map device memory.
 * usage: signals timer ROUNDS | close ROUNDS | kill ROUNDS | stop ROUNDS | exec ROUNDS | shrink */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define MEM_ALLOC_V2MT64 0x80384E66
#define MEM_GET_EXTENDED_INFO 0x80084E1D
#define MEM_FREE 0x80084E16

struct alloc { uint64_t size, align; uint32_t host, channel, region, nc, type, gap; uint64_t handle; };
struct info { uint64_t handle; uint32_t version, host; uint64_t offset, pa, pid, size; };

static int device;
static volatile sig_atomic_t ticks;

static void tick(int signal) { (void)signal; ticks++; }

static void fail(const char *what) { fprintf(stderr, "%s: errno %d\n", what, errno); fflush(stderr); _exit(9); }

static struct info allocate(void) {
    uint64_t handle = 0;
    struct alloc request = { .size = 1 << 20, .type = 9, .handle = (uint64_t)&handle };
    if (ioctl(device, MEM_ALLOC_V2MT64, &request)) fail("allocate");
    struct info info = { .handle = handle };
    if (ioctl(device, MEM_GET_EXTENDED_INFO, &info)) fail("info");
    info.handle = handle;
    return info;
}

/* Maps a chunk, writes to it, and unmaps it. */
static void visit(const struct info *info) {
    char *memory = mmap(NULL, info->size, PROT_READ | PROT_WRITE, MAP_SHARED, device, info->offset);
    if (memory == MAP_FAILED) fail("map");
    memory[5] = 1;
    if (munmap(memory, info->size)) fail("unmap");
}

static void *work(void *unused) {
    for (;;) {
        struct info info = allocate();
        visit(&info);
        if (ioctl(device, MEM_FREE, &info.handle)) fail("free");
    }
    return unused;
}

/* A signal every 200 us; nothing is to be seen of them in the mappings. */
static void timer(int rounds) {
    struct sigaction action = { .sa_handler = tick, .sa_flags = SA_RESTART };
    sigaction(SIGALRM, &action, NULL);
    device = open("/dev/neuron0", O_RDWR | O_CLOEXEC);
    struct info info = allocate();
    struct itimerval often = { { 0, 200 }, { 0, 200 } };
    setitimer(ITIMER_REAL, &often, NULL);
    int round = 0;
    for (; round < rounds || ticks < 100; round++) visit(&info);
    memset(&often, 0, sizeof often);
    setitimer(ITIMER_REAL, &often, NULL);
    printf("mapped under signals\n");
}

static int descriptors(void) {
    int count = 0;
    DIR *all = opendir("/proc/self/fd");
    while (all && readdir(all)) count++;
    if (!all || closedir(all)) fail("descriptors");
    return count;
}

/* A signal every 100 us that ends calls with EINTR: any may be made again, but a close is one. */
static void closes(int rounds) {
    struct sigaction action = { .sa_handler = tick };
    sigaction(SIGALRM, &action, NULL);
    int before = descriptors();
    struct itimerval often = { { 0, 100 }, { 0, 100 } };
    setitimer(ITIMER_REAL, &often, NULL);
    for (int round = 0; round < rounds; round++) {
        while ((device = open("/dev/neuron0", O_RDWR | O_CLOEXEC)) < 0) if (errno != EINTR) fail("open");
        uint64_t handle = 0;
        struct alloc request = { .size = 1 << 20, .type = 9, .handle = (uint64_t)&handle };
        while (ioctl(device, MEM_ALLOC_V2MT64, &request)) if (errno != EINTR) fail("allocate");
        DIR *listed;
        while (!(listed = opendir("/sys/class/neuron_device"))) if (errno != EINTR) fail("opendir");
        while (errno = 0, readdir(listed) || errno == EINTR) {}
        if (errno) fail("readdir");
        if (closedir(listed)) fail("closedir");
        if (close(device)) fail("close");
    }
    memset(&often, 0, sizeof often);
    setitimer(ITIMER_REAL, &often, NULL);
    if (ticks < rounds / 50) fail("too few signals");
    if (descriptors() != before) fail("descriptors are left");
    printf("closed under signals\n");
}

/* Four threads of a child map all the time; it is stopped and goes on, replaces itself, or is killed. */
static void children(const char *how, int rounds) {
    int own = open("/dev/neuron0", O_RDWR | O_CLOEXEC);
    for (int round = 0; round < rounds; round++) {
        int ready[2];
        if (pipe2(ready, O_CLOEXEC)) fail("pipe");
        pid_t child = fork();
        if (child == 0) {
            device = open("/dev/neuron0", O_RDWR | O_CLOEXEC);
            struct info info = allocate();
            visit(&info);
            if (write(ready[1], "", 1) != 1) fail("ready");
            pthread_t threads[3];
            for (int i = 0; i < 3; i++) pthread_create(&threads[i], NULL, work, NULL);
            if (strcmp(how, "exec") == 0) {
                for (int i = 0; i < 50 + round; i++) visit(&info);
                execl("/bin/true", "true", (char *)NULL);
                fail("exec");
            }
            work(NULL);
        }
        char byte;
        if (read(ready[0], &byte, 1) != 1) fail("child");
        for (int i = 0; strcmp(how, "stop") == 0 && i < 5; i++) {
            int status;
            if (kill(child, SIGSTOP) || waitpid(child, &status, WUNTRACED) != child || !WIFSTOPPED(status)) fail("stop");
            if (kill(child, SIGCONT) || waitpid(child, &status, WCONTINUED) != child || !WIFCONTINUED(status)) fail("continue");
        }
        if (strcmp(how, "exec") != 0) kill(child, SIGKILL);
        int status;
        if (waitpid(child, &status, 0) != child) fail("wait");
        int expected = strcmp(how, "exec") == 0 ? WIFEXITED(status) && WEXITSTATUS(status) == 0
                                                : WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
        if (!expected) { fprintf(stderr, "round %d: status %#x\n", round, status); exit(1); }
        close(ready[0]);
        close(ready[1]);
    }
    close(own);
    printf("%s %d times\n", how, rounds);
}

/* The memory behind a device keeps its length. */
static void shrink(void) {
    device = open("/dev/neuron0", O_RDWR | O_CLOEXEC);
    struct info info = allocate();
    if (ftruncate(device, 0) == 0) fail("a device was made shorter");
    visit(&info);
    printf("not shorter\n");
}

int main(int count, char **arguments) {
    const char *how = count > 1 ? arguments[1] : "";
    int rounds = count > 2 ? atoi(arguments[2]) : 1;
    if (strcmp(how, "timer") == 0) timer(rounds);
    else if (strcmp(how, "close") == 0) closes(rounds);
    else if (strcmp(how, "shrink") == 0) shrink();
    else children(how, rounds);
    return 0;
}
