// SPDX-License-Identifier: Apache-2.0
// Compares every kernel stage with its reference, bit for bit, on random cases: twins_main [cases] [seed] [--small]
// [--sms N]; --sms uses only N multiprocessors. Prints the first mismatch with its place and exits with 1. Part of
// check.sh.
#include <algorithm>
#include <cstring>

#include "../match/select/select.h"
#include "../match/cost/gradient_census/gradient_census.h"
#include "../match/cost/two_gradient_census/two_gradient_census.h"
#include "../match/cost/wide_census/wide_census.h"
#include "../prepare/half/half.h"
#include "../refine/left_right/left_right.h"
#include "../refine/median/median.h"
#include "../refine/upscale/upscale.h"
#include "../match/cost/census/census_gpu.h"
#include "../match/cost/gradient_census/gradient_census_gpu.h"
#include "../match/cost/two_gradient_census/two_gradient_census_gpu.h"
#include "../match/cost/wide_census/wide_census_gpu.h"
#include "../output/depth/depth_gpu.h"
#include "../prepare/half/half_gpu.h"
#include "../rectify/rectify_gpu.h"
#include "../refine/median/median_gpu.h"
#include "../refine/speckle/speckle_gpu.h"
#include "../refine/upscale/upscale_gpu.h"
#include "../match/sgm/sgm_workspace.h"
#include "twins_baselines.h"
#include "twins_cbca.h"
#include "twins_exponential.h"
#include "twins_floor.h"
#include "twins_points.h"
#include "twins_prepare.h"
#include "twins_registration.h"
#include "twins_refine.h"
#include "twins_rvl.h"
#include "twins_sgm.h"
#include "twins_voxels.h"
#include "twins_window.h"
#ifdef __CUDACC__
#include "bench_partition.h"
#endif

using namespace depthwatt;

