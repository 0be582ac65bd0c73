// SPDX-License-Identifier: Apache-2.0
// Reads shared frames and prints for each one the microseconds from the complete frame, and from the publisher's call, to this
// program. bench/run/shared-memory.mjs starts it.
#include "depthwatt_shared.h"

int main(int count, char **words) {
  depthwatt_shared reader;
  depthwatt_shared_frame frame;
  char error[200];
  if (count != 2 || depthwatt_shared_open(&reader, words[1], DEPTHWATT_DEPTH, 5000, error, sizeof error) != 0) return 1;
  while (depthwatt_shared_wait(&reader, 5000, &frame) >= 0) {
    struct timespec now;
    uint64_t ns;
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (frame.message == NULL) continue;
    ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    printf("%.1f %.1f\n", (double)(ns - frame.published_ns) / 1e3, (double)(ns - depthwatt_shared_u64(frame.message + 32)) / 1e3);
    fflush(stdout);
  }
  depthwatt_shared_close(&reader);
  return 0;
}
