// SPDX-License-Identifier: Apache-2.0
// Chooses the search of sgm where match.sgm.search is auto, from measured times.
#include <string>

#include "search_gains.h"
#include "sgm.h"
#include "sgm_task.h"

namespace depthwatt {
namespace {

/// Returns the measured case with the largest gain that the task gains at least as much as. Null: there is none.
const SearchGain* findGain(const MatchTask& task, const MatchDevice& device) {
  const int64_t pixels = int64_t{task.width} * task.height;
  const SearchGain* found = nullptr;
  for (const SearchGain& gain : kSearchGains) {
    const bool applies = device.instructionSet == gain.instructionSet &&
                         device.multiprocessors <= gain.multiprocessors && task.matcher.at("paths") == gain.paths &&
                         pixels >= int64_t{gain.width} * gain.height &&
                         task.search.numDisparities >= gain.numDisparities;
    if (applies && (found == nullptr || gain.percent > found->percent)) found = &gain;
  }
  return found;
}

std::string inTimes(int32_t percent) {
  const std::string hundredths = std::to_string(100 + percent % 100).substr(1);
  return std::to_string(percent / 100) + "." + hundredths + " times";
}

std::string caseName(const char* instructionSet, int32_t multiprocessors, int32_t width, int32_t height,
                     int32_t numDisparities) {
  return std::to_string(width) + "x" + std::to_string(height) + " with " + std::to_string(numDisparities) +
         " disparities on " + instructionSet +
         (multiprocessors > 0 ? " with " + std::to_string(multiprocessors) + " multiprocessors" : "");
}

}  // namespace

SearchChoice chooseSgmSearch(MatchTask* task, const MatchDevice& device) {
  const int32_t set = task->matcher.at("search");
  const auto choose = [&](int32_t value, const std::string& reason) -> SearchChoice {
    task->matcher.set("search", value);
    return {value == kCoarseToFine ? "coarseToFine" : "full", reason};
  };
  if (set == kFullSearch) return choose(kFullSearch, "match.sgm.search is set to full");
  if (task->search.numDisparities <= kFullRange) {
    return choose(kFullSearch, "up to " + std::to_string(kFullRange) + " disparities are always searched completely");
  }
  if (set == kCoarseToFine) return choose(kCoarseToFine, "match.sgm.search is set to coarseToFine");
  const SgmParameters parameters = sgmParametersFrom(*task);
  if (parameters.paths > 4) return choose(kFullSearch, "coarse-to-fine search needs 2 or 4 paths");
  if (parameters.p2 > kMaxGuidedP2) {
    return choose(kFullSearch, "coarse-to-fine search needs a p2 of at most " + std::to_string(kMaxGuidedP2));
  }
  if (const SearchGain* gain = findGain(*task, device)) {
    return choose(kCoarseToFine, "measured " + inTimes(gain->percent) + " as fast at " +
                                     caseName(gain->instructionSet, gain->multiprocessors, gain->width, gain->height,
                                              gain->numDisparities));
  }
  return choose(kFullSearch, "no measurement shows coarseToFine " + inTimes(kLeastSearchGain) + " as fast at " +
                                 caseName(device.instructionSet.c_str(), device.multiprocessors, task->width,
                                          task->height, task->search.numDisparities));
}

}  // namespace depthwatt
