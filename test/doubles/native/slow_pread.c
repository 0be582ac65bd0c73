// SPDX-License-Identifier: Apache-2.0
// Preloaded into a test process: every pread of a power file waits like a slow I2C bus (SLOW_WAIT_US) and uses CPU time
// in the kernel like a bus driver (SLOW_KERNEL_US).
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

static long microseconds(const char* name) {
  const char* text = getenv(name);
  return text == NULL ? 0 : atol(text);
}

/// CPU time, not wall time: on a busy machine the thread waits, which costs no CPU time.
static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return t.tv_sec * 1e6 + t.tv_nsec * 1e-3;
}

ssize_t pread64(int fd, void* data, size_t bytes, off_t offset) {
  static ssize_t (*next)(int, void*, size_t, off_t);
  if (next == NULL) next = (ssize_t(*)(int, void*, size_t, off_t))dlsym(RTLD_NEXT, "pread64");
  char link[32] = "/proc/self/fd/";
  char target[256];
  char digits[12];
  int n = 0;
  for (int rest = fd; rest > 0 || n == 0; rest /= 10) digits[n++] = (char)('0' + rest % 10);
  for (size_t at = strlen(link); n > 0; ++at) link[at] = digits[--n];
  const ssize_t length = readlink(link, target, sizeof target - 1);
  if (length > 0) target[length] = '\0';
  if (length > 0 && strstr(target, "depthwatt-tree-") != NULL) {
    usleep((useconds_t)microseconds("SLOW_WAIT_US"));
    static char noise[4096];
    const double end = now() + (double)microseconds("SLOW_KERNEL_US");
    while (now() < end) {
      if (getrandom(noise, sizeof noise, 0) < 0) break;
    }
  }
  return next(fd, data, bytes, offset);
}

ssize_t pread(int fd, void* data, size_t bytes, off_t offset) { return pread64(fd, data, bytes, offset); }
