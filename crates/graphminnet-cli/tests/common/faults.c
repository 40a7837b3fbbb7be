// Lets one call that writes to a disk fail, or kills the process at it. Loaded into the command by LD_PRELOAD.
//
//   FAULT_AT    which call, counted from 1; nothing happens without it
//   FAULT_KIND  ENOSPC, EIO: the call fails; KILL: killed before it; TORN: killed after half of what it writes
//   FAULT_LOG   a file that gets a line for every call

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

static atomic_long calls;
static long chosen;
static int code, kills, tears, logged = -1;

__attribute__((constructor)) static void start(void) {
    const char *at = getenv("FAULT_AT"), *kind = getenv("FAULT_KIND"), *path = getenv("FAULT_LOG");
    chosen = at ? atol(at) : 0;
    code = kind && !strcmp(kind, "EIO") ? EIO : ENOSPC;
    tears = kind && !strcmp(kind, "TORN");
    kills = tears || (kind && !strcmp(kind, "KILL"));
    if (path)
        logged = (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
}

// Whether this call is the chosen one and has to fail.
static int fails(const char *name, const char *path) {
    long number = atomic_fetch_add(&calls, 1) + 1;
    char line[4400];
    int length = snprintf(line, sizeof line, "%ld %s %s\n", number, name, path);
    if (logged >= 0)
        syscall(SYS_write, logged, line, (size_t)length < sizeof line ? (size_t)length : sizeof line - 1);
    if (number != chosen)
        return 0;
    if (kills && !tears)
        syscall(SYS_kill, getpid(), SIGKILL);
    errno = code;
    return 1;
}

// The same for an open file; pipes, terminals and the like are no disk.
static int fails_at(const char *name, int file) {
    struct stat about;
    char link[64], path[4097];
    if (fstat(file, &about) || !(S_ISREG(about.st_mode) || S_ISDIR(about.st_mode)))
        return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, sizeof path - 1);
    path[length > 0 ? length : 0] = 0;
    return fails(name, path);
}

// The library's own function, looked up once.
#define REAL(type, name, ...)                                                                                          \
    static type (*real)(__VA_ARGS__);                                                                                  \
    if (!real)                                                                                                         \
        real = (type(*)(__VA_ARGS__))dlsym(RTLD_NEXT, name)

#define FILE_CALL(type, name, parameters, arguments, ...)                                                              \
    type name parameters {                                                                                             \
        REAL(type, #name, __VA_ARGS__);                                                                                \
        return fails_at(#name, file) ? -1 : real arguments;                                                            \
    }

#define PATH_CALL(name, parameters, arguments, path, ...)                                                              \
    int name parameters {                                                                                              \
        REAL(int, #name, __VA_ARGS__);                                                                                 \
        return fails(#name, path) ? -1 : real arguments;                                                               \
    }

#define WRITE_CALL(name, parameters, arguments, half, ...)                                                             \
    ssize_t name parameters {                                                                                          \
        REAL(ssize_t, #name, __VA_ARGS__);                                                                             \
        if (!fails_at(#name, file))                                                                                    \
            return real arguments;                                                                                     \
        if (tears) {                                                                                                   \
            real half;                                                                                                 \
            syscall(SYS_kill, getpid(), SIGKILL);                                                                      \
        }                                                                                                              \
        return -1;                                                                                                     \
    }

WRITE_CALL(write, (int file, const void *bytes, size_t count), (file, bytes, count), (file, bytes, count / 2), int,
           const void *, size_t)
WRITE_CALL(pwrite64, (int file, const void *bytes, size_t count, off64_t at), (file, bytes, count, at),
           (file, bytes, count / 2, at), int, const void *, size_t, off64_t)
FILE_CALL(ssize_t, writev, (int file, const struct iovec *parts, int count), (file, parts, count), int,
          const struct iovec *, int)
FILE_CALL(int, fsync, (int file), (file), int)
FILE_CALL(int, fdatasync, (int file), (file), int)
FILE_CALL(int, ftruncate64, (int file, off64_t length), (file, length), int, off64_t)
FILE_CALL(int, fallocate64, (int file, int mode, off64_t at, off64_t length), (file, mode, at, length), int, int,
          off64_t, off64_t)

ssize_t copy_file_range(int from, off64_t *from_at, int file, off64_t *at, size_t count, unsigned flags) {
    REAL(ssize_t, "copy_file_range", int, off64_t *, int, off64_t *, size_t, unsigned);
    return fails_at("copy_file_range", file) ? -1 : real(from, from_at, file, at, count, flags);
}

PATH_CALL(rename, (const char *from, const char *to), (from, to), to, const char *, const char *)
PATH_CALL(link, (const char *from, const char *to), (from, to), to, const char *, const char *)
PATH_CALL(linkat, (int a, const char *from, int b, const char *to, int flags), (a, from, b, to, flags), to, int,
          const char *, int, const char *, int)
PATH_CALL(mkdir, (const char *path, mode_t mode), (path, mode), path, const char *, mode_t)
PATH_CALL(unlink, (const char *path), (path), path, const char *)
PATH_CALL(unlinkat, (int folder, const char *path, int flags), (folder, path, flags), path, int, const char *, int)
PATH_CALL(rmdir, (const char *path), (path), path, const char *)

// A file that is opened to be made.
static mode_t mode_of(int flags, va_list rest) { return flags & O_CREAT ? (mode_t)va_arg(rest, int) : 0; }

int open64(const char *path, int flags, ...) {
    REAL(int, "open64", const char *, int, ...);
    va_list rest;
    va_start(rest, flags);
    mode_t mode = mode_of(flags, rest);
    va_end(rest);
    return flags & O_CREAT && fails("create", path) ? -1 : real(path, flags, mode);
}
