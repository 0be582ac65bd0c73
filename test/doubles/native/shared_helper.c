/* SPDX-License-Identifier: Apache-2.0
 * A helper that delivers frames through its memory (docs/guides/commands-as-cameras.md), and breaks the rules if it is told to.
 *
 *   shared_helper MODE: good, overwrites, early, shrinks, dies, beyond, huge; pairs and wrong with disparity
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { WIDTH = 32, HEIGHT = 16, BYTES = WIDTH * HEIGHT, SLOTS = 2, RING = 4096, SLOT = 4096, AT = 64 };

static unsigned char* memory;

/* Bytes of a frame: one image with both sides, or two with disparity (two bytes each) and confidence. */
static size_t bytes = BYTES;

static void put(size_t at, uint64_t value, size_t bytes) { memcpy(memory + at, &value, bytes); }

static _Atomic uint64_t* sequence_of(uint64_t number) {
  return (_Atomic uint64_t*)(void*)(memory + RING + (number - 1) % SLOTS * SLOT);
}

/* Writes half of a frame; `finish` completes it. */
static void begin(uint64_t number) {
  const size_t slot = RING + (number - 1) % SLOTS * SLOT;
  atomic_store_explicit(sequence_of(number), 2 * number + 1, memory_order_relaxed);
  atomic_thread_fence(memory_order_release);
  put(slot + 16, AT, 4);
  put(slot + 20, bytes, 4);
  memset(memory + slot + AT, (int)number, BYTES / 2);
}

static void finish(uint64_t number) {
  memset(memory + RING + (number - 1) % SLOTS * SLOT + AT + BYTES / 2, (int)number, BYTES / 2);
  atomic_store_explicit(sequence_of(number), 2 * number, memory_order_release);
}

/* Writes left, right, disparity and confidence: number, number + 1, `disparity` and number + 2. */
static void write_pair(uint64_t number, int disparity) {
  unsigned char* frame = memory + RING + (number - 1) % SLOTS * SLOT + AT;
  int i;
  begin(number);
  memset(frame, (int)number, BYTES);
  memset(frame + BYTES, (int)number + 1, BYTES);
  for (i = 0; i < BYTES; ++i) {
    frame[2 * BYTES + 2 * i] = (unsigned char)(disparity & 255);
    frame[2 * BYTES + 2 * i + 1] = (unsigned char)(disparity >> 8 & 255);
  }
  memset(frame + 4 * BYTES, (int)number + 2, BYTES);
  atomic_store_explicit(sequence_of(number), 2 * number, memory_order_release);
}

static void announce(uint64_t number) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  printf("FRAME XTIME=%lld XSEQ=%llu XFRAME=%llu\n", (long long)now.tv_sec * 1000000000 + now.tv_nsec,
         (unsigned long long)(100 + number), (unsigned long long)number);
  fflush(stdout);
}

int main(int count, char** words) {
  const char* mode = count > 1 ? words[1] : "good";
  const int wrong = strcmp(mode, "wrong") == 0, pairs = wrong || strcmp(mode, "pairs") == 0;
  const int file = memfd_create("frames", MFD_CLOEXEC);
  uint64_t number;
  if (file < 0 || ftruncate(file, RING + SLOTS * SLOT) != 0) return 1;
  memory = mmap(NULL, RING + SLOTS * SLOT, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (memory == MAP_FAILED) return 1;
  memcpy(memory, "DWRG\1\0", 6);
  put(8, strcmp(mode, "beyond") == 0 ? SLOTS + 1 : SLOTS, 4);
  put(16, strcmp(mode, "huge") == 0 ? UINT64_MAX - 7 : SLOT, 8);
  if (pairs) bytes = 5 * BYTES;
  printf("%s W%d H%d F30:1 %sXCLOCK=monotonic XMEMORY=/proc/%d/fd/%d\n", pairs ? "DEPTHWATT-PAIRS" : "YUV4MPEG2", WIDTH,
         HEIGHT, pairs ? "" : "Cmono ", (int)getpid(), file);
  fflush(stdout);
  if (strcmp(mode, "overwrites") == 0) {
    for (number = 1; number <= 6; ++number) {
      begin(number);
      finish(number);
    }
    for (number = 1; number <= 6; ++number) announce(number);
    for (;;) pause();
  }
  for (number = 1; pairs; ++number) {
    write_pair(number, wrong && number == 3 ? -5 : 160 + (int)(number & 63));
    announce(number);
    usleep(20000);
  }
  for (number = 1;; ++number) {
    begin(number);
    if (strcmp(mode, "dies") == 0 && number == 3) raise(SIGKILL);
    if (strcmp(mode, "early") == 0 && number == 3) {
      atomic_store(sequence_of(number), 0);
      announce(number);
      pause();
    }
    finish(number);
    if (strcmp(mode, "shrinks") == 0 && number == 3 && ftruncate(file, RING) != 0) return 1;
    announce(number);
    usleep(20000);
  }
}
