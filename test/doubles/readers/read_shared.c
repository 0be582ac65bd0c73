// SPDX-License-Identifier: Apache-2.0
// Reads shared frames as a program in C99 or C++17 would: prints number, sum of the body and whether the frame is intact.
#include "depthwatt_shared.h"
#ifdef __cplusplus
#include "depthwatt_frame.h"
#endif

int main(int count, char **words) {
  depthwatt_shared reader;
  depthwatt_shared_frame frame;
  char error[200];
  (void)count;
  if (depthwatt_shared_open(&reader, words[1], DEPTHWATT_DEPTH, 5000, error, sizeof error) != 0) {
    printf("%s\n", error);
    return 1;
  }
  while (depthwatt_shared_wait(&reader, 5000, &frame) >= 0) {
    uint64_t sum = 0;
    size_t at, header;
    if (frame.message == NULL) continue;
    header = (size_t)frame.message[6] + 256 * (size_t)frame.message[7];
#ifdef __cplusplus
    depthwatt::Frame parsed;
    if (depthwatt::parseFrame(frame.message, frame.bytes, parsed, depthwatt::Integrity::sequence) != depthwatt::Fault::none) return 2;
#endif
    for (at = header; at + 1 < frame.bytes; at += 2) sum += frame.message[at] + 256u * frame.message[at + 1];
    printf("%u %llu %s\n", depthwatt_shared_u32(frame.message + 28), (unsigned long long)sum,
           depthwatt_shared_intact(&frame) ? "True" : "False");
    fflush(stdout);
  }
  printf("end\n");
  depthwatt_shared_close(&reader);
  return 0;
}
