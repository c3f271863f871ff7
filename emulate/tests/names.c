/* What programs see of the names in /dev and /sys. Each name on the command line is one check. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#define CHECK(what) do { if (!(what)) { fprintf(stderr, "line %d: %s failed, errno %d\n", __LINE__, #what, errno); _exit(1); } } while (0)
#define FAILS(what, reason) CHECK((what) == -1 && errno == (reason))

static int is(const struct stat *s, int major_, int minor_) { return S_ISCHR(s->st_mode) && s->st_rdev == makedev(major_, minor_); }
static int is_neuron(const struct stat *s, int index) { return is(s, 240, index); }

/* Everything a name can be asked, relative to a directory: the file is /dev/null. */
static void is_null(int at, const char *name) {
    struct stat s, host;
    struct statx x;
    struct open_how how = { .flags = O_RDONLY };
    CHECK(stat("/dev/null", &host) == 0);
    int fd = openat(at, name, O_RDWR);
    CHECK(fd >= 0 && fstat(fd, &s) == 0 && is(&s, 1, 3) && s.st_ino == host.st_ino && write(fd, "x", 1) == 1 && close(fd) == 0);
    fd = syscall(SYS_openat2, at, name, &how, sizeof how);
    CHECK(fd >= 0 && fstat(fd, &s) == 0 && is(&s, 1, 3) && close(fd) == 0);
    CHECK(fstatat(at, name, &s, 0) == 0 && is(&s, 1, 3) && fstatat(at, name, &s, AT_SYMLINK_NOFOLLOW) == 0 && is(&s, 1, 3));
    CHECK(statx(at, name, 0, STATX_BASIC_STATS, &x) == 0 && x.stx_rdev_minor == 3 && x.stx_ino == host.st_ino);
    CHECK(faccessat(at, name, R_OK | W_OK, 0) == 0);
    FAILS(readlinkat(at, name, (char *)&x, sizeof x), EINVAL);
}

/* Names relative to an open directory are the host's where they are not the driver's. */
static void relative(void) {
    char name[64], text[64] = { 0 };
    struct stat s;
    struct statx x;
    int dev = open("/dev", O_RDONLY | O_DIRECTORY | O_CLOEXEC), fd;
    CHECK(dev >= 0);
    is_null(dev, "null"); is_null(dev, "./null"); is_null(dev, "../dev/null"); is_null(dev, "shm/../null");
    snprintf(name, sizeof name, "/proc/self/fd/%d/null", dev);
    is_null(AT_FDCWD, name);
    snprintf(name, sizeof name, "/dev/fd/%d/neuron1", dev);
    CHECK(stat(name, &s) == 0 && is_neuron(&s, 1));
    CHECK(fstatat(dev, "neuron1", &s, 0) == 0 && is_neuron(&s, 1) && fstatat(dev, "../dev/./neuron0", &s, 0) == 0 && is_neuron(&s, 0));
    CHECK(readlinkat(dev, "fd", text, sizeof text) == 13 && !strcmp(text, "/proc/self/fd"));
    FAILS(openat(dev, "neuron2", O_RDWR), ENOENT);
    FAILS(openat(dev, "no-such-name", O_RDWR), ENOENT);
    CHECK((fd = openat(dev, "neuron1", O_RDWR)) >= 0 && fstat(fd, &s) == 0 && is_neuron(&s, 1) && close(fd) == 0);
    CHECK(fchdir(dev) == 0 && getcwd(text, sizeof text) && !strcmp(text, "/dev"));
    is_null(AT_FDCWD, "null"); is_null(AT_FDCWD, "../dev/null");
    CHECK(stat("neuron1", &s) == 0 && is_neuron(&s, 1) && chdir("/") == 0);
    /* Directories of the host's above those of the driver, and the way back out of those. */
    const char *starts[] = { "/sys/class", "/sys/class/neuron_device", "/sys/class/neuron_device/neuron0", "/sys/module/neuron" };
    const char *loopback[] = { "net/lo/address", "../net/lo/address", "../../net/lo/address", "../../class/net/lo/address" };
    const char *driver[] = { "neuron_device/neuron1/dev", "neuron1/dev", "../neuron1/dev", "../../class/neuron_device/neuron1/dev" };
    for (int i = 0; i < 4; i++) {
        int at = open(starts[i], O_RDONLY | O_DIRECTORY);
        CHECK(at >= 0);
        for (int there = 0; there < 2; there++) { /* by the descriptor, and gone there */
            CHECK((fd = openat(at, loopback[i], O_RDONLY)) >= 0 && read(fd, text, 17) == 17 && !memcmp(text, "00:00:00", 8) && close(fd) == 0);
            CHECK((fd = openat(at, driver[i], O_RDONLY)) >= 0 && read(fd, text, 9) == 6 && !memcmp(text, "240:1\n", 6) && close(fd) == 0);
            CHECK(statx(at, driver[i], 0, STATX_BASIC_STATS, &x) == 0 && x.stx_mode == (S_IFREG | 0444));
            if (there) break;
            CHECK(fchdir(at) == 0 && close(at) == 0);
            at = AT_FDCWD;
        }
        CHECK(chdir("/") == 0);
    }
}

