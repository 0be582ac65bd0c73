// SPDX-License-Identifier: Apache-2.0
// Preloaded into a test process: shifts its real time by the seconds in the file CLOCK_SHIFT_FILE (8 bytes,
// little-endian), which the test writes while the process runs, so that the clock jumps. Monotonic time does not
// change.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static int64_t shift(void) {
  static volatile int64_t* seconds;
  static int tried;
  if (!tried) {
    tried = 1;
    const char* path = getenv("CLOCK_SHIFT_FILE");
    const int fd = path == NULL ? -1 : open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
      void* memory = mmap(NULL, sizeof(int64_t), PROT_READ, MAP_SHARED, fd, 0);
      if (memory != MAP_FAILED) seconds = memory;
      close(fd);
    }
  }
  return seconds == NULL ? 0 : *seconds;
}

int clock_gettime(clockid_t clock, struct timespec* now) {
  static int (*next)(clockid_t, struct timespec*);
  if (next == NULL) next = (int (*)(clockid_t, struct timespec*))dlsym(RTLD_NEXT, "clock_gettime");
  const int result = next(clock, now);
  if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) now->tv_sec += shift();
  return result;
}

int gettimeofday(struct timeval* restrict now, void* restrict zone) {
  static int (*next)(struct timeval*, void*);
  if (next == NULL) next = (int (*)(struct timeval*, void*))dlsym(RTLD_NEXT, "gettimeofday");
  const int result = next(now, zone);
  if (result == 0) now->tv_sec += shift();
  return result;
}

time_t time(time_t* out) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (out != NULL) *out = now.tv_sec;
  return now.tv_sec;
}
