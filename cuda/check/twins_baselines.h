// SPDX-License-Identifier: Apache-2.0
// Compares the kernels of baselines/ with the references of the stages that they are twins of.
#pragma once

#include <cstring>

#include "../match/cost/census/census.h"
#include "../match/select/select.h"
#include "../match/sgm/sgm.h"
#include "baselines/exponential_baseline.h"
#include "baselines/pyramid_baseline.h"
#include "baselines/sgm_baseline.h"
#include "twins.h"

namespace depthwatt {

/// Returns the winners that every form of semi-global matching has to give.
inline std::vector<int16_t> baselineWinners(const SgmParameters& p, const std::vector<uint8_t>& left,
                                            const std::vector<uint8_t>& right, int width, int height) {
  std::vector<uint32_t> censusLeft(left.size()), censusRight(left.size());
  censusReference<uint8_t>(packedView(left.data(), width, height), packedView(censusLeft.data(), width, height));
  censusReference<uint8_t>(packedView(right.data(), width, height), packedView(censusRight.data(), width, height));
  SgmImages images;
  images.censusLeft = packedView<const uint32_t>(censusLeft.data(), width, height);
  images.censusRight = packedView<const uint32_t>(censusRight.data(), width, height);
  std::vector<uint16_t> sums(left.size() * p.numDisparities);
  std::vector<int16_t> q4(left.size()), whole(left.size());
  sgmSumsReference(p, images, sums.data());
  selectReference(p, sums.data(),
                  {packedView(q4.data(), width, height), packedView(whole.data(), width, height), {}, {}});
  return whole;
}

inline void checkSgmBaselines(Random& random, const Case& c, const std::vector<uint8_t>& left,
                              const std::vector<uint8_t>& right) {
  const int paths[] = {2, 4, 8};
  SgmParameters p;
  p.numDisparities = random.whole(0, 1) == 0 ? 128 : random.whole(8, 160);
  p.paths = paths[random.whole(0, 2)];
  p.p2 = random.whole(1, random.whole(0, 1) == 0 ? 90 : 127);
  p.p1 = random.whole(1, random.whole(0, 1) == 0 ? std::min(p.p2, 6) : p.p2);
  p.subpixel = false, p.uniqueness = 0, p.outsideCost = kNeverOutside;
  const std::vector<int16_t> expected = baselineWinners(p, left, right, c.width, c.height);
  DeviceBuffer<uint8_t> dLeft, dRight;
  DeviceBuffer<int16_t> dWhole;
  upload(dLeft, left);
  upload(dRight, right);
  require(dWhole.allocate(left.size()), "baseline");
  for (const gpu::baseline::SgmForm form : gpu::baseline::kSgmForms) {
    if (!gpu::baseline::sgmFormSuits(form, p)) continue;
    gpu::baseline::SgmBaseline baseline;
    const std::string what = std::string("baseline of sgm, ") + gpu::baseline::sgmFormName(form) + ", " + c.name +
                             " num " + std::to_string(p.numDisparities) + " paths " + std::to_string(p.paths) + " p1 " +
                             std::to_string(p.p1) + " p2 " + std::to_string(p.p2);
    require(baseline.open(form, p, c.width, c.height), what);
    require(baseline.compute(dLeft.get(), dRight.get(), dWhole.get(), nullptr), what);
    require(cudaStatus(cudaDeviceSynchronize(), "matching"), what);
    expectSame(expected, fetched(dWhole), c.width, what);
  }
}

/// @param left, right in device memory
inline void checkPyramidBaselines(const Case& c, const PyramidParameters& p, const HsvPixel* left,
                                  const HsvPixel* right, const std::vector<int16_t>& expected) {
  DeviceBuffer<int16_t> dWhole;
  require(dWhole.allocate(expected.size()), "baseline");
  for (const gpu::baseline::PyramidForm form : gpu::baseline::kPyramidForms) {
    if (!gpu::baseline::pyramidFormSuits(form, p)) continue;
    gpu::baseline::PyramidBaseline baseline;
    const std::string what = std::string("baseline, ") + gpu::baseline::pyramidFormName(form) + ", " + c.name;
    require(baseline.open(form, p, c.width, c.height), what);
    require(baseline.compute(left, right, dWhole.get(), nullptr), what);
    require(cudaStatus(cudaDeviceSynchronize(), "matching"), what);
    expectSame(expected, fetched(dWhole), c.width, what);
  }
}

/// @param p without messages
inline void checkExponentialBaselines(Random& random, const Case& c, const ExponentialParameters& p,
                                      const std::vector<uint8_t>& left, const std::vector<uint8_t>& right,
                                      const std::vector<Rgb8>& rgb, const std::vector<int16_t>& expected) {
  DeviceBuffer<uint8_t> dLeft, dRight;
  DeviceBuffer<Rgb8> dRgb;
  DeviceBuffer<int16_t> dWhole;
  upload(dLeft, left);
  upload(dRight, right);
  upload(dRgb, rgb);
  require(dWhole.allocate(left.size()), "baseline");
  const gpu::baseline::BlockSize block = {32 << random.whole(0, 2), 1 << random.whole(0, 2)};
  for (const gpu::baseline::ExponentialForm form : gpu::baseline::kExponentialForms) {
    gpu::baseline::ExponentialBaseline baseline;
    const std::string what = std::string("baseline, ") + gpu::baseline::exponentialFormName(form) + ", " + c.name;
    require(baseline.open(form, block, p, c.width, c.height), what);
    require(baseline.compute(dLeft.get(), dRight.get(), dRgb.get(), dWhole.get(), nullptr), what);
    require(cudaStatus(cudaDeviceSynchronize(), "matching"), what);
    expectSame(expected, fetched(dWhole), c.width, what);
  }
}

}  // namespace depthwatt