/* Finds a name in a directory; answers its kind. */
static int kind(DIR *all, const char *name) {
    int found = -1;
    for (struct dirent *entry; (entry = readdir(all));) if (!strcmp(entry->d_name, name)) { CHECK(found == -1); found = entry->d_type; }
    rewinddir(all);
    return found;
}

/* Listings: kinds, inode numbers, small buffers, positions, copies. */
static void listings(void) {
    struct stat s;
    DIR *dev = opendir("/dev");
    CHECK(dev && kind(dev, "neuron0") == DT_CHR && kind(dev, "neuron1") == DT_CHR && kind(dev, "neuron2") == -1);
    CHECK(kind(dev, "null") == DT_CHR && kind(dev, "fd") == DT_LNK && kind(dev, "shm") == DT_DIR && kind(dev, ".") == DT_DIR);
    long place = 0;
    int names = 0, after = 0;
    for (struct dirent *entry; (entry = readdir(dev)); names++) {
        if (!strcmp(entry->d_name, "neuron0")) { place = telldir(dev); after = names; CHECK(stat("/dev/neuron0", &s) == 0 && s.st_ino == entry->d_ino); }
    }
    seekdir(dev, place);
    for (int i = after + 1; i < names; i++) CHECK(readdir(dev));
    CHECK(place && !readdir(dev) && closedir(dev) == 0);
    /* A program with little room gets the same names. */
    int fd = open("/dev", O_RDONLY | O_DIRECTORY), calls[] = { SYS_getdents64, SYS_getdents };
    for (int i = 0; i < 2; i++) {
        unsigned char few[48];
        int seen = 0, neurons = 0, got;
        while ((got = syscall(calls[i], fd, few, sizeof few)) > 0)
            for (int at = 0; at < got; at += *(unsigned short *)(few + at + 16), seen++) {
                char *name = (char *)few + at + (i ? 18 : 19), type = i ? few[at + *(unsigned short *)(few + at + 16) - 1] : few[at + 18];
                if (!strncmp(name, "neuron", 6)) { neurons++; CHECK(type == DT_CHR); }
            }
        CHECK((got == 0 || errno == EINVAL) && neurons == 2 && (got < 0 || seen == names) && lseek(fd, 0, SEEK_SET) == 0);
    }
    FAILS(syscall(SYS_getdents64, fd, &s, 8), EINVAL);
    FAILS(syscall(SYS_getdents64, fd, (void *)8, 4096), EFAULT);
    int copy = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    DIR *copied = fdopendir(copy);
    CHECK(copied && kind(copied, "neuron1") == DT_CHR && closedir(copied) == 0 && close(fd) == 0);
    DIR *class = opendir("/sys/class"), *own = opendir("/sys/class/neuron_device"), *one = opendir("/sys/class/neuron_device/neuron1");
    CHECK(class && kind(class, "neuron_device") == DT_DIR && kind(class, "net") == DT_DIR);
    CHECK(own && kind(own, "neuron1") == DT_LNK && kind(own, "..") == DT_DIR && kind(own, "neuron2") == -1);
    CHECK(one && kind(one, "core_count") == DT_REG && kind(one, "neuron_core7") == DT_DIR && kind(one, "neuron_core8") == -1);
    CHECK(fstat(dirfd(one), &s) == 0 && s.st_nlink == 2 + 10 && S_ISDIR(s.st_mode)); /* info, stats, eight cores */
    DIR *module = opendir("/sys/module");
    CHECK(module && kind(module, "neuron") == DT_DIR && closedir(module) == 0 && closedir(class) == 0 && closedir(own) == 0 && closedir(one) == 0);
}

