/* Preloaded into a process, lets one of its calls that change files fail: the n-th of those below a folder.

   Each is written to a log, a line each: its number, the call, its path, and "failed" where it was the one. A failed
   write has written the first half of what it was given, as a disk may that fails on the way; any other call that fails
   has done nothing. Nothing is counted before `fail_at`. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static char below[PATH_MAX];
static size_t below_length;
static int log_file = -1, failure;
static long failing;
static atomic_long calls;

/* From now on, calls below `folder` are counted from 1 and logged in `log`; call `number` fails with `error`. */
void fail_at(const char *folder, const char *log, long number, int error) {
  below_length = 0;
  if (log_file >= 0) syscall(SYS_close, log_file);
  log_file = syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  failing = number, failure = error;
  atomic_store(&calls, 0);
  strncpy(below, folder, sizeof below - 1);
  below_length = strlen(below);
}

/* Whether this call fails; `errno` is then set. */
static int fails(const char *call, const char *path) {
  if (!below_length || strncmp(path, below, below_length) != 0) return 0;
  long number = atomic_fetch_add(&calls, 1) + 1;
  int failed = number == failing;
  char line[PATH_MAX + 64];
  int length = snprintf(line, sizeof line, "%ld %s%s %s\n", number, call, failed ? " failed" : "", path + below_length);
  int before = errno;
  syscall(SYS_write, log_file, line, length);
  errno = failed ? failure : before;
  return failed;
}

static int fails_at(const char *call, int folder, const char *path) {
  char whole[PATH_MAX * 2] = "", link[64];
  if (!below_length || !path) return 0;
  if (path[0] == '/') return fails(call, path);
  int before = errno;
  snprintf(link, sizeof link, folder == AT_FDCWD ? "/proc/self/cwd" : "/proc/self/fd/%d", folder);
  ssize_t length = syscall(SYS_readlinkat, AT_FDCWD, link, whole, PATH_MAX - 1);
  errno = before;
  if (length < 0) return 0;
  snprintf(whole + length, PATH_MAX, "/%s", path);
  return fails(call, whole);
}

