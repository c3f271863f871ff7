/* What programs do with the descriptors, paths and mappings of a device. Each name on the command line is one check. */
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
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHECK(what) do { if (!(what)) { fprintf(stderr, "line %d: %s failed, errno %d\n", __LINE__, #what, errno); _exit(1); } } while (0)

enum { ALLOC = 0x80384E66, FREE = 0x80084E16, INFO = 0x80084E1D, FILL = 0x80204E1C, GET_PA = 0x80084E19, MARK = 0xC0504E55, MIB = 1 << 20 };
struct alloc { uint64_t size, align; uint32_t host, channel, region, nc, type, gap; uint64_t handle; uint32_t pad, gap2; };
struct info { uint64_t handle; uint32_t version, host; uint64_t offset, pa, pid, size; };
struct fill { uint64_t handle, offset; uint32_t value, gap; uint64_t size; };
struct mark { uint32_t count, first, last, longest; uint64_t map[8]; };

static int device(int flags) { int fd = open("/dev/neuron0", flags | O_CLOEXEC); CHECK(fd >= 0); return fd; }
static uint64_t allocate(int fd, uint64_t size) {
    uint64_t handle = 0;
    struct alloc a = { .size = size, .type = 9, .handle = (uint64_t)&handle };
    CHECK(ioctl(fd, ALLOC, &a) == 0 && handle);
    return handle;
}
static struct info info(int fd, uint64_t handle) { struct info i = { .handle = handle }; CHECK(ioctl(fd, INFO, &i) == 0); return i; }
static int attached(int fd, uint64_t handle) { uint64_t pa[2] = { handle, (uint64_t)&pa[1] }; return ioctl(fd, GET_PA, pa) == 0; }
static unsigned char *map(int fd, uint64_t handle, uint64_t delta, int access) {
    struct info i = info(fd, handle);
    unsigned char *address = mmap(0, i.size, access, MAP_SHARED, fd, i.offset + delta);
    CHECK(address != MAP_FAILED);
    return address;
}
static void waited(pid_t child, int signal) {
    int status;
    CHECK(waitpid(child, &status, 0) == child);
    if (signal < 0) return; /* however it ended */
    CHECK(signal ? WIFSIGNALED(status) && WTERMSIG(status) == signal : WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void paths(void) {
    struct stat s;
    CHECK(stat("/dev/neuron0", &s) == 0 && S_ISCHR(s.st_mode) && minor(s.st_rdev) == 0);
    CHECK(lstat("/dev/neuron1", &s) == 0 && S_ISCHR(s.st_mode) && minor(s.st_rdev) == 1);
    CHECK(stat("/dev/neuron2", &s) == -1 && errno == ENOENT);
    struct statx x;
    CHECK(statx(AT_FDCWD, "/dev/neuron1", 0, STATX_BASIC_STATS, &x) == 0 && S_ISCHR(x.stx_mode) && x.stx_rdev_minor == 1);
    CHECK(access("/dev/neuron0", R_OK | W_OK) == 0 && access("/dev/neuron0", X_OK) == -1 && errno == EACCES);
    int fd = device(O_RDWR);
    CHECK(fstat(fd, &s) == 0 && S_ISCHR(s.st_mode) && minor(s.st_rdev) == 0);
    CHECK(fstatat(fd, "", &s, AT_EMPTY_PATH) == 0 && S_ISCHR(s.st_mode));
    CHECK(statx(fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS, &x) == 0 && S_ISCHR(x.stx_mode));
    char link[64], target[64] = { 0 };
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    CHECK(readlink(link, target, sizeof target) == 12 && !strcmp(target, "/dev/neuron0"));
    CHECK(chdir("/dev") == 0);
    int relative = open("neuron1", O_RDWR | O_CLOEXEC);
    CHECK(relative >= 0 && close(relative) == 0 && chdir("/") == 0);
    int found = 0, others = 0;
    DIR *directory = opendir("/dev");
    for (struct dirent *entry; directory && (entry = readdir(directory));)
        if (!strncmp(entry->d_name, "neuron", 6)) found++; else others += !strcmp(entry->d_name, "null");
    CHECK(directory && found == 2 && others == 1 && closedir(directory) == 0);
    directory = opendir("/sys/class/neuron_device/neuron1");
    found = 0;
    for (struct dirent *entry; directory && (entry = readdir(directory));)
        found += !strcmp(entry->d_name, "core_count") || !strcmp(entry->d_name, "neuron_core0");
    CHECK(directory && found == 2 && closedir(directory) == 0);
    struct stat t;
    CHECK(stat("/dev/neuron0", &s) == 0 && stat("/dev/neuron1", &t) == 0 && s.st_ino && s.st_dev == t.st_dev && s.st_ino != t.st_ino);
    CHECK(fstat(fd, &t) == 0 && s.st_ino == t.st_ino && statx(fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS, &x) == 0 && x.stx_ino == s.st_ino);
    int opened = open("/sys/class/neuron_device", O_RDONLY | O_DIRECTORY); /* a walk compares these */
    CHECK(stat("/sys/class/neuron_device", &s) == 0 && fstat(opened, &t) == 0 && s.st_ino == t.st_ino && s.st_dev == t.st_dev);
    CHECK(close(opened) == 0);
    char text[16] = { 0 };
    int file = open("/sys/class/neuron_device/neuron1/core_count", O_RDONLY);
    CHECK(file >= 0 && read(file, text, 15) == 1 && text[0] == '8' && close(file) == 0);
    CHECK(open("/sys/class/neuron_device/neuron7/core_count", O_RDONLY) == -1 && errno == ENOENT);
    CHECK(open("/dev/neuron0", O_RDWR | O_CREAT | O_EXCL, 0600) == -1 && errno == EEXIST);
    CHECK(open("/dev/neuron0", O_RDONLY | O_DIRECTORY) == -1 && errno == ENOTDIR);
}

static void copies(void) {
    int fd = device(O_RDWR);
    uint64_t handle = allocate(fd, MIB);
    int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    CHECK(copy >= 0 && copy != fd && (fcntl(copy, F_GETFD) & FD_CLOEXEC) && attached(copy, handle));
    CHECK(close(copy) == 0 && !attached(fd, handle)); /* one close too many: the process is detached, its memory gone */
    CHECK(close(fd) == 0);
    fd = device(O_RDWR);
    CHECK(info(fd, allocate(fd, MIB)).pa == 16 << 20);
    copy = fcntl(fd, F_DUPFD, 100);
    CHECK(copy >= 100 && !(fcntl(copy, F_GETFD) & FD_CLOEXEC) && close(copy) == 0 && close(fd) == 0);
    fd = device(O_RDWR);
    handle = allocate(fd, MIB);
    CHECK(dup2(fd, fd) == fd && dup3(fd, 9, 1) == -1 && errno == EINVAL && attached(fd, handle));
    CHECK(dup2(900, fd) == -1 && errno == EBADF && attached(fd, handle));
    int other = device(O_RDWR);
    CHECK(dup3(fd, other, O_CLOEXEC) == other && attached(other, handle)); /* what was there is closed: one open less */
    CHECK(close(other) == 0 && !attached(fd, handle) && close(fd) == 0);
    fd = device(O_RDWR);
    handle = allocate(fd, MIB);
    int null = open("/dev/null", O_RDWR);
    CHECK(dup2(null, fd) == fd && ioctl(fd, INFO, &handle) == -1 && errno == ENOTTY && close(fd) == 0);
    fd = device(O_RDWR);
    CHECK(info(fd, allocate(fd, MIB)).pa == 16 << 20); /* the memory of the one that was replaced is free */
    int misc = device(O_WRONLY);
    struct mark m = { .count = 8, .first = 0, .last = 7 };
    CHECK(ioctl(misc, MARK, &m) == 0);
    CHECK(syscall(SYS_close_range, fd < misc ? fd : misc, ~0u, 4) == 0); /* CLOSE_RANGE_CLOEXEC closes nothing */
    CHECK(ioctl(misc, MARK, &m) == -1 && errno == EBUSY);
    CHECK(syscall(SYS_close_range, fd < misc ? fd : misc, ~0u, 0) == 0);
    CHECK(ioctl(fd, INFO, &handle) == -1 && errno == EBADF);
    fd = device(O_RDWR), misc = device(O_WRONLY);
    CHECK(ioctl(misc, MARK, &m) == 0 && info(fd, allocate(fd, MIB)).pa == 16 << 20);
}

/* A device at a low number, where most calls on it are not looked at. */
static void low(void) {
    int fd = device(O_RDWR), null = open("/dev/null", O_RDWR);
    uint64_t handle = allocate(fd, MIB);
    CHECK(null < 10 && dup2(fd, 9) == 9 && dup2(fd, null) == null && dup3(fd, 8, O_CLOEXEC) == 8 && attached(9, handle));
    CHECK(fcntl(8, F_GETFD) == FD_CLOEXEC && fcntl(9, F_GETFD) == 0);
    unsigned char *here = map(9, handle, 4096, PROT_READ | PROT_WRITE); /* from the start of the chunk */
    struct fill f = { .handle = handle, .value = 7, .size = 10 };
    CHECK(ioctl(9, FILL, &f) == 0 && here[9] == 7 && here[10] == 0);
    struct stat s;
    CHECK(fstatat(9, "", &s, AT_EMPTY_PATH) == 0 && S_ISCHR(s.st_mode));
    char target[64] = { 0 }, byte = 0;
    CHECK(readlink("/proc/self/fd/9", target, sizeof target) == 12 && !strcmp(target, "/dev/neuron0"));
    CHECK(read(9, &byte, 1) == -1 && errno == EINVAL && write(9, &byte, 1) == -1 && errno == EINVAL);
    int copy = dup(9);
    CHECK(copy >= 256 && attached(copy, handle));
    CHECK(close(9) == 0 && !attached(fd, handle)); /* noticed: one close too many */
    CHECK(close(copy) == 0 && close(fd) == 0 && close(8) == 0 && close(null) == 0);
    fd = device(O_RDWR);
    handle = allocate(fd, MIB);
    CHECK(dup2(fd, 0) == 0 && open("/dev/null", O_RDWR) >= 0);
    null = open("/dev/null", O_RDWR);
    CHECK(dup2(null, 0) == 0 && !attached(fd, handle)); /* replaced */
    CHECK(ioctl(0, INFO, &handle) == -1 && errno == ENOTTY && close(fd) == 0);
    int misc = device(O_WRONLY);
    struct mark m = { .count = 1, .first = 2, .last = 2 };
    CHECK(ioctl(misc, MARK, &m) == 0 && dup2(misc, 0) == 0);
    pid_t child = fork();
    if (child == 0) { /* as subprocesses get their input */
        execl("/proc/self/exe", "files", "inherited", (char *)0);
        _exit(1);
    }
    waited(child, 0);
    CHECK(ioctl(0, MARK, &m) == -1 && errno == EBUSY && close(misc) == 0);
    CHECK(ioctl(0, MARK, &m) == 0); /* any close of such a descriptor gives the cores back */
}

static void inherited(void) {
    struct mark m = { .count = 1, .first = 2, .last = 2 };
    CHECK(ioctl(0, MARK, &m) == -1 && errno == EBUSY && ioctl(0, 0x5401, &m) == -1 && errno == ENOTTY);
    _exit(0);
}

/* What the driver has no function for, though the memory behind a device has. */
static void refused(void) {
    int fd = device(O_RDWR), reader = device(O_RDONLY), writer = device(O_WRONLY), neither = device(O_ACCMODE);
    char bytes[16] = { 0 };
    struct iovec part = { bytes, sizeof bytes };
    CHECK(read(fd, bytes, 16) == -1 && errno == EINVAL && write(fd, bytes, 16) == -1 && errno == EINVAL);
    CHECK(readv(fd, &part, 1) == -1 && errno == EINVAL && writev(fd, &part, 1) == -1 && errno == EINVAL);
    CHECK(pread(fd, bytes, 16, 0) == -1 && errno == EINVAL && pwrite(fd, bytes, 16, 0) == -1 && errno == EINVAL);
    CHECK(preadv(fd, &part, 1, 0) == -1 && errno == EINVAL && pwritev(fd, &part, 1, 0) == -1 && errno == EINVAL);
    CHECK(read(reader, bytes, 1) == -1 && errno == EINVAL && write(reader, bytes, 1) == -1 && errno == EBADF);
    CHECK(read(writer, bytes, 1) == -1 && errno == EBADF && write(writer, bytes, 1) == -1 && errno == EINVAL);
    CHECK(pread(writer, bytes, 1, 0) == -1 && errno == EBADF && pwrite(reader, bytes, 1, 0) == -1 && errno == EBADF);
    CHECK(read(neither, bytes, 1) == -1 && errno == EBADF && write(neither, bytes, 1) == -1 && errno == EBADF);
    CHECK(lseek(fd, 0, SEEK_SET) == -1 && errno == ESPIPE && lseek(writer, 0, SEEK_CUR) == -1 && errno == ESPIPE);
    CHECK(ftruncate(fd, 0) == -1 && errno == EINVAL && fallocate(fd, 0, 0, 4096) == -1 && errno == ENODEV);
    int null = open("/dev/null", O_RDWR), other = dup2(null, fd); /* an ordinary file at such a number */
    CHECK(other == fd && read(fd, bytes, 16) == 0 && pread(fd, bytes, 16, 0) == 0 && lseek(fd, 0, SEEK_SET) == 0);
}

static void mappings(void) {
    int fd = device(O_RDWR);
    uint64_t handle = allocate(fd, 4 * MIB);
    struct fill f = { .handle = handle, .value = 7, .size = 4 * MIB };
    CHECK(ioctl(fd, FILL, &f) == 0);
    unsigned char *start = map(fd, handle, 0, PROT_READ | PROT_WRITE), *inside = map(fd, handle, 3 * MIB, PROT_READ);
    start[0] = 1, start[3 * MIB] = 3;
    CHECK(inside[0] == 1 && inside[3 * MIB] == 3 && inside[4 * MIB - 1] == 7); /* from the start of the chunk */
    struct info i = info(fd, handle);
    unsigned char *place = mmap(0, i.size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(mmap(place, i.size, PROT_READ, MAP_SHARED | MAP_FIXED, fd, i.offset) == place && place[0] == 1);
    CHECK(mremap(inside, i.size, 2 * i.size, MREMAP_MAYMOVE) == MAP_FAILED && errno == EFAULT);
    void *ordinary = mmap(0, MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(mremap(ordinary, MIB, 8 * MIB, MREMAP_MAYMOVE) != MAP_FAILED);
    int pipes[2];
    CHECK(pipe(pipes) == 0);
    CHECK(write(pipes[1], start, 1) == 1 && write(pipes[1], start + 3 * MIB, 1) == 1);
    pid_t child = fork();
    if (child == 0) {
        CHECK(write(pipes[1], start, 1) == -1 && errno == EFAULT); /* mappings are not inherited */
        int own = device(O_RDWR);
        unsigned char *foreign = map(own, handle, 0, PROT_READ | PROT_WRITE);
        CHECK(foreign[0] == 1 && read(pipes[0], foreign, 1) == -1 && errno == EFAULT); /* without the permission to write */
        CHECK(mprotect(foreign, i.size, PROT_READ | PROT_WRITE) == 0);
        foreign[5] = 99;
        uint64_t mine = allocate(own, MIB);
        map(own, mine, 0, PROT_READ | PROT_WRITE)[0] = 5;
        _exit(0);
    }
    waited(child, 0);
    CHECK(start[5] == 99);
}

static void *mapper(void *argument) {
    int fd = (int)(intptr_t)argument;
    for (int round = 0; round < 40; round++) {
        uint64_t handle = allocate(fd, MIB);
        unsigned char *here = map(fd, handle, round % 2 ? 4096 : 0, PROT_READ | PROT_WRITE);
        here[round] = round + 1;
        struct fill f = { .handle = handle, .offset = round + 1, .value = 200, .size = 10 };
        CHECK(ioctl(fd, FILL, &f) == 0 && here[round] == round + 1 && here[round + 10] == 200);
        CHECK(munmap(here, MIB) == 0 && ioctl(fd, FREE, &handle) == 0);
    }
    return 0;
}

static void nothing(int signal) { (void)signal; }

/* Threads map at the same time, while signals arrive. */
static void threads(void) {
    int fd = device(O_RDWR);
    pthread_t all[4];
    struct sigaction action = { .sa_handler = nothing, .sa_flags = SA_RESTART };
    CHECK(sigaction(SIGUSR1, &action, 0) == 0);
    for (int i = 0; i < 4; i++) CHECK(pthread_create(&all[i], 0, mapper, (void *)(intptr_t)fd) == 0);
    for (int i = 0; i < 200; i++) pthread_kill(all[i % 4], SIGUSR1);
    for (int i = 0; i < 4; i++) pthread_join(all[i], 0);
}

/* Programs that are replaced, with descriptors that close by that and others that do not. */
static void programs(const char *self) {
    int fd = device(O_RDWR), misc = device(O_WRONLY);
    struct mark m = { .count = 1, .first = 3, .last = 3 };
    CHECK(ioctl(misc, MARK, &m) == 0 && allocate(fd, MIB));
    CHECK(fcntl(misc, F_SETFD, 0) == 0);
    CHECK(execl("/no/such/program", "x", (char *)0) == -1 && errno == ENOENT && info(fd, 1).size == MIB);
    char number[16];
    snprintf(number, sizeof number, "%d", misc);
    execl("/proc/self/exe", self, "replaced", number, (char *)0);
    _exit(1);
}

static void replaced(int misc) {
    struct mark m = { .count = 1, .first = 3, .last = 3 };
    CHECK(ioctl(misc, MARK, &m) == -1 && errno == EBUSY); /* inherited, and the core with it */
    int fd = device(O_RDWR);
    CHECK(info(fd, allocate(fd, MIB)).pa == 16 << 20); /* the memory of the program before is free */
    CHECK(close(misc) == 0);
    misc = device(O_WRONLY);
    CHECK(ioctl(misc, MARK, &m) == 0);
}

/* A child that allocates through the descriptors of its parent: the real driver kills it. */
static void forked(void) {
    int fd = device(O_RDWR);
    uint64_t first = allocate(fd, 4096);
    pid_t child = fork();
    if (child == 0) {
        uint64_t handle = 0;
        struct alloc a = { .size = 4096, .handle = (uint64_t)&handle };
        struct info i = { .handle = first };
        errno = 0;
        int told = ioctl(fd, INFO, &i) == -1 ? errno : 0;
        signal(SIGSEGV, SIG_DFL);
        if (told) _exit(told);
        _exit(ioctl(fd, ALLOC, &a) == -1 ? errno : 0);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(allocate(fd, 4096)); /* the device goes on */
    printf("%d %d\n", WIFSIGNALED(status) ? WTERMSIG(status) : 0, WIFEXITED(status) ? WEXITSTATUS(status) : 0);
}

/* A child that outlives the emulator: its calls on devices fail, the others go on. */
static void orphaned(void) {
    pid_t child = fork();
    if (child) { waitpid(child, 0, 0); return; }
    int fd = device(O_RDWR);
    allocate(fd, MIB);
    printf("holding\n");
    fflush(stdout);
    char byte;
    while (read(0, &byte, 1) > 0) {}
    struct info i = { .handle = 1 };
    int result = ioctl(fd, INFO, &i), reason = errno;
    printf("%d %d %d\n", result, reason == ENOSYS, open("/dev/null", O_RDONLY) == -1 && errno == ENOSYS);
    fflush(stdout);
    _exit(0);
}

/* A process that closed a device, in one way or another, and does nothing more: what it had is free for others. */
static void closings(void) {
    for (int way = 0; way < 5; way++) {
        int own = device(O_RDWR), done[2], ended[2];
        uint64_t mine = allocate(own, MIB);
        CHECK(info(own, mine).pa == 16 << 20 && pipe(done) == 0 && pipe(ended) == 0);
        pid_t child = fork();
        if (child == 0) {
            CHECK(close(ended[1]) == 0);
            int null = open("/dev/null", O_RDWR), fd = device(O_RDWR), copy = device(O_RDWR), misc = device(O_WRONLY);
            struct mark m = { .count = 1, .first = 3, .last = 3 };
            CHECK(info(fd, allocate(fd, MIB)).pa == 17 << 20 && ioctl(misc, MARK, &m) == 0);
            if (way == 4) { dup2(ended[0], 0); dup2(done[1], 1); execl("/bin/sh", "sh", "-c", "echo; read x", (char *)0); _exit(1); }
            int all[] = { own, fd, copy, misc }; /* the one it inherited is none of the driver's business */
            for (int i = way == 3; way != 2 && i < 4; i++) CHECK((way == 1 ? dup2(null, all[i]) : close(all[i])) >= 0);
            CHECK(way != 2 || syscall(SYS_close_range, 1024, ~0u, 0) == 0);
            char byte;
            CHECK(write(done[1], "", 1) == 1 && read(ended[0], &byte, 1) == 0);
            _exit(0);
        }
        char byte;
        CHECK(close(ended[0]) == 0 && read(done[0], &byte, 1) == 1);
        CHECK(info(own, allocate(own, MIB)).pa == 17 << 20);
        int misc = device(O_WRONLY);
        struct mark m = { .count = 1, .first = 3, .last = 3 };
        CHECK(ioctl(misc, MARK, &m) == 0 && close(ended[1]) == 0 && close(done[0]) == 0 && close(done[1]) == 0);
        waited(child, way == 4 ? -1 : 0);
        CHECK(close(misc) == 0 && close(own) == 0);
    }
}

static pthread_t first;

static void *remaining(void *unused) {
    CHECK(pthread_join(first, 0) == 0);
    int fd = *(int *)unused, other = device(O_RDWR);
    uint64_t handle = allocate(fd, MIB);
    CHECK(info(fd, handle).pa == 16 << 20 && close(other) == 0 && info(fd, handle).pa == 16 << 20);
    CHECK(close(fd) == 0 && ioctl(fd, FREE, &handle) == -1 && errno == EBADF);
    fd = device(O_RDWR);
    CHECK(info(fd, allocate(fd, MIB)).pa == 16 << 20);
    exit(0);
}

/* The first thread ends, the descriptors stay. */
static void remains(void) {
    static int fd;
    fd = device(O_RDWR);
    first = pthread_self();
    pthread_t thread;
    CHECK(pthread_create(&thread, 0, remaining, &fd) == 0);
    pthread_exit(0);
}

int main(int count, char **arguments) {
    CHECK(count > 1);
    char *name = arguments[1];
    if (!strcmp(name, "paths")) paths();
    else if (!strcmp(name, "copies")) copies();
    else if (!strcmp(name, "low")) low();
    else if (!strcmp(name, "inherited")) inherited();
    else if (!strcmp(name, "refused")) refused();
    else if (!strcmp(name, "mappings")) mappings();
    else if (!strcmp(name, "threads")) threads();
    else if (!strcmp(name, "programs")) programs(arguments[0]);
    else if (!strcmp(name, "replaced")) replaced(atoi(arguments[2]));
    else if (!strcmp(name, "closings")) closings();
    else if (!strcmp(name, "remains")) remains();
    else if (!strcmp(name, "forked")) forked();
    else if (!strcmp(name, "orphaned")) orphaned();
    else return 2;
    return 0;
}