static int mode_of(const char *name) { char path[128]; struct stat s; snprintf(path, sizeof path, "/sys/class/neuron_device/neuron0/%s", name); return stat(path, &s) ? -1 : (int)s.st_mode; }

/* Modes, links and inode numbers of what the driver shows in /sys. */
static void attributes(void) {
    struct stat s, t;
    char text[128] = { 0 };
    CHECK(mode_of("reset") == (S_IFREG | 0600) && mode_of("core_count") == (S_IFREG | 0400) && mode_of("connected_devices") == (S_IFREG | 0400));
    CHECK(mode_of("info/serial_number") == (S_IFREG | 0444) && mode_of("info") == (S_IFDIR | 0755));
    const char *link = "/sys/class/neuron_device/neuron0", *path = "/sys/class/neuron_device/neuron0/core_count";
    CHECK(lstat(link, &s) == 0 && S_ISLNK(s.st_mode) && stat(link, &s) == 0 && S_ISDIR(s.st_mode));
    CHECK(readlink(link, text, sizeof text) == 43 && !strcmp(text, "../../devices/virtual/neuron_device/neuron0"));
    CHECK(realpath(path, text) && !strcmp(text, "/sys/devices/virtual/neuron_device/neuron0/core_count"));
    FAILS(open(link, O_RDONLY | O_NOFOLLOW), ELOOP);
    int fd = open(path, O_RDONLY);
    CHECK(fd >= 0 && fstat(fd, &s) == 0 && stat(path, &t) == 0 && s.st_ino == t.st_ino && s.st_dev == t.st_dev && s.st_mode == t.st_mode);
    char name[64];
    snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    memset(text, 0, sizeof text);
    CHECK(readlink(name, text, sizeof text) > 0 && !strcmp(text, "/sys/devices/virtual/neuron_device/neuron0/core_count"));
    FAILS(open(path, O_WRONLY), EACCES);
    FAILS(open("/sys/class/neuron_device/neuron0/core_count/", O_RDONLY), ENOTDIR);
    FAILS(open("/dev/neuron0/", O_RDWR), ENOTDIR);
    FAILS(open("/dev/neuron0/x", O_RDWR), ENOTDIR);
    FAILS(open("/dev/neuron00", O_RDWR), ENOENT);
    FAILS(getxattr("/dev/neuron0", "security.selinux", text, sizeof text), ENODATA);
    CHECK(listxattr(link, text, sizeof text) == 0);
}

