/* Programs that are hard on whoever supervises them. Each name on the command line is one check. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHECK(what) do { if (!(what)) { fprintf(stderr, "line %d: %s failed, errno %d\n", __LINE__, #what, errno); _exit(1); } } while (0)
#define FAILS(what, reason) CHECK((what) == -1 && errno == (reason))

enum { ALLOC = 0x80384E66, FREE = 0x80084E16, INFO = 0x80084E1D, GET_PA = 0x80084E19, MARK = 0xC0504E55, INIT = 0x80084E04, MIB = 1 << 20 };
struct alloc { uint64_t size, align; uint32_t host, channel, region, nc, type, gap; uint64_t handle; uint32_t pad, gap2; };
struct info { uint64_t handle; uint32_t version, host; uint64_t offset, pa, pid, size; };
struct mark { uint32_t count, first, last, longest; uint64_t map[8]; };

static int device(int flags) { int fd = open("/dev/neuron0", flags | O_CLOEXEC); CHECK(fd >= 0); return fd; }
static uint64_t allocate(int fd, uint64_t size) {
    uint64_t handle = 0;
    struct alloc a = { .size = size, .type = 9, .handle = (uint64_t)&handle };
    CHECK(ioctl(fd, ALLOC, &a) == 0 && handle);
    return handle;
}
static int attached(int fd, uint64_t handle) { uint64_t pa[2] = { handle, (uint64_t)&pa[1] }; return ioctl(fd, GET_PA, pa) == 0; }
static struct info info(int fd, uint64_t handle) { struct info i = { .handle = handle }; CHECK(ioctl(fd, INFO, &i) == 0); return i; }
static void waited(pid_t child) { int status; CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0); }

/* What moves bytes without read and write, and what changes the file behind a device. */
static void moved(void) {
    int fd = device(O_RDWR), pipes[2], file = memfd_create("x", 0);
    off_t at = 0;
    struct stat s;
    CHECK(pipe(pipes) == 0 && write(file, "0123456789", 10) == 10 && write(pipes[1], "0123456789", 10) == 10);
    FAILS(sendfile(pipes[1], fd, &at, 4096), EINVAL);
    FAILS(sendfile(fd, file, &at, 10), EINVAL);
    FAILS(splice(fd, &at, pipes[1], 0, 4096, 0), EINVAL);
    FAILS(splice(pipes[0], 0, fd, &at, 10, 0), EINVAL);
    FAILS(copy_file_range(fd, &at, file, 0, 4096, 0), EINVAL);
    at = 0;
    FAILS(copy_file_range(file, &at, fd, 0, 10, 0), EINVAL);
    FAILS(fchmod(fd, 0), EPERM);
    FAILS(fchown(fd, 1, 1), EPERM);
    FAILS(ftruncate(fd, 4096), EINVAL);
    FAILS(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE), EPERM);
    int low = dup2(fd, 9);
    CHECK(low == 9 && (fchmod(low, 0) == 0 || errno == EPERM)); /* below the window it is not seen, and does no harm */
    CHECK(fstat(fd, &s) == 0 && s.st_mode == (S_IFCHR | 0666) && close(open("/dev/neuron0", O_RDWR)) == 0);
    int queue = epoll_create1(0);
    struct epoll_event event = { .events = EPOLLIN };
    FAILS(epoll_ctl(queue, EPOLL_CTL_ADD, fd, &event), EPERM); /* as for every device without that function */
    struct pollfd ready = { .fd = fd, .events = POLLIN | POLLOUT };
    CHECK(poll(&ready, 1, 0) == 1 && ready.revents == (POLLIN | POLLOUT));
    CHECK(flock(fd, LOCK_EX) == 0 && close(fd) == 0);
    CHECK(splice(pipes[0], 0, file, 0, 10, 0) == 10); /* other files move as ever */
    at = 0;
    CHECK(copy_file_range(file, &at, file, &(off_t){100}, 10, 0) == 10 && sendfile(pipes[1], file, &(off_t){0}, 5) == 5);
}

/* A device sent over a socket: the receiver is not attached, and its close is its own. */
static void sent(void) {
    int sockets[2];
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) == 0);
    int fd = device(O_RDWR);
    uint64_t handle = allocate(fd, MIB);
    pid_t child = fork();
    if (child == 0) {
        char byte, control[CMSG_SPACE(4)];
        struct iovec part = { &byte, 1 };
        CHECK(close(fd) == 0);
        struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control };
        CHECK(recvmsg(sockets[1], &message, 0) == 1);
        int got = *(int *)CMSG_DATA(CMSG_FIRSTHDR(&message));
        CHECK(got < 256 && info(got, handle).size == MIB && !attached(got, handle) && errno == EACCES);
        CHECK(read(got, &byte, 1) == -1 && errno == EINVAL && close(got) == 0);
        CHECK(write(sockets[1], "x", 1) == 1);
        _exit(0);
    }
    char byte = 0, control[CMSG_SPACE(4)] = { 0 };
    struct iovec part = { &byte, 1 };
    struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control };
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    *header = (struct cmsghdr){ .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(4) };
    memcpy(CMSG_DATA(header), &fd, 4);
    CHECK(sendmsg(sockets[0], &message, 0) == 1 && read(sockets[0], &byte, 1) == 1);
    waited(child);
    CHECK(attached(fd, handle)); /* nothing of ours was closed */
}

