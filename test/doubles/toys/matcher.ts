// SPDX-License-Identifier: Apache-2.0
// A toy matcher: its folder and one line in cuda/match/matchers.h. It reads colours and finds a disparity where the left pixel is
// red.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { TreeCopy } from "../tree-copy.js";

const DESCRIPTION = "Disparity of red pixels.";

const CPU = `// SPDX-License-Identifier: Apache-2.0
// The toy on the CPU.
#include "../matcher.h"

namespace depthwatt {
namespace {

constexpr Setting kParameters[] = {wholeNumber("red", 1, 7, 5, "px", "${DESCRIPTION}")};
constexpr MatcherFacts kFacts = {"toy", "red or not", ImagesNeeded::kGreyAndRgb, false, kParameters, 1,
                                 {nullptr, 0, 0, nullptr, 4}, nullptr};

class Toy final : public CpuMatcher {
 public:
  explicit Toy(const MatchTask& task) : red_(task.matcher.at("red")) {}
  void compute(const MatcherImages& images, const MatcherResult& result) override {
    for (int32_t y = 0; y < images.leftRgb.height; ++y) {
      for (int32_t x = 0; x < images.leftRgb.width; ++x) {
        const Rgb8 pixel = images.leftRgb.row(y)[x];
        const bool red = pixel.red > 200 && pixel.green < 60 && pixel.blue < 60;
        result.disparityQ4.row(y)[x] = static_cast<int16_t>(red ? 16 * red_ : 0);
        result.confidence.row(y)[x] = 255;
      }
    }
  }
  size_t workspaceBytes() const override { return 0; }

 private:
  const int32_t red_;
};

}  // namespace

const MatcherFacts& toyFacts() { return kFacts; }

Status openToyOnCpu(const MatchTask& task, InstructionSet, Workers&, std::unique_ptr<CpuMatcher>* opened) {
  opened->reset(new Toy(task));
  return {};
}

}  // namespace depthwatt
`;

export function addMatcher(tree: TreeCopy): void {
  tree.put("cuda/match/toy/toy.cpu.cc", CPU);
  const last = / {2}MATCHER\(\w+, \w+\)\n/.exec(
    readFileSync(join(tree.root, "cuda/match/matchers.h"), "utf8"),
  )![0];
  tree.replace("cuda/match/matchers.h", last, `${last.trimEnd()} \\\n  MATCHER(toy, Toy)\n`);
}