namespace {

void checkCensus(const Case& c, const std::vector<uint8_t>& left, const std::vector<uint8_t>& right) {
  const std::vector<uint8_t>* images[2] = {&left, &right};
  DeviceBuffer<uint8_t> in[2];
  DeviceBuffer<uint32_t> out[2];
  for (int side = 0; side < 2; ++side) {
    upload(in[side], *images[side]);
    require(out[side].allocate(left.size()), "census");
  }
  require(gpu::census(in[0].get(), in[1].get(), out[0].get(), out[1].get(), c.width, c.height, nullptr), "census");
  for (int side = 0; side < 2; ++side) {
    std::vector<uint32_t> expected(left.size());
    censusReference<uint8_t>(packedView(images[side]->data(), c.width, c.height),
                             packedView(expected.data(), c.width, c.height));
    expectSame(expected, fetched(out[side]), c.width, "census " + c.name);

    gradientCensusReference(packedView(images[side]->data(), c.width, c.height),
                            packedView(expected.data(), c.width, c.height));
    require(gpu::gradientCensus(in[side].get(), out[side].get(), c.width, c.height, nullptr), "gradient census");
    expectSame(expected, fetched(out[side]), c.width, "gradient census " + c.name);
  }
  DeviceBuffer<uint32_t> more[2];
  for (DeviceBuffer<uint32_t>& words : more) require(words.allocate(left.size()), "wide census");
  require(gpu::wideCensus(in[0].get(), in[1].get(), out[0].get(), more[0].get(), out[1].get(), more[1].get(), c.width,
                          c.height, nullptr),
          "wide census");
  for (int side = 0; side < 2; ++side) {
    std::vector<uint32_t> first(left.size()), second(left.size());
    wideCensusReference(packedView(images[side]->data(), c.width, c.height),
                        packedView(first.data(), c.width, c.height), packedView(second.data(), c.width, c.height));
    expectSame(first, fetched(out[side]), c.width, "wide census, first word, " + c.name);
    expectSame(second, fetched(more[side]), c.width, "wide census, second word, " + c.name);
  }
  require(gpu::twoGradientCensus(in[0].get(), in[1].get(), out[0].get(), out[1].get(), c.width, c.height, nullptr),
          "two-gradient census");
  for (int side = 0; side < 2; ++side) {
    std::vector<uint32_t> expected(left.size());
    twoGradientCensusReference(packedView(images[side]->data(), c.width, c.height),
                               packedView(expected.data(), c.width, c.height));
    expectSame(expected, fetched(out[side]), c.width, "two-gradient census " + c.name);
  }
}

/// Checks halving, and doubling of a map with invalid pixels, steps across the threshold and every border.
void checkHalfAndUpscale(Random& random, const Case& c, const std::vector<uint8_t>& grey) {
  const int width = halfSide(c.width), height = halfSide(c.height);
  const size_t pixels = static_cast<size_t>(width) * height;
  std::vector<uint8_t> expected(pixels), confidence(pixels), doubledConfidence(grey.size());
  std::vector<int16_t> map(pixels), doubled(grey.size());
  random.fill(confidence, 0, 255);
  for (int16_t& value : map) {
    value = random.whole(0, 4) == 0
                ? kInvalidDisparity
                : static_cast<int16_t>(random.whole(0, 1) == 0 ? random.whole(0, 120) : random.whole(0, 16383));
  }
  const std::vector<uint8_t> other(grey.rbegin(), grey.rend());
  DeviceBuffer<uint8_t> dGrey, dOther, dHalf, dOtherHalf, dConfidence, dDoubledConfidence;
  DeviceBuffer<int16_t> dMap, dDoubled;
  upload(dGrey, grey);
  upload(dConfidence, confidence);
  upload(dMap, map);
  upload(dOther, other);
  require(dHalf.allocate(pixels), "half");
  require(dOtherHalf.allocate(pixels), "half");
  require(dDoubled.allocate(grey.size()), "upscale");
  require(dDoubledConfidence.allocate(grey.size()), "upscale");
  halfReference(packedView(grey.data(), c.width, c.height), packedView(expected.data(), width, height));
  require(gpu::half(dGrey.get(), dOther.get(), dHalf.get(), dOtherHalf.get(), c.width, c.height, nullptr), "half");
  expectSame(expected, fetched(dHalf), width, "half " + c.name);
  halfReference(packedView(other.data(), c.width, c.height), packedView(expected.data(), width, height));
  expectSame(expected, fetched(dOtherHalf), width, "half, right image, " + c.name);

  const int threshold = random.whole(0, 100);
  upscaleReference(threshold, packedView(grey.data(), c.width, c.height),
                   packedView<const int16_t>(map.data(), width, height), packedView(doubled.data(), c.width, c.height));
  upscaleConfidence(packedView<const uint8_t>(confidence.data(), width, height),
                    packedView(doubledConfidence.data(), c.width, c.height), 0, c.height);
  require(gpu::upscale(threshold, dGrey.get(), dMap.get(), dConfidence.get(), dDoubled.get(), dDoubledConfidence.get(),
                       c.width, c.height, nullptr),
          "upscale");
  expectSame(doubled, fetched(dDoubled), c.width, "upscale " + c.name);
  expectSame(doubledConfidence, fetched(dDoubledConfidence), c.width, "upscale confidence " + c.name);
}

SgmParameters randomParameters(Random& random, bool small) {
  SgmParameters p;
  p.minDisparity = random.whole(0, 3) == 0 ? random.whole(1, 40) : 0;
  p.numDisparities = random.whole(0, 3) == 0 ? random.whole(8, small ? 80 : 512) : random.whole(8, 130);
  const int paths[] = {2, 4, 8};
  p.paths = paths[random.whole(0, 2)];
  p.p2 = random.whole(0, 2) == 0 ? random.whole(1, kMaxP2) : random.whole(1, 127);
  p.p1 = random.whole(1, p.p2);
  p.adaptiveP2 = random.whole(0, 2) == 0 ? random.whole(1, 255) : 0;
  p.uniqueness = random.whole(0, 1) == 0 ? random.whole(1, 99) : 0;
  p.subpixel = random.whole(0, 3) != 0;
  p.words = random.whole(1, 2);
  p.outsideCost = random.whole(0, 1) == 0 ? random.whole(0, kNeverOutside - 1) : kNeverOutside;
  return p;
}

std::string describe(const SgmParameters& p) {
  char text[200];
  std::snprintf(text, sizeof text,
                "words %d min %d num %d paths %d p1 %d p2 %d adaptiveP2 %d uniqueness %d subpixel %d outside %d",
                p.words, p.minDisparity, p.numDisparities, p.paths, p.p1, p.p2, p.adaptiveP2, p.uniqueness, p.subpixel,
                p.outsideCost);
  return text;
}

void checkMatching(Random& random, const Case& c, const std::vector<uint8_t>& left, const std::vector<uint8_t>& right,
                   const SgmParameters& p) {
  const int width = c.width, height = c.height;
  const size_t pixels = left.size();
  std::vector<uint32_t> censusLeft(pixels), censusRight(pixels);
  censusReference<uint8_t>(packedView(left.data(), width, height), packedView(censusLeft.data(), width, height));
  censusReference<uint8_t>(packedView(right.data(), width, height), packedView(censusRight.data(), width, height));
  std::vector<uint32_t> moreLeft(pixels), moreRight(pixels);
  if (p.words == 2) {
    wideCensusReference(packedView(left.data(), width, height), packedView(censusLeft.data(), width, height),
                        packedView(moreLeft.data(), width, height));
    wideCensusReference(packedView(right.data(), width, height), packedView(censusRight.data(), width, height),
                        packedView(moreRight.data(), width, height));
  }
  std::vector<uint16_t> sums(pixels * p.numDisparities);
  std::vector<int16_t> q4(pixels), whole(pixels), rightWinner(pixels);
  std::vector<uint8_t> confidence(pixels);
  SgmImages images;
  images.censusLeft = packedView<const uint32_t>(censusLeft.data(), width, height);
  images.censusRight = packedView<const uint32_t>(censusRight.data(), width, height);
  images.moreLeft = packedView<const uint32_t>(moreLeft.data(), width, height);
  images.moreRight = packedView<const uint32_t>(moreRight.data(), width, height);
  images.greyLeft = packedView(left.data(), width, height);
  const SgmResult result = {packedView(q4.data(), width, height), packedView(whole.data(), width, height),
                            packedView(rightWinner.data(), width, height),
                            packedView(confidence.data(), width, height)};
  sgmSumsReference(p, images, sums.data());
  selectReference(p, sums.data(), result);
  const bool leftRight = random.whole(0, 1) != 0;
  if (leftRight) {
    leftRightReference({packedView<const int16_t>(whole.data(), width, height),
                        packedView<const int16_t>(rightWinner.data(), width, height),
                        packedView(q4.data(), width, height), packedView(confidence.data(), width, height)});
  }

  DeviceBuffer<uint32_t> dCensusLeft, dCensusRight, dMoreLeft, dMoreRight;
  DeviceBuffer<uint8_t> dGrey, dConfidence;
  DeviceBuffer<int16_t> dQ4, dWhole, dRight, dMedian;
  upload(dCensusLeft, censusLeft);
  upload(dCensusRight, censusRight);
  upload(dMoreLeft, moreLeft);
  upload(dMoreRight, moreRight);
  upload(dGrey, left);
  for (DeviceBuffer<int16_t>* buffer : {&dQ4, &dWhole, &dRight, &dMedian}) require(buffer->allocate(pixels), "results");
  require(dConfidence.allocate(pixels), "results");
  gpu::SgmWorkspace sgm;
  const std::string what = c.name + " " + describe(p);
  gpu::SgmTuning tuning;
  tuning.rowLanes = 8 << 2 * random.whole(0, 1);
  tuning.columnLanes = 8 << 2 * random.whole(0, 1);
  tuning.separateSelection = random.whole(0, 4) == 0;
  tuning.parallel = random.whole(-1, 1);
  tuning.oneForDiagonals = random.whole(-1, 1);
  tuning.costsApart = random.whole(0, 3) == 0;
  tuning.longKeys = random.whole(0, 3) == 0;
  const bool wantsRight = random.whole(0, 3) != 0;
  require(sgm.open(p, width, height, tuning), "open " + what);
  require(
      sgm.compute(dCensusLeft.get(), dCensusRight.get(), dGrey.get(), leftRight, dQ4.get(), dWhole.get(),
                  wantsRight ? dRight.get() : nullptr, dConfidence.get(), nullptr, dMoreLeft.get(), dMoreRight.get()),
      "compute " + what);
  require(cudaStatus(cudaDeviceSynchronize(), "matching"), what);
  expectSame(whole, fetched(dWhole), width, "sgm winner, " + what);
  expectSame(q4, fetched(dQ4), width, "sgm disparityQ4, " + what);
  if (wantsRight) expectSame(rightWinner, fetched(dRight), width, "sgm right winner, " + what);
  expectSame(confidence, fetched(dConfidence), width, "sgm confidence, " + what);

  std::vector<int16_t> filtered(pixels);
  medianReference(packedView<const int16_t>(q4.data(), width, height), packedView(filtered.data(), width, height));
  require(gpu::median(dQ4.get(), dMedian.get(), width, height, nullptr), "median");
  expectSame(filtered, fetched(dMedian), width, "median " + what);

  const SpeckleParameters speckle = {random.whole(0, 40), random.whole(0, 40)};
  speckleReference(speckle, packedView(filtered.data(), width, height), packedView(confidence.data(), width, height));
  DeviceBuffer<int32_t> scratch;
  require(scratch.allocate(2 * pixels), "speckle");
  require(gpu::speckle(speckle, dMedian.get(), dConfidence.get(), scratch.get(), width, height, nullptr), "speckle");
  expectSame(filtered, fetched(dMedian), width, "speckle " + what);
  expectSame(confidence, fetched(dConfidence), width, "speckle confidence " + what);

  DepthGeometry geometry;
  geometry.focalPixels = random.whole(100, 4000) / 3.0;
  geometry.baselineMetres = random.whole(10, 900) / 1000.0;
  geometry.disparityOffsetPixels = random.whole(-20, 40) / 7.0;
  std::vector<uint16_t> millimetres(pixels);
  depthMillimetresReference(geometry, packedView<const int16_t>(filtered.data(), width, height),
                            packedView(millimetres.data(), width, height));
  DeviceBuffer<uint16_t> dMillimetres;
  require(dMillimetres.allocate(pixels), "depth");
  require(gpu::depthMillimetres(geometry, dMedian.get(), dMillimetres.get(), width, height, nullptr), "depth");
  expectSame(millimetres, fetched(dMillimetres), width, "depth " + what);
}

void checkRectify(Random& random, const Case& c) {
  for (int number = 0; number <= static_cast<int>(PixelFormat::kBayerBggr12P); ++number) {
    const auto format = static_cast<PixelFormat>(number);
    RectifySource source;
    source.width = 2 * random.whole(1, 40);
    source.height = 2 * random.whole(1, 30);
    source.strideBytes = static_cast<size_t>(4 * source.width + 2 * random.whole(0, 9));
    source.format = format;
    source.blackLevel = random.whole(0, 3) == 0 ? random.whole(1, 255) : 0;
    std::vector<uint8_t> bytes(source.strideBytes * source.height * 2);
    random.fill(bytes, 0, 255);
    std::vector<int32_t> map(static_cast<size_t>(2) * c.width * c.height);
    for (size_t i = 0; i < map.size(); i += 2) {
      map[i] = random.whole(-64, 32 * source.width + 64);
      map[i + 1] = random.whole(-64, 32 * source.height + 64);
    }
    std::vector<uint8_t> expected(static_cast<size_t>(c.width) * c.height);
    source.data = bytes.data();
    rectifyReference(source, map.data(), packedView(expected.data(), c.width, c.height));
    DeviceBuffer<uint8_t> in, out;
    DeviceBuffer<int32_t> places;
    upload(in, bytes);
    upload(places, map);
    require(out.allocate(expected.size()), "rectify");
    source.data = in.get();
    require(gpu::rectify(source, places.get(), out.get(), c.width, c.height, nullptr), "rectify");
    expectSame(expected, fetched(out), c.width,
               "rectify format " + std::to_string(static_cast<int>(format)) + " " + c.name);

    std::vector<uint8_t> converted(static_cast<size_t>(source.width) * source.height);
    source.data = bytes.data();
    rectifyReference(source, nullptr, packedView(converted.data(), source.width, source.height));
    DeviceBuffer<uint8_t> plain;
    require(plain.allocate(converted.size()), "convert");
    source.data = in.get();
    require(gpu::rectify(source, nullptr, plain.get(), source.width, source.height, nullptr), "convert");
    expectSame(converted, fetched(plain), source.width, "convert format " + std::to_string(static_cast<int>(format)));
    if (!hasColours(format)) continue;
    source.data = bytes.data();
    const auto flat = [](const std::vector<Rgb8>& pixels) {
      std::vector<int> values;
      for (const Rgb8& pixel : pixels) values.insert(values.end(), {pixel.red, pixel.green, pixel.blue});
      return values;
    };
    // @param offset of the image from a multiple of its words' size
    const auto colourTwins = [&](bool mapped, int32_t width, int32_t height, int offset) {
      std::vector<Rgb8> colours(static_cast<size_t>(width) * height);
      source.data = bytes.data() + offset;
      rectifyRgbReference(source, mapped ? map.data() : nullptr, packedView(colours.data(), width, height));
      DeviceBuffer<Rgb8> out;
      require(out.allocate(colours.size()), "colours");
      source.data = in.get() + offset;
      require(gpu::rectifyRgb(source, mapped ? places.get() : nullptr, out.get(), width, height, nullptr), "colours");
      const std::string what = "colours of format " + std::to_string(static_cast<int>(format));
      expectSame(flat(colours), flat(fetched(out)), 3 * width, mapped ? what + " " + c.name : what);
    };
    colourTwins(true, c.width, c.height, 0);
    colourTwins(false, source.width, source.height, 0);
    if (format >= PixelFormat::kBayerRggb8) colourTwins(true, c.width, c.height, 1);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const int cases = argc > 1 ? std::atoi(argv[1]) : 1000;
  const unsigned seed = argc > 2 ? static_cast<unsigned>(std::strtoul(argv[2], nullptr, 10)) : std::random_device{}();
  bool small = false;
  int sms = 0;
  for (int i = 3; i < argc; ++i) {
    if (std::strcmp(argv[i], "--small") == 0) small = true;
    if (std::strcmp(argv[i], "--sms") == 0 && i + 1 < argc) sms = std::atoi(argv[++i]);
  }
#ifdef __CUDACC__
  if (sms > 0) enterPartition(sms);
#endif
  std::printf("twins: %d cases, seed %u, multiprocessors %d (0 = all)\n", cases, seed, sms);
  Random random;
  random.engine.seed(seed);
  checkRefinedShapes(random);
  for (int i = 0; i < cases; ++i) {
    Case c;
    c.width = random.whole(0, 9) == 0 && !small ? random.whole(68, 700) : random.whole(1, 67);
    c.height = random.whole(1, small ? 12 : 40);
    const bool large = !small && i >= cases - 4;  // two of each
    if (large) c.width = i % 2 == 0 ? 1242 : 1920, c.height = i % 2 == 0 ? 375 : 1080;
    c.name = std::to_string(c.width) + "x" + std::to_string(c.height) + " case " + std::to_string(i);
    std::vector<uint8_t> left(static_cast<size_t>(c.width) * c.height), right(left.size());
    const int kind = random.whole(0, 3);  // noise, two levels, saturated, shifted
    random.fill(left, kind == 2 ? 255 : 0, kind == 1 ? 1 : 255);
    random.fill(right, kind == 2 ? 255 : 0, kind == 1 ? 1 : 255);
    if (kind == 3) {
      const int shift = random.whole(0, 30);
      for (int y = 0; y < c.height; ++y) {
        for (int x = 0; x + shift < c.width; ++x) right[y * c.width + x] = left[y * c.width + x + shift];
      }
    }
    checkSmooth(random, c, left, right);
    checkAverage(random, c, left, right);
    checkCensus(c, left, right);
    checkRefinement(random, c, left, random.whole(0, kDisparityKinds - 1));
    checkHalfAndUpscale(random, c, left);
    checkTemporal(random, c, left);
    SgmParameters parameters = randomParameters(random, small);
    if (large) parameters.numDisparities = std::min(parameters.numDisparities, 70);
    checkMatching(random, c, left, right, parameters);
    if (!large) {  // their references add up every sum separately
      checkSgmMatcher(random, c, left, right, small);
      if (i % 4 == 0) checkSgmBaselines(random, c, left, right);
      checkCross(random, c, left, right, small);
      checkCbca(random, c, left, right);
      checkExponential(random, c, left, right);
      checkSad(random, c);
      checkPyramid(random, c);
    }
    checkRvl(random, left.size());
    checkPoints(random, c);
    checkRegistration(random, c);
    checkFloor(random, c);
    checkVoxels(random, c);
    // Enough blocks that summaries are searched in several rounds.
    if (i % 16 == 0 && !small) checkRvl(random, static_cast<size_t>(random.whole(270000, 600000)));
    if (i % 8 == 0) checkRectify(random, c);
  }
  std::printf("twins: %d cases equal bit for bit\n", cases);
  return 0;
}
