// SPDX-License-Identifier: Apache-2.0
// Replaces libFuzzer where it is missing: feeds a target with the files of a corpus, damaged by a seed. Arguments:
// seconds, seed, files. Prints how often it called the target.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

int main(int count, char** words) {
  if (count < 4) return 2;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(std::atoi(words[1]));
  std::mt19937 random(static_cast<unsigned>(std::atol(words[2])));
  std::vector<std::vector<uint8_t>> corpus;
  for (int i = 3; i < count; ++i) {
    std::ifstream file(words[i], std::ios::binary);
    corpus.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  for (const auto& whole : corpus) LLVMFuzzerTestOneInput(whole.data(), whole.size());
  size_t calls = corpus.size();
  while (std::chrono::steady_clock::now() < end) {
    for (int batch = 0; batch < 50; ++batch, ++calls) {
      std::vector<uint8_t> input = corpus[random() % corpus.size()];
      for (unsigned changes = random() % 6; changes > 0 && !input.empty(); --changes) {
        const size_t at = random() % input.size();
        switch (random() % 4) {
          case 0: input[at] ^= static_cast<uint8_t>(1u << random() % 8); break;
          case 1: input[at] = static_cast<uint8_t>(random()); break;
          case 2: input.resize(at); break;
          default: input.insert(input.begin() + static_cast<long>(at), static_cast<uint8_t>(random()));
        }
      }
      LLVMFuzzerTestOneInput(input.data(), input.size());
    }
  }
  std::printf("%zu calls\n", calls);
  return 0;
}
