// SPDX-License-Identifier: Apache-2.0
// Preloaded into a test process: flock fails with the error FLOCK_ERRNO, and adjtimex gives the answer ADJTIMEX, which
// is its return value, status, maxerror, esterror and tai, or a return value of -1 and an error. Each is the system's
// while its variable is not set.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/timex.h>

int flock(int descriptor, int operation) {
  static int (*next)(int, int);
  if (next == NULL) next = (int (*)(int, int))dlsym(RTLD_NEXT, "flock");
  const char* text = getenv("FLOCK_ERRNO");
  if (text == NULL) return next(descriptor, operation);
  errno = atoi(text);
  return -1;
}

int adjtimex(struct timex* clock) {
  static int (*next)(struct timex*);
  if (next == NULL) next = (int (*)(struct timex*))dlsym(RTLD_NEXT, "adjtimex");
  const char* text = getenv("ADJTIMEX");
  if (text == NULL) return next(clock);
  int state, status, tai;
  long max, estimated;
  const int values = sscanf(text, "%d %d %ld %ld %d", &state, &status, &max, &estimated, &tai);
  if (values == 2) {
    errno = status;
    return state;
  }
  clock->status = status;
  clock->maxerror = max;
  clock->esterror = estimated;
  clock->tai = tai;
  return state;
}
