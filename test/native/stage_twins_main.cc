// SPDX-License-Identifier: Apache-2.0
// Compares the stages of rectification, refinement and the matcher cbca with their references, without Node, so that a
// foreign CPU's form can be tested alone: stage_twins ISA SEED. Prints one line per stage; exits with 1 at the first
// mismatch.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "build/generated/vector_code.h"
#include "cuda/simd/kernels.h"
#include "cuda/refine/fill/fill.h"
#include "cuda/refine/slant/slant.h"
#include "cuda/refine/speckle/speckle.h"
#include "cuda/output/voxels/voxels.h"

using namespace depthwatt;

namespace {

struct Random {
  uint32_t state;
  int32_t whole(int32_t low, int32_t high) {
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    return low + static_cast<int32_t>(state % static_cast<uint32_t>(high - low + 1));
  }
};

template <class T>
struct Image {
  int32_t width, height;
  std::vector<T> data;
  Image(int32_t w, int32_t h) : width(w), height(h), data(static_cast<size_t>(w) * h) {}
  ImageView<T> view() { return packedView(data.data(), width, height); }
  ImageView<const T> in() { return view().asConst(); }
};

template <class T>
void expectSame(const char* stage, const Image<T>& expected, const Image<T>& got) {
  for (size_t i = 0; i < expected.data.size(); ++i) {
    if (std::memcmp(&expected.data[i], &got.data[i], sizeof(T)) == 0) continue;
    std::printf("%s: first mismatch at x %zu, y %zu of %dx%d\n", stage, i % expected.width, i / expected.width,
                expected.width, expected.height);
    std::exit(1);
  }
}

Image<uint8_t> grey(Random& random, int32_t width, int32_t height) {
  Image<uint8_t> image(width, height);
  const int32_t low = random.whole(0, 200);
  for (uint8_t& value : image.data) value = static_cast<uint8_t>(random.whole(low, low + random.whole(0, 1) * 50 + 5));
  return image;
}

Image<int16_t> disparities(Random& random, int32_t width, int32_t height) {
  Image<int16_t> image(width, height);
  for (size_t i = 0; i < image.data.size(); ++i) {
    const int32_t kind = random.whole(0, 9);
    image.data[i] = static_cast<int16_t>(kind == 0 || i == 0 ? random.whole(0, 2000)
                                         : kind == 1         ? static_cast<int32_t>(kInvalidDisparity)
                                                             : image.data[i - 1]);
  }
  return image;
}

void stages(InstructionSet set, Random& random, int32_t width, int32_t height) {
  Workers workers(random.whole(1, 3));
  Image<uint8_t> left = grey(random, width, height), right = grey(random, width, height);
  Image<int16_t> q4 = disparities(random, width, height), expected(width, height), got(width, height);

  medianReference(q4.in(), expected.view());
  kernelsFor<MedianKernels>(set).median(q4.in(), got.view(), 0, height);
  expectSame("median", expected, got);

  boundaryReference(left.in(), q4.in(), expected.view());
  kernelsFor<BoundaryKernels>(set).boundary(left.in(), q4.in(), got.view(), 0, height);
  expectSame("boundary", expected, got);

  slantReference(left.in(), q4.in(), expected.view());
  kernelsFor<SlantKernels>(set).slant(left.in(), q4.in(), got.view(), 0, height);
  expectSame("slant", expected, got);

  Image<uint32_t> words(width, height), fastWords(width, height);
  gradientCensusReference(left.in(), words.view());
  kernelsFor<GradientCensusKernels>(set).gradientCensus(left.in(), fastWords.view(), 0, height);
  expectSame("gradient_census", words, fastWords);
  twoGradientCensusReference(left.in(), words.view());
  kernelsFor<TwoGradientCensusKernels>(set).twoGradientCensus(left.in(), fastWords.view(), 0, height);
  expectSame("two_gradient_census", words, fastWords);
  Image<uint32_t> more(width, height), fastMore(width, height);
  wideCensusReference(left.in(), words.view(), more.view());
  kernelsFor<WideCensusKernels>(set).wideCensus(left.in(), fastWords.view(), fastMore.view(), 0, height);
  expectSame("wide_census", words, fastWords);
  expectSame("wide_census, second word", more, fastMore);

  const auto counts = std::make_unique<NoiseCounts>(), fastCounts = std::make_unique<NoiseCounts>();
  countNoiseReference(left.in(), *counts);
  kernelsFor<DenoiseKernels>(set).countNoise(left.in(), *fastCounts);
  if (noiseSigmaQ8Reference(*counts) != noiseSigmaQ8(*fastCounts)) std::printf("noise differs\n"), std::exit(1);
  Image<uint8_t> smoothed(width, height), fastSmoothed(width, height);
  smoothReference(left.in(), smoothed.view());
  kernelsFor<DenoiseKernels>(set).smooth(left.in(), fastSmoothed.view(), 0, height);
  expectSame("denoise", smoothed, fastSmoothed);
  Image<uint8_t> filtered(width, height), fastFiltered(width, height);
  const int32_t range = random.whole(1, kMaxSmoothRange);
  bilateralReference(left.in(), smoothed.in(), range, filtered.view());
  kernelsFor<DenoiseKernels>(set).bilateral(left.in(), smoothed.in(), range, fastFiltered.view(), 0, height);
  expectSame("denoise, the filter", filtered, fastFiltered);

  const RowOffsetSearch search{random.whole(0, 3), random.whole(8, 40)};
  const RowOffset rows = rowOffsetReference(search, words.in(), fastWords.in());
  const RowLine line = rowLineReference(search, words.in(), fastWords.in());
  const RowBands bands =
      countRowBands(search, words.in(), fastWords.in(), kernelsFor<RowOffsetKernels>(set).countRowOffset);
  const RowOffset fastRows = estimateRowOffset(bands);
  const RowLine fastLine = estimateRowLine(bands);
  if (rows.known != fastRows.known || rows.atLimit != fastRows.atLimit || rows.quarterRows != fastRows.quarterRows ||
      line.known != fastLine.known || line.middleQuarterRows != fastLine.middleQuarterRows ||
      line.quarterRowsOverWidth != fastLine.quarterRowsOverWidth) {
    std::printf("row_offset differs\n"), std::exit(1);
  }

  Image<int16_t> whole(width, height), rightWhole(width, height);
  for (int16_t& value : whole.data) value = static_cast<int16_t>(random.whole(0, 7));
  for (int16_t& value : rightWhole.data) value = static_cast<int16_t>(random.whole(0, 7));
  expected = q4;
  got = q4;
  Image<uint8_t> confidence = left, fastConfidence = left;
  leftRightReference({whole.in(), rightWhole.in(), expected.view(), confidence.view()});
  kernelsFor<LeftRightKernels>(set).leftRight({whole.in(), rightWhole.in(), got.view(), fastConfidence.view()}, 0,
                                              height);
  expectSame("left_right", expected, got);
  expectSame("left_right confidence", confidence, fastConfidence);

  const SpeckleParameters speckle{random.whole(2, 30), random.whole(0, 40)};
  std::vector<int32_t> scratch(speckleScratchWords(width, height));
  speckleReference(speckle, expected.view(), confidence.view());
  speckleFilter(speckle, got.view(), fastConfidence.view(), scratch.data(), workers);
  expectSame("speckle", expected, got);

  Image<uint8_t> sure(width, height), fastSure(width, height);
  const int32_t blockColumns = blockColumnCount(width), blockRows = blockRowCount(height);
  Image<uint8_t> limit(blockColumns, blockRows), fastLimit(blockColumns, blockRows);
  ambiguityReference({left.in(), right.in(), expected.in()}, limit.view());
  kernelsFor<AmbiguityKernels>(set).ambiguity({left.in(), right.in(), got.in()}, fastLimit.view(), 0, blockRows);
  expectSame("ambiguity", limit, fastLimit);
  confidenceReference(left.in(), expected.in(), confidence.in(), width % 2 == 0, limit.in(), sure.view());
  kernelsFor<ConfidenceKernels>(set).confidence(left.in(), got.in(), fastConfidence.in(), width % 2 == 0,
                                                fastLimit.in(), fastSure.view(), 0, height);
  expectSame("confidence", sure, fastSure);

  Image<uint8_t> measured(width, height), fastMeasured(width, height);
  const WindowConfidenceImages seenTwice{left.in(), right.in(), expected.in(), confidence.in(), width % 2 == 0};
  for (int32_t measure = 0; measure < 4; ++measure) {
    windowConfidenceReference(static_cast<ConfidenceMeasure>(measure), seenTwice, measured.view());
    kernelsFor<WindowConfidenceKernels>(set).windowConfidence(static_cast<ConfidenceMeasure>(measure), seenTwice,
                                                              fastMeasured.view(), 0, height);
    expectSame("window_confidence", measured, fastMeasured);
  }
  Image<int16_t> repaired = expected, fastRepaired(width, height);
  repairReference(repaired.view(), measured.view());
  Image<int16_t> before = expected;
  for (int32_t pass = 0; pass < kRepairPasses; ++pass) {
    Image<uint8_t> surely = fastMeasured;
    kernelsFor<RepairKernels>(set).repair(pass == 1, {before.in(), surely.in()},
                                          {fastRepaired.view(), fastMeasured.view()}, 0, height);
    before = fastRepaired;
  }
  expectSame("repair", repaired, fastRepaired);
  expectSame("repair confidence", measured, fastMeasured);

  FillParameters fill;
  fill.method = random.whole(0, 1) == 0 ? FillMethod::kBilateral : FillMethod::kBackground;
  Image<int16_t> filled(width, height), fastFilled(width, height);
  fillReference(fill, left.in(), expected.in(), filled.view(), confidence.view());
  fillHoles(fill, left.in(), got.in(), fastFilled.view(), fastConfidence.view(), workers);
  expectSame("fill", filled, fastFilled);
  expectSame("fill confidence", confidence, fastConfidence);

  Image<uint8_t> half(halfSide(width), halfSide(height)), fastHalf(halfSide(width), halfSide(height));
  halfReference(left.in(), half.view());
  kernelsFor<HalfKernels>(set).half(left.in(), fastHalf.view(), 0, half.height);
  expectSame("half", half, fastHalf);

  Image<int16_t> small = disparities(random, half.width, half.height);
  upscaleReference(48, left.in(), small.in(), expected.view());
  kernelsFor<UpscaleKernels>(set).upscale(48, left.in(), small.in(), got.view(), 0, height);
  expectSame("upscale", expected, got);

  const DepthGeometry geometry{random.whole(100, 3000) / 3.0, random.whole(1, 500) / 1000.0,
                               random.whole(-40, 40) / 7.0};
  Image<uint16_t> millimetres(width, height), fastMillimetres(width, height);
  Image<float> metres(width, height), fastMetres(width, height);
  depthMillimetresReference(geometry, q4.in(), millimetres.view());
  kernelsFor<DepthKernels>(set).depthMillimetres(geometry, q4.in(), fastMillimetres.view(), 0, height);
  expectSame("depth millimetres", millimetres, fastMillimetres);
  depthMetresReference(geometry, q4.in(), metres.view());
  kernelsFor<DepthKernels>(set).depthMetres(geometry, q4.in(), fastMetres.view(), 0, height);
  expectSame("depth metres", metres, fastMetres);

  PointsParameters rig;
  rig.focalPixels = geometry.focalPixels;
  rig.baselineMetres = geometry.baselineMetres;
  rig.disparityOffsetPixels = geometry.disparityOffsetPixels;
  rig.cx = random.whole(-50, 500) / 7.0;
  rig.cy = random.whole(-50, 500) / 7.0;
  rig.frame = random.whole(0, 1) == 0 ? PointFrame::kCamera : PointFrame::kRobot;
  rig.element = random.whole(0, 1) == 0 ? PointElement::kF32 : PointElement::kI16;
  rig.colours = random.whole(0, 1) == 0;
  std::vector<Rgb8> colours(static_cast<size_t>(width) * height);
  for (Rgb8& pixel : colours)
    pixel = {uint8_t(random.whole(0, 255)), uint8_t(random.whole(0, 255)), uint8_t(random.whole(0, 255))};
  const PointsImages seen{q4.in(), left.in(), packedView<const Rgb8>(colours.data(), width, height)};
  const auto pointRow = static_cast<int32_t>(pointBytes(rig)) * width;
  Image<uint8_t> cloud(pointRow, height), fastCloud(pointRow, height);
  pointsReference(rig, seen, cloud.view().data);
  kernelsFor<PointsKernels>(set).points(makePointsPlan(rig, width), seen, fastCloud.view().data, 0, height);
  expectSame("points", cloud, fastCloud);

  VoxelsParameters cubes;
  cubes.focalPixels = rig.focalPixels, cubes.baselineMetres = rig.baselineMetres;
  cubes.disparityOffsetPixels = rig.disparityOffsetPixels;
  cubes.cx = rig.cx, cubes.cy = rig.cy, cubes.frame = rig.frame;
  cubes.sizeMillimetres = random.whole(5, 400);
  cubes.uncertaintyPixels = random.whole(0, 32) / 16.0;
  Image<int16_t> voxels(4, width * height + 1), fastVoxels(4, width * height + 1);
  voxelsReference(cubes, q4.in(), reinterpret_cast<Voxel*>(voxels.view().data));
  VoxelLister(makeVoxelsPlan(cubes, width, height), width, height, workers)
      .list(q4.in(), reinterpret_cast<Voxel*>(fastVoxels.view().data));
  expectSame("voxels", voxels, fastVoxels);

  CrossParameters cross{random.whole(0, 3), random.whole(1, 40), random.whole(0, 9), random.whole(0, 9),
                        random.whole(1, 40)};
  cross.armXRight = random.whole(-1, 9);
  cross.armYRight = random.whole(-1, 9);
  cross.lambdaDifference = random.whole(kLeastLambda, 900);
  cross.lambdaCensus = random.whole(kLeastLambda, 90);
  cross.differenceScale = random.whole(0, 1) == 0 ? kFullScale : kGreyLevel;
  Cross* opened = nullptr;
  if (!Cross::open(cross, width, height, set, workers, &opened).ok()) std::exit(1);
  const std::unique_ptr<Cross> fast(opened);
  Image<int16_t> other(width, height), fastOther(width, height);
  crossReference(cross, {left.in(), right.in(), expected.view(), other.view()});
  fast->compute({left.in(), right.in(), got.view(), fastOther.view()});
  expectSame("cross left", expected, got);
  expectSame("cross right", other, fastOther);

  ExponentialParameters steps;
  steps.minDisparity = random.whole(0, 3);
  steps.numDisparities = random.whole(1, 40);
  steps.steps = random.whole(1, 6);
  steps.gradientTruncation = random.whole(0, 1) * random.whole(1, 20);
  steps.gradientCost = steps.gradientTruncation * random.whole(0, 1);
  steps.cost = (65535 - steps.gradientCost * steps.gradientTruncation) / steps.truncation;
  steps.slope = random.whole(0, 1) * random.whole(1, 30000);
  steps.cap = random.whole(0, 65535);
  steps.subpixel = true;
  steps.colourDistance = random.whole(0, 1) == 0 ? ColourDistance::kRgb : ColourDistance::kLab;
  std::vector<Rgb8> rgb(static_cast<size_t>(width) * height);
  for (Rgb8& pixel : rgb) {
    pixel = {static_cast<uint8_t>(random.whole(0, 60)), static_cast<uint8_t>(random.whole(0, 60)),
             static_cast<uint8_t>(random.whole(0, 60))};
  }
  const ExponentialImages sides{left.in(), right.in(), packedView<const Rgb8>(rgb.data(), width, height)};
  Exponential* aggregation = nullptr;
  if (!Exponential::open(steps, width, height, set, workers, &aggregation).ok()) std::exit(1);
  const std::unique_ptr<Exponential> exponential(aggregation);
  Image<int16_t> winner(width, height), fastWinner(width, height);
  exponentialReference(steps, sides, {expected.view(), winner.view(), other.view(), confidence.view()});
  exponential->compute(sides, {got.view(), fastWinner.view(), fastOther.view(), fastConfidence.view()});
  expectSame("exponential", expected, got);
  expectSame("exponential winner", winner, fastWinner);
  expectSame("exponential right", other, fastOther);
  expectSame("exponential confidence", confidence, fastConfidence);
}

/// Every format, grey and colours, at random places and at adjacent ones.
void rectification(InstructionSet set, Random& random, int32_t width, int32_t height) {
  for (int32_t format = 0; format <= static_cast<int32_t>(PixelFormat::kBayerBggr12P); ++format) {
    RectifySource source;
    source.format = static_cast<PixelFormat>(format);
    source.blackLevel = random.whole(0, 3) == 0 ? random.whole(1, 255) : 0;
    source.width = random.whole(1, 90), source.height = random.whole(1, 20);
    // Rows of kGreyDisparity are contiguous. A packed row of one pixel has 5 bytes.
    source.strideBytes = source.format == PixelFormat::kGreyDisparity
                             ? static_cast<size_t>(source.width)
                             : static_cast<size_t>(3 * source.width + random.whole(0, 5)) + 2;
    std::vector<uint8_t> bytes(sourceBytes(source.width, source.height, source.strideBytes, source.format, true));
    for (uint8_t& value : bytes) value = static_cast<uint8_t>(random.whole(0, 255));
    source.data = bytes.data();
    for (const bool anywhere : {true, false}) {
      std::vector<int32_t> map;
      for (int32_t i = 0; i < width * height; ++i) {
        const int32_t x = anywhere ? random.whole(-70, 32 * source.width + 70) : 33 * (i % width) - random.whole(0, 9);
        const int32_t y = anywhere ? random.whole(-70, 32 * source.height + 70) : 31 * (i / width) + i % width;
        map.insert(map.end(), {x, y});
      }
      Image<uint8_t> expected(width, height), got(width, height);
      rectifyReference(source, map.data(), expected.view());
      kernelsFor<RectifyKernels>(set).rectify(source, map.data(), got.view(), 0, height);
      expectSame("rectify", expected, got);
      if (!hasColours(source.format)) continue;
      Image<Rgb8> expectedRgb(width, height), gotRgb(width, height);
      rectifyRgbReference(source, map.data(), expectedRgb.view());
      kernelsFor<RectifyKernels>(set).rectifyRgb(source, map.data(), gotRgb.view(), {}, 0, height);
      expectSame("rectify in colours", expectedRgb, gotRgb);
      Image<uint8_t> greyWithColours(width, height);
      Image<Rgb8> bothRgb(width, height);
      kernelsFor<RectifyKernels>(set).rectifyRgb(source, map.data(), bothRgb.view(), greyWithColours.view(), 0, height);
      expectSame("rectify in colours, with grey", expectedRgb, bothRgb);
      expectSame("grey with colours", expected, greyWithColours);
    }
  }
}

}  // namespace

int main(int count, char** arguments) {
  InstructionSet set = InstructionSet::kScalar;
  const Status status = chooseInstructionSet(count > 1 ? arguments[1] : "", &set);
  if (!status.ok()) {
    std::fprintf(stderr, "%s\n", status.message);
    return 1;
  }
  Random random{count > 2 ? static_cast<uint32_t>(std::strtoul(arguments[2], nullptr, 10)) | 1u : 1u};
  constexpr int32_t kWidths[] = {1, 2, 7, 8, 9, 15, 16, 17, 31, 33, 40, 64, 65, 97};
  for (const int32_t width : kWidths) {
    stages(set, random, width, random.whole(1, 14));
    rectification(set, random, width, random.whole(1, 14));
  }
  std::printf("isa %s: %zu sizes equal bit for bit\n", instructionSetName(set), sizeof kWidths / sizeof *kWidths);
  return 0;
}