static int fails_of(const char *call, int file) {
  char path[PATH_MAX] = "", link[64];
  if (!below_length) return 0;
  int before = errno;
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  ssize_t length = syscall(SYS_readlinkat, AT_FDCWD, link, path, PATH_MAX - 1);
  errno = before;
  return length < 0 ? 0 : fails(call, path);
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
#define WRITES(flags) (((flags) & O_ACCMODE) != O_RDONLY || ((flags) & O_CREAT))

#define OPENED(name)                                                    \
  int name(const char *path, int flags, ...) {                          \
    va_list rest;                                                       \
    va_start(rest, flags);                                              \
    mode_t mode = va_arg(rest, mode_t);                                 \
    va_end(rest);                                                       \
    if (WRITES(flags) && fails_at("open", AT_FDCWD, path)) return -1;   \
    return REAL(name)(path, flags, mode);                               \
  }
OPENED(open)
OPENED(open64)

#define OPENED_AT(name)                                                 \
  int name(int folder, const char *path, int flags, ...) {              \
    va_list rest;                                                       \
    va_start(rest, flags);                                              \
    mode_t mode = va_arg(rest, mode_t);                                 \
    va_end(rest);                                                       \
    if (WRITES(flags) && fails_at("open", folder, path)) return -1;     \
    return REAL(name)(folder, path, flags, mode);                       \
  }
OPENED_AT(openat)
OPENED_AT(openat64)

#define OF_A_PATH(name, call, type, declared, path, ...)                \
  type name declared {                                                  \
    if (fails_at(call, AT_FDCWD, path)) return (type)-1;                \
    return REAL(name)(__VA_ARGS__);                                     \
  }
#define AT_A_PATH(name, call, declared, folder, path, ...)              \
  int name declared {                                                   \
    if (fails_at(call, folder, path)) return -1;                        \
    return REAL(name)(__VA_ARGS__);                                     \
  }
OF_A_PATH(creat, "open", int, (const char *path, mode_t mode), path, path, mode)
OF_A_PATH(creat64, "open", int, (const char *path, mode_t mode), path, path, mode)
OF_A_PATH(mkdir, "mkdir", int, (const char *path, mode_t mode), path, path, mode)
AT_A_PATH(mkdirat, "mkdir", (int folder, const char *path, mode_t mode), folder, path, folder, path, mode)
OF_A_PATH(unlink, "unlink", int, (const char *path), path, path)
AT_A_PATH(unlinkat, "unlink", (int folder, const char *path, int flags), folder, path, folder, path, flags)
OF_A_PATH(rmdir, "unlink", int, (const char *path), path, path)
OF_A_PATH(remove, "unlink", int, (const char *path), path, path)
OF_A_PATH(rename, "rename", int, (const char *from, const char *to), to, from, to)
AT_A_PATH(renameat, "rename", (int a, const char *from, int b, const char *to), b, to, a, from, b, to)
AT_A_PATH(renameat2, "rename", (int a, const char *from, int b, const char *to, unsigned flags), b, to, a, from, b, to,
          flags)
OF_A_PATH(truncate, "write", int, (const char *path, off_t size), path, path, size)
OF_A_PATH(truncate64, "write", int, (const char *path, off64_t size), path, path, size)

FILE *fopen(const char *path, const char *mode) {
  return strpbrk(mode, "wa+") && fails_at("open", AT_FDCWD, path) ? NULL : REAL(fopen)(path, mode);
}
FILE *fopen64(const char *path, const char *mode) {
  return strpbrk(mode, "wa+") && fails_at("open", AT_FDCWD, path) ? NULL : REAL(fopen64)(path, mode);
}

#define OF_A_FILE(name, call, type, declared, file, half, ...)          \
  type name declared {                                                  \
    if (fails_of(call, file)) {                                         \
      int error = errno;                                                \
      half;                                                             \
      errno = error;                                                    \
      return (type)-1;                                                  \
    }                                                                   \
    return REAL(name)(__VA_ARGS__);                                     \
  }
OF_A_FILE(write, "write", ssize_t, (int file, const void *bytes, size_t size), file,
          syscall(SYS_write, file, bytes, size / 2), file, bytes, size)
OF_A_FILE(pwrite, "write", ssize_t, (int file, const void *bytes, size_t size, off_t at), file,
          syscall(SYS_pwrite64, file, bytes, size / 2, at), file, bytes, size, at)
OF_A_FILE(pwrite64, "write", ssize_t, (int file, const void *bytes, size_t size, off64_t at), file,
          syscall(SYS_pwrite64, file, bytes, size / 2, at), file, bytes, size, at)
OF_A_FILE(writev, "write", ssize_t, (int file, const struct iovec *parts, int count), file, , file, parts, count)
OF_A_FILE(sendfile, "write", ssize_t, (int file, int from, off_t *at, size_t size), file, , file, from, at, size)
OF_A_FILE(sendfile64, "write", ssize_t, (int file, int from, off64_t *at, size_t size), file, , file, from, at, size)
OF_A_FILE(copy_file_range, "write", ssize_t,
          (int from, off64_t *at, int file, off64_t *to, size_t size, unsigned flags), file, , from, at, file, to, size,
          flags)
OF_A_FILE(ftruncate, "write", int, (int file, off_t size), file, , file, size)
OF_A_FILE(ftruncate64, "write", int, (int file, off64_t size), file, , file, size)
OF_A_FILE(fallocate, "write", int, (int file, int mode, off_t at, off_t size), file, , file, mode, at, size)
OF_A_FILE(posix_fallocate, "write", int, (int file, off_t at, off_t size), file, , file, at, size)
OF_A_FILE(fsync, "fsync", int, (int file), file, , file)
OF_A_FILE(fdatasync, "fsync", int, (int file), file, , file)