/* Children made in every way, with a device at their input and output. */
static void children(const char *self) {
    int fd = open("/dev/neuron0", O_WRONLY);
    struct mark m = { .count = 1, .first = 2, .last = 2 };
    CHECK(ioctl(fd, MARK, &m) == 0);
    char *arguments[] = { (char *)self, "child", 0 }, *none[] = { 0 };
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, fd, 0);
    for (int i = 0; i < 4; i++) {
        pid_t child;
        if (i == 0) CHECK(posix_spawn(&child, "/proc/self/exe", &actions, 0, arguments, none) == 0);
        if (i == 1 && (child = vfork()) == 0) { dup2(fd, 0); execve("/proc/self/exe", arguments, none); _exit(3); }
        if (i == 2 && (child = fork()) == 0) { syscall(SYS_close_range, 0, 0, 0); CHECK(dup(fd) >= 256 && dup2(fd, 0) == 0); execve("/proc/self/exe", arguments, none); _exit(3); }
        if (i == 3 && (child = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0)) == 0) { close(open("/dev/neuron0", O_RDWR)); dup2(fd, 0); execve("/proc/self/exe", arguments, none); _exit(3); }
        waited(child);
        CHECK(ioctl(fd, MARK, &m) == -1 && errno == EBUSY);
    }
}

static void child(void) {
    struct mark m = { .count = 1, .first = 2, .last = 2 };
    struct stat s;
    FAILS(ioctl(0, MARK, &m), EBUSY);
    CHECK(stat("/proc/self/fd/0", &s) == 0 && S_ISCHR(s.st_mode) && stat("/dev/stdin", &s) == 0 && S_ISCHR(s.st_mode));
    _exit(0);
}

static void *opener(void *argument) {
    unsigned seed = (unsigned)(uintptr_t)argument;
    for (int i = 0; i < 300; i++) {
        int fd = open(rand_r(&seed) % 2 ? "/dev/neuron0" : "/dev/neuron1", O_RDWR | O_CLOEXEC);
        CHECK(fd >= 1024);
        if (rand_r(&seed) % 3 == 0) { DIR *all = opendir("/sys/class/neuron_device"); CHECK(all && readdir(all) && closedir(all) == 0); }
        CHECK(ioctl(fd, INIT, 0) == 0);
        int null = open("/dev/null", O_RDWR);
        CHECK(null >= 0 && null < 1024 && close(null) == 0);
        CHECK(rand_r(&seed) % 2 ? close(fd) == 0 : syscall(SYS_close_range, fd, fd, 0) == 0);
    }
    return 0;
}

/* Threads that open and close at once; every open is closed, so nobody is attached at the end. */
static void storm(void) {
    pthread_t all[6];
    for (uintptr_t i = 0; i < 6; i++) CHECK(pthread_create(&all[i], 0, opener, (void *)(i + 1)) == 0);
    for (int i = 0; i < 6; i++) pthread_join(all[i], 0);
    int fd = device(O_RDWR);
    uint64_t handle = allocate(fd, MIB);
    CHECK(info(fd, handle).pa == 16 << 20 && close(fd) == 0);
    fd = device(O_RDWR);
    CHECK(!attached(fd, handle)); /* that close was the last one */
}

static volatile int trapped;
static void unknown(int signal, siginfo_t *what, void *context) { (void)signal; (void)context; trapped = what->si_syscall; }

/* A program with a filter of its own. */
static void filtered(void) {
    struct sigaction action = { .sa_sigaction = unknown, .sa_flags = SA_SIGINFO };
    CHECK(sigaction(SIGSYS, &action, 0) == 0);
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_access, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EILSEQ),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = { sizeof code / sizeof *code, code };
    CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
    int fd = device(O_RDWR);
    uint64_t handle = allocate(fd, MIB);
    struct info i = info(fd, handle);
    unsigned char *here = mmap(0, i.size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, i.offset);
    CHECK(here != MAP_FAILED && (here[5] = 7) == 7);
    FAILS(access("/dev/neuron0", R_OK), EILSEQ); /* its own filter comes first */
    CHECK(syscall(SYS_getppid) != 0 || trapped == SYS_getppid);
    CHECK(trapped == SYS_getppid);
    FAILS(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program), EBUSY);
}

/* In a root of its own the devices are where they always are. */
static void rooted(const char *scratch) {
    struct stat s;
    char name[512];
    snprintf(name, sizeof name, "%s/dev", scratch);
    mkdir(name, 0755);
    CHECK(chroot(scratch) == 0 && chdir("/") == 0);
    int fd = open("/dev/neuron0", O_RDWR);
    CHECK(fd >= 0 && fstat(fd, &s) == 0 && s.st_rdev == makedev(240, 0) && stat("dev/neuron0", &s) == 0 && S_ISCHR(s.st_mode));
    DIR *dev = opendir("/dev");
    int found = 0;
    for (struct dirent *entry; dev && (entry = readdir(dev));) found += !strcmp(entry->d_name, "neuron0") && entry->d_type == DT_CHR;
    CHECK(found == 1);
    FAILS(open("/etc/passwd", O_RDONLY), ENOENT);
}

