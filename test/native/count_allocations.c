// SPDX-License-Identifier: Apache-2.0
// Preloaded by test/integration/allocations.test.ts: counts heap allocations on depthwatt's native threads (named
// "dw-...") and on the cameras' ("v4l2-camera") in a file that the test maps and reads. Counting by thread excludes the
// JavaScript engine, which allocates at any time.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

extern void* __libc_malloc(size_t);
extern void* __libc_calloc(size_t, size_t);
extern void* __libc_realloc(void*, size_t);
extern void* __libc_memalign(size_t, size_t);

static _Atomic uint64_t* counter;

__attribute__((constructor)) static void open_counter(void) {
  const char* path = getenv("ALLOCATION_COUNT_FILE");
  if (path == NULL) return;
  const int file = open(path, O_RDWR | O_CREAT, 0600);
  if (file < 0 || ftruncate(file, sizeof(uint64_t)) != 0) return;
  void* mapped = mmap(NULL, sizeof(uint64_t), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (mapped != MAP_FAILED) counter = mapped;
}

// Read again each time: a thread gets its name after its first allocations.
static void count(void) {
  char name[16] = "";
  if (counter == NULL || prctl(PR_GET_NAME, name) != 0) return;
  if (strncmp(name, "dw-", 3) == 0 || strcmp(name, "v4l2-camera") == 0) atomic_fetch_add(counter, 1);
}

void* malloc(size_t bytes) {
  count();
  return __libc_malloc(bytes);
}

void* calloc(size_t items, size_t bytes) {
  count();
  return __libc_calloc(items, bytes);
}

void* realloc(void* old, size_t bytes) {
  count();
  return __libc_realloc(old, bytes);
}

void* memalign(size_t alignment, size_t bytes) {
  count();
  return __libc_memalign(alignment, bytes);
}

void* aligned_alloc(size_t alignment, size_t bytes) { return memalign(alignment, bytes); }

int posix_memalign(void** out, size_t alignment, size_t bytes) {
  *out = memalign(alignment, bytes);
  return *out == NULL ? 12 : 0;
}