/* chdir to directories that the host does not have. */
static void directories(void) {
    char text[256];
    struct stat s, t;
    CHECK(chdir("/sys/class/neuron_device") == 0 && getcwd(text, sizeof text) && !strcmp(text, "/sys/class/neuron_device"));
    memset(text, 0, sizeof text);
    CHECK(readlink("/proc/self/cwd", text, sizeof text) > 0 && !strcmp(text, "/sys/class/neuron_device"));
    int fd = open("neuron0/core_count", O_RDONLY);
    CHECK(fd >= 0 && read(fd, text, 4) == 1 && *text == '8' && close(fd) == 0);
    CHECK(chdir("neuron1") == 0 && getcwd(text, sizeof text) && !strcmp(text, "/sys/devices/virtual/neuron_device/neuron1"));
    CHECK(access("core_count", R_OK) == 0 && access("core_count", X_OK) == -1 && stat(".", &s) == 0 && stat("../neuron1", &t) == 0 && s.st_ino == t.st_ino);
    FAILS(syscall(SYS_getcwd, text, 5), ERANGE);
    FAILS(chdir("core_count"), ENOTDIR);
    FAILS(chdir("neuron_core9"), ENOENT);
    CHECK(chdir("..") == 0 && chdir("../..") == 0 && getcwd(text, sizeof text) && !strcmp(text, "/sys/devices"));
    CHECK(access("virtual/net/lo/address", R_OK) == 0 && access("virtual/neuron_device/neuron0/reset", F_OK) == 0);
    CHECK(chdir("../../etc") == 0 && access("passwd", R_OK) == 0 && chdir("/") == 0);
    int before = open("/dev/null", O_RDONLY), after;
    CHECK(chdir("/sys/module/neuron") == 0 && (after = open("/dev/null", O_RDONLY)) == before + 1); /* nothing is left open */
    int free = open("/sys/class/neuron_device", O_RDONLY | O_DIRECTORY), taken = dup(free);
    CHECK(free >= 0 && taken > free && !fcntl(taken, F_GETFD));
}