/* A limit below the window leaves no number for devices; numbers that are taken are not touched. */
static void crowded(void) {
    struct rlimit limit;
    CHECK(getrlimit(RLIMIT_NOFILE, &limit) == 0);
    int null = open("/dev/null", O_RDWR), first = device(O_RDWR), taken = 0;
    for (int fd = first + 1; fd < (int)limit.rlim_cur; fd++) taken += dup2(null, fd) == fd;
    CHECK(taken > 900);
    struct stat s;
    for (int i = 0; i < 40; i++) {
        int fd = open("/dev/neuron0", O_RDWR);
        if (fd == -1) { CHECK(errno == EMFILE); break; }
        CHECK(fstat(fd, &s) == 0 && s.st_rdev == makedev(240, 0));
    }
    for (int fd = first + 1; fd < first + 900; fd++) CHECK(fstat(fd, &s) == 0 && s.st_rdev == makedev(1, 3));
    limit.rlim_cur = 64;
    CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    FAILS(open("/dev/neuron0", O_RDWR), EMFILE);
}

static pid_t child_of(pid_t parent) {
    pid_t child = fork();
    CHECK(child >= 0 && (child || (prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() == parent)));
    return child;
}

/* More descriptors in all than the supervisor may have itself: new processes are answered, and closings are noticed. */
static void full(void) {
    pid_t self = getpid(), all[7];
    int ready[2];
    char byte;
    alarm(20); /* a call without an answer waits for ever */
    CHECK(pipe(ready) == 0);
    for (int i = 0; i < 7; i++) {
        all[i] = child_of(self);
        if (all[i] == 0) {
            for (int made = 0; i < 2 && made < 640; made++) device(O_RDWR);
            CHECK(access("/dev/neuron0", R_OK) == 0);
            if (i == 6) {
                allocate(device(O_RDWR), MIB);
                CHECK(syscall(SYS_close_range, 256, ~0u, 0) == 0);
            }
            CHECK(write(ready[1], "", 1) == 1);
            for (;;) pause();
        }
        CHECK(read(ready[0], &byte, 1) == 1);
    }
    int fd = device(O_RDWR);
    CHECK(info(fd, allocate(fd, MIB)).pa == 16 << 20); /* what the last child had is free */
    for (int i = 0; i < 7; i++) CHECK(kill(all[i], SIGKILL) == 0 && waitpid(all[i], 0, 0) == all[i]);
}

/* More processes end at a time than the supervisor is told of at once, the first one in a call. */
static void buried(void) {
    enum { ALL = 40 };
    pid_t self = getpid(), supervisor = getppid(), all[ALL];
    int ready[2], go[2];
    char byte;
    CHECK(pipe(ready) == 0 && pipe(go) == 0);
    for (int i = 0; i < ALL; i++) {
        all[i] = child_of(self);
        if (all[i] == 0) {
            CHECK(access("/dev/neuron0", R_OK) == 0);
            if (i == ALL - 1) allocate(device(O_RDWR), MIB);
            CHECK(write(ready[1], "", 1) == 1);
            if (i == 0) CHECK(read(go[0], &byte, 1) == 1 && access("/dev/neuron0", R_OK) == 0);
            for (;;) pause();
        }
    }
    for (int i = 0; i < ALL; i++) CHECK(read(ready[0], &byte, 1) == 1);
    int fd = device(O_RDWR);
    pid_t waker = child_of(self);
    if (waker == 0) {
        CHECK(read(ready[0], &byte, 1) == 1 && usleep(5000) == 0 && kill(supervisor, SIGCONT) == 0);
        _exit(0);
    }
    CHECK(kill(supervisor, SIGSTOP) == 0 && usleep(2000) == 0 && write(go[1], "", 1) == 1 && usleep(5000) == 0);
    for (int i = 0; i < ALL; i++) CHECK(kill(all[i], SIGKILL) == 0 && waitpid(all[i], 0, 0) == all[i]);
    CHECK(write(ready[1], "", 1) == 1);
    CHECK(info(fd, allocate(fd, MIB)).pa == 16 << 20); /* asked while the supervisor is stopped; what the last one had is free */
    waited(waker);
}

int main(int count, char **arguments) {
    CHECK(count > 1);
    char *name = arguments[1];
    if (!strcmp(name, "moved")) moved();
    else if (!strcmp(name, "sent")) sent();
    else if (!strcmp(name, "children")) children(arguments[0]);
    else if (!strcmp(name, "child")) child();
    else if (!strcmp(name, "storm")) storm();
    else if (!strcmp(name, "filtered")) filtered();
    else if (!strcmp(name, "full")) full();
    else if (!strcmp(name, "buried")) buried();
    else if (!strcmp(name, "rooted")) rooted(arguments[2]);
    else if (!strcmp(name, "crowded")) crowded();
    else return 2;
    return 0;
}
