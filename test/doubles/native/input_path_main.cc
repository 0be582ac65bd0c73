// SPDX-License-Identifier: Apache-2.0
// Prints the input rule of a device given by the command line: integrated (0 or 1), major, minor, registers, maps (0 or
// 1).
#include <cstdio>
#include <cstdlib>

#include "../../../cuda/gpu/input_path.h"

int main(int argc, char** argv) {
  using namespace depthwatt::gpu;
  if (argc < 6) return 2;
  DeviceFacts facts;
  facts.integrated = std::atoi(argv[1]) != 0;
  facts.major = std::atoi(argv[2]), facts.minor = std::atoi(argv[3]);
  facts.registersHostMemory = std::atoi(argv[4]) != 0;
  facts.mapsHostMemory = std::atoi(argv[5]) != 0;
  const InputRule rule = chooseInputRule(facts);
  const char* const first = rule.userMemory == depthwatt::InputPath::kUserPointer  ? "user pointer"
                            : rule.userMemory == depthwatt::InputPath::kPinnedCopy ? "pinned copy"
                                                                                   : "copy";
  std::printf("%s, %s%s\n", rule.boards, first, rule.importsDmaBuffers ? ", dma-buf" : "");
}
