// SPDX-License-Identifier: Apache-2.0
// Compiles clients/cpp/depthwatt_frame.h as on a 32-bit host, with sizes of 32 bits. Prints its result for each message
// ([u32 length][bytes] ...) of a file.
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <limits>
#include <vector>

#define size_t uint32_t
#include "../../../clients/cpp/depthwatt_frame.h"
#undef size_t

int main(int, char** words) {
  std::FILE* file = std::fopen(words[1], "rb");
  if (file == nullptr) return 2;
  uint32_t bytes = 0;
  while (std::fread(&bytes, 4, 1, file) == 1) {
    std::vector<uint8_t> message(bytes);
    if (std::fread(message.data(), 1, bytes, file) != bytes) return 3;
    depthwatt::Frame frame;
    std::puts(depthwatt::describe(depthwatt::parseFrame(message.data(), bytes, frame)));
  }
  std::fclose(file);
  return 0;
}