/* Other ways to a device. */
static void ways(const char *scratch) {
    char name[512], text[512];
    struct stat s;
    int fd, dev = open("/dev", O_RDONLY | O_DIRECTORY);
    CHECK(chdir(scratch) == 0);
    unlink("link"); unlink("chain"); unlink("dev"); unlink("class"); unlink("loop"); rmdir("\xff");
    CHECK(symlink("/dev/neuron1", "link") == 0 && symlink("link", "chain") == 0 && symlink("/dev", "dev") == 0 && symlink("/sys/class/neuron_device/neuron1", "class") == 0 && symlink("loop", "loop") == 0);
    CHECK((fd = open("link", O_RDWR)) >= 0 && fstat(fd, &s) == 0 && is_neuron(&s, 1) && close(fd) == 0);
    CHECK((fd = open("chain", O_RDWR)) >= 0 && close(fd) == 0 && stat("chain", &s) == 0 && is_neuron(&s, 1) && access("chain", R_OK | W_OK) == 0);
    snprintf(name, sizeof name, "%s/dev/neuron0", scratch);
    CHECK(stat(name, &s) == 0 && is_neuron(&s, 0) && stat("dev/neuron1", &s) == 0 && lstat("link", &s) == 0 && S_ISLNK(s.st_mode));
    CHECK(readlink("link", text, sizeof text) == 12 && !memcmp(text, "/dev/neuron1", 12));
    FAILS(open("link", O_RDWR | O_NOFOLLOW), ELOOP);
    FAILS(open("loop/../dev/neuron0", O_RDWR), ELOOP);
    CHECK(access("class/core_count", R_OK) == 0 && lstat("class/info", &s) == 0 && S_ISDIR(s.st_mode) && stat("class/info/serial_number", &s) == 0);
    FAILS(open("class/no/such", O_RDONLY), ENOENT);
    CHECK(chdir("class") == 0 && access("core_count", F_OK) == 0 && chdir(scratch) == 0);
    CHECK(mkdir("\xff", 0755) == 0 && (fd = open("\xff/../dev/neuron0", O_RDWR)) >= 0);
    snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    int again = open(name, O_RDWR); /* opens the device once more */
    CHECK(again >= 0 && fstat(again, &s) == 0 && is_neuron(&s, 0) && pread(again, text, 1, 0) == -1 && errno == EINVAL && close(again) == 0);
    snprintf(name, sizeof name, "/proc/%d/fd/%d", getpid(), fd);
    CHECK(stat(name, &s) == 0 && is_neuron(&s, 0) && stat("/proc/self/root/dev/neuron1", &s) == 0 && is_neuron(&s, 1));
    snprintf(name, sizeof name, "/proc/thread-self/cwd/dev/neuron1");
    CHECK(stat(name, &s) == 0 && is_neuron(&s, 1));
    /* Descriptors for the path only. */
    uint64_t pa[2];
    int before = dup(0);
    CHECK(close(before) == 0 && (again = open("/dev/neuron1", O_PATH | O_CLOEXEC)) >= 0 && (fcntl(again, F_GETFL) & O_PATH) && fcntl(again, F_GETFD) == FD_CLOEXEC);
    CHECK(fstat(again, &s) == 0 && is_neuron(&s, 1) && fstatat(again, "", &s, AT_EMPTY_PATH) == 0 && is_neuron(&s, 1));
    FAILS(ioctl(again, 0x80084E19, pa), EBADF);
    FAILS(read(again, text, 1), EBADF);
    snprintf(name, sizeof name, "/proc/self/fd/%d", again);
    memset(text, 0, sizeof text);
    CHECK(readlink(name, text, sizeof text) == 12 && !strcmp(text, "/dev/neuron1"));
    int full = open(name, O_RDWR);
    CHECK(full >= 0 && close(again) == 0 && ioctl(full, 0x80084E04, 0) == 0 && close(full) == 0);
    CHECK((again = open("link", O_PATH)) >= 0 && fcntl(again, F_GETFD) == 0 && fstat(again, &s) == 0 && is_neuron(&s, 1) && close(again) == 0);
    CHECK((again = open("class/core_count", O_PATH)) >= 0 && fstat(again, &s) == 0 && s.st_mode == (S_IFREG | 0400) && close(again) == 0);
    CHECK((again = open("class", O_PATH | O_DIRECTORY)) >= 0 && faccessat(again, "core_count", R_OK, 0) == 0 && close(again) == 0);
    CHECK((again = dup(0)) == before && close(again) == 0); /* nothing else is left open */
    /* openat2 and its limits. */
    struct open_how how = { .flags = O_RDWR, .resolve = RESOLVE_NO_SYMLINKS };
    CHECK((fd = syscall(SYS_openat2, dev, "neuron0", &how, sizeof how)) >= 0 && close(fd) == 0);
    FAILS(syscall(SYS_openat2, AT_FDCWD, "link", &how, sizeof how), ELOOP);
    how.resolve = RESOLVE_BENEATH;
    CHECK((fd = syscall(SYS_openat2, dev, "neuron0", &how, sizeof how)) >= 0 && close(fd) == 0);
    FAILS(syscall(SYS_openat2, dev, "/dev/neuron0", &how, sizeof how), EXDEV);
    FAILS(syscall(SYS_openat2, dev, "../dev/neuron0", &how, sizeof how), EXDEV);
    how.resolve = RESOLVE_IN_ROOT;
    CHECK((fd = syscall(SYS_openat2, dev, "/neuron0", &how, sizeof how)) >= 0 && fstat(fd, &s) == 0 && is_neuron(&s, 0) && close(fd) == 0);
    FAILS(syscall(SYS_openat2, dev, "/dev/neuron0", &how, sizeof how), ENOENT);
    FAILS(syscall(SYS_openat2, dev, "neuron0", &how, 8), EINVAL);
    FAILS(syscall(SYS_openat2, dev, "neuron0", (void *)8, sizeof how), EFAULT);
    FAILS(syscall(SYS_openat2, dev, "neuron0", 0, sizeof how), EFAULT);
}

