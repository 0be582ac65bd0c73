// SPDX-License-Identifier: Apache-2.0
// Preloaded into a test process: while THREADS_LEFT is set, so many threads start, and each further one is refused with
// the error of a system that has no more. Setting another value counts anew.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

static atomic_long limit_seen = -1;
static atomic_long left;

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*start)(void*), void* argument) {
  static int (*next)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  if (next == NULL) next = (int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*))dlsym(RTLD_NEXT, "pthread_create");
  const char* text = getenv("THREADS_LEFT");
  const long limit = text == NULL ? -1 : atol(text);
  if (atomic_exchange(&limit_seen, limit) != limit) atomic_store(&left, limit);
  if (limit >= 0 && atomic_fetch_sub(&left, 1) <= 0) return EAGAIN;
  return next(thread, attributes, start, argument);
}