/* Arguments that cannot be used, to every call that is looked at. */
static void wild(void) {
    void *bad = (void *)8;
    static char longest[1 << 16];
    struct stat s;
    memset(longest, '/', sizeof longest - 1);
    memcpy(longest + sizeof longest - 13, "/dev/neuron0", 13);
    char *slashes = longest + sizeof longest - 4096; /* the longest path there can be, and one that is longer by one byte */
    CHECK(strlen(slashes) == 4095 && stat(slashes, &s) == 0 && is_neuron(&s, 0));
    FAILS(stat(slashes - 1, &s), ENAMETOOLONG);
    FAILS(open(longest, O_RDWR), ENAMETOOLONG);
    FAILS(open(bad, O_RDWR), EFAULT);
    FAILS(openat(AT_FDCWD, bad, O_RDWR), EFAULT);
    FAILS(stat(bad, &s), EFAULT);
    FAILS(access(bad, R_OK), EFAULT);
    FAILS(chdir(bad), EFAULT);
    FAILS(readlink(bad, longest, 5), EFAULT);
    FAILS(syscall(SYS_stat, "/dev/neuron0", bad), EFAULT);
    FAILS(syscall(SYS_newfstatat, AT_FDCWD, "/dev/neuron0", bad, 0), EFAULT);
    FAILS(syscall(SYS_statx, AT_FDCWD, "/dev/neuron0", 0, STATX_BASIC_STATS, bad), EFAULT);
    FAILS(syscall(SYS_readlink, "/sys/class/neuron_device/neuron0", bad, 16), EFAULT);
    FAILS(syscall(SYS_readlink, "/sys/class/neuron_device/neuron0", longest, 0), EINVAL);
    CHECK(chdir("/sys/class/neuron_device") == 0);
    FAILS(syscall(SYS_getcwd, bad, 4096), EFAULT);
    CHECK(chdir("/") == 0);
    int fd = open("/dev/neuron0", O_RDWR);
    FAILS(syscall(SYS_fstat, fd, bad), EFAULT);
    FAILS(openat(12345, "neuron0", O_RDWR), EBADF);
    FAILS(openat(fd, "neuron0", O_RDWR), ENOTDIR);
    FAILS(open("", O_RDWR), ENOENT);
    /* A path that ends where memory ends. */
    char *page = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(munmap(page + 4096, 4096) == 0);
    CHECK((fd = open(memcpy(page + 4096 - 13, "/dev/neuron0", 13), O_RDWR)) >= 0 && close(fd) == 0);
    FAILS(open(memcpy(page + 4096 - 12, "/dev/neuron0", 12), O_RDWR), EFAULT);
    FAILS(syscall(SYS_execve, bad, 0, 0), EFAULT);
    FAILS(dup(-1), EBADF);
    FAILS(dup2(-1, 5), EBADF);
    FAILS(ioctl(-1, 0x80084E04, 0), EBADF);
    CHECK(mmap(0, 4096, PROT_READ, MAP_SHARED, -1, 0) == MAP_FAILED && errno == EBADF);
    CHECK(mremap(bad, 4096, 8192, 0) == MAP_FAILED && (errno == EFAULT || errno == EINVAL));
}

/* As another user than the one who runs the emulator. */
static void other(void) {
    CHECK(setresgid(65534, 65534, 65534) == 0 && setresuid(65534, 65534, 65534) == 0);
    FAILS(open("/sys/class/neuron_device/neuron0/core_count", O_RDONLY), EACCES);
    FAILS(access("/sys/class/neuron_device/neuron0/reset", R_OK), EACCES);
    CHECK(open("/sys/class/neuron_device/neuron0/info/serial_number", O_RDONLY) >= 0 && open("/dev/neuron0", O_RDWR) >= 0);
}

int main(int count, char **arguments) {
    CHECK(count > 1);
    char *name = arguments[1];
    if (!strcmp(name, "relative")) relative();
    else if (!strcmp(name, "listings")) listings();
    else if (!strcmp(name, "attributes")) attributes();
    else if (!strcmp(name, "directories")) directories();
    else if (!strcmp(name, "ways")) ways(arguments[2]);
    else if (!strcmp(name, "wild")) wild();
    else if (!strcmp(name, "other")) other();
    else return 2;
    return 0;
}
