// SPDX-License-Identifier: Apache-2.0
// The reference of each stage, replaced by its CUDA kernel: linked into an addon before the real references, so that the tests of
// test/stages/ give the kernels the vectors that were worked out by hand. A stage without a kernel keeps its reference.
#include <cstring>

#include "../../../cuda/check/twins.h"
#include "../../../cuda/match/cbca/cross_workspace.h"
#include "../../../cuda/match/cost/census/census.h"
#include "../../../cuda/match/cost/census/census_gpu.h"
#include "../../../cuda/match/cost/gradient_census/gradient_census.h"
#include "../../../cuda/match/cost/gradient_census/gradient_census_gpu.h"
#include "../../../cuda/match/cost/two_gradient_census/two_gradient_census.h"
#include "../../../cuda/match/cost/two_gradient_census/two_gradient_census_gpu.h"
#include "../../../cuda/match/cost/wide_census/wide_census.h"
#include "../../../cuda/match/cost/wide_census/wide_census_gpu.h"
#include "../../../cuda/match/exponential/exponential_workspace.h"
#include "../../../cuda/match/hsv/hsv.h"
#include "../../../cuda/match/hsv_pixel.cuh"
#include "../../../cuda/match/pyramid/pyramid_workspace.h"
#include "../../../cuda/match/sad/sad_workspace.h"
#include "../../../cuda/match/select/select.h"
#include "../../../cuda/match/sgm/sgm_workspace.h"
#include "../../../cuda/output/depth/depth.h"
#include "../../../cuda/output/depth/depth_gpu.h"
#include "../../../cuda/output/floor/floor_gpu.h"
#include "../../../cuda/output/grid/grid_gpu.h"
#include "../../../cuda/output/points/points_gpu.h"
#include "../../../cuda/output/registration/registration_gpu.h"
#include "../../../cuda/output/voxels/voxels_gpu.h"
#include "../../../cuda/prepare/average/average.h"
#include "../../../cuda/prepare/average/average_gpu.h"
#include "../../../cuda/prepare/denoise/denoise.h"
#include "../../../cuda/prepare/denoise/denoise_gpu.h"
#include "../../../cuda/prepare/half/half.h"
#include "../../../cuda/prepare/half/half_gpu.h"
#include "../../../cuda/rectify/rectify_gpu.h"
#include "../../../cuda/refine/ambiguity/ambiguity.h"
#include "../../../cuda/refine/ambiguity/ambiguity_gpu.h"
#include "../../../cuda/refine/boundary/boundary.h"
#include "../../../cuda/refine/boundary/boundary_gpu.h"
#include "../../../cuda/refine/confidence/confidence.h"
#include "../../../cuda/refine/confidence/confidence_gpu.h"
#include "../../../cuda/refine/fill/fill.h"
#include "../../../cuda/refine/fill/fill_gpu.h"
#include "../../../cuda/refine/left_right/left_right.h"
#include "../../../cuda/refine/left_right/left_right_gpu.h"
#include "../../../cuda/refine/median/median.h"
#include "../../../cuda/refine/median/median_gpu.h"
#include "../../../cuda/refine/repair/repair.h"
#include "../../../cuda/refine/repair/repair_gpu.h"
#include "../../../cuda/refine/slant/slant.h"
#include "../../../cuda/refine/slant/slant_gpu.h"
#include "../../../cuda/refine/speckle/speckle.h"
#include "../../../cuda/refine/speckle/speckle_gpu.h"
#include "../../../cuda/refine/temporal/temporal.h"
#include "../../../cuda/refine/temporal/temporal_gpu.h"
#include "../../../cuda/refine/threshold/threshold.h"
#include "../../../cuda/refine/threshold/threshold_gpu.h"
#include "../../../cuda/refine/threshold/threshold_limits.h"
#include "../../../cuda/refine/upscale/upscale.h"
#include "../../../cuda/refine/upscale/upscale_gpu.h"
#include "../../../cuda/refine/window_confidence/window_confidence.h"
#include "../../../cuda/refine/window_confidence/window_confidence_gpu.h"

namespace depthwatt {
namespace {

/// A packed image on the device.
template <class T>
class OnDevice {
 public:
  OnDevice(int32_t width, int32_t height) : width_(width), height_(height) {
    require(buffer_.allocate(static_cast<size_t>(width) * height), "image");
  }
  template <class Image>
  explicit OnDevice(const Image& image) : OnDevice(image.width, image.height) {
    std::vector<T> packed(static_cast<size_t>(width_) * height_);
    for (int32_t y = 0; y < height_ && image.data != nullptr; ++y)
      std::memcpy(packed.data() + static_cast<size_t>(y) * width_, image.row(y), width_ * sizeof(T));
    upload(buffer_, packed);
  }
  T* get() { return buffer_.get(); }
  void fetch(const ImageView<T>& image) {
    require(cudaStatus(cudaDeviceSynchronize(), "kernel"), "stage");
    const std::vector<T> values = fetched(buffer_);
    for (int32_t y = 0; y < height_ && image.data != nullptr; ++y)
      std::memcpy(image.row(y), values.data() + static_cast<size_t>(y) * width_, width_ * sizeof(T));
  }

 private:
  DeviceBuffer<T> buffer_;
  int32_t width_, height_;
};

/// Computes both images of a pair from one image, and expects the same result twice.
template <class In, class Out, class Launch>
void onBothSides(ImageView<const In> in, const ImageView<Out>& out, Launch launch) {
  OnDevice<In> left(in), right(in);
  OnDevice<Out> leftOut(out.width, out.height), rightOut(out.width, out.height);
  require(launch(left.get(), right.get(), leftOut.get(), rightOut.get()), "stage");
  std::vector<Out> other(static_cast<size_t>(out.width) * out.height);
  rightOut.fetch(packedView(other.data(), out.width, out.height));
  leftOut.fetch(out);
  for (int32_t y = 0; y < out.height; ++y)
    if (std::memcmp(out.row(y), other.data() + static_cast<size_t>(y) * out.width, out.width * sizeof(Out)) != 0)
      fail("the two images of a pair differ in row " + std::to_string(y));
}

}  // namespace

template <>
void censusReference<uint8_t>(ImageView<const uint8_t> image, ImageView<uint32_t> census) {
  onBothSides(image, census, [&](auto* left, auto* right, auto* leftOut, auto* rightOut) {
    return gpu::census(left, right, leftOut, rightOut, image.width, image.height, nullptr);
  });
}

void twoGradientCensusReference(ImageView<const uint8_t> image, ImageView<uint32_t> census) {
  onBothSides(image, census, [&](auto* left, auto* right, auto* leftOut, auto* rightOut) {
    return gpu::twoGradientCensus(left, right, leftOut, rightOut, image.width, image.height, nullptr);
  });
}

void gradientCensusReference(ImageView<const uint8_t> image, ImageView<uint32_t> census) {
  OnDevice<uint8_t> in(image);
  OnDevice<uint32_t> out(census);
  require(gpu::gradientCensus(in.get(), out.get(), image.width, image.height, nullptr), "gradient census");
  out.fetch(census);
}

void wideCensusReference(ImageView<const uint8_t> image, ImageView<uint32_t> first, ImageView<uint32_t> second) {
  OnDevice<uint8_t> in(image);
  OnDevice<uint32_t> a(first), b(second), c(first), d(second);
  require(gpu::wideCensus(in.get(), in.get(), a.get(), b.get(), c.get(), d.get(), image.width, image.height, nullptr),
          "wide census");
  a.fetch(first);
  b.fetch(second);
}

void halfReference(ImageView<const uint8_t> in, ImageView<uint8_t> out) {
  onBothSides(in, out, [&](auto* left, auto* right, auto* leftOut, auto* rightOut) {
    return gpu::half(left, right, leftOut, rightOut, in.width, in.height, nullptr);
  });
}

void halfRgbReference(ImageView<const Rgb8> in, ImageView<Rgb8> out) {
  OnDevice<Rgb8> from(in), to(out);
  require(gpu::halfRgb(from.get(), to.get(), in.width, in.height, nullptr), "half");
  to.fetch(out);
}

/// The kernel computes the guide itself, so a test's own guide is not used.
void bilateralReference(ImageView<const uint8_t> image, ImageView<const uint8_t>, int32_t range,
                        ImageView<uint8_t> out) {
  DeviceBuffer<int32_t> wide;
  upload(wide, std::vector<int32_t>(1, range));
  onBothSides(image, out, [&](auto* left, auto* right, auto* leftOut, auto* rightOut) {
    return gpu::smooth(wide.get(), left, right, leftOut, rightOut, image.width, image.height, nullptr);
  });
}

/// Both sides are the same image.
void averageReference(const AverageTask& task) {
  const int32_t width = task.image.width, height = task.image.height;
  OnDevice<uint8_t> image(task.image), filtered(task.filtered), left(width, height), right(width, height);
  OnDevice<int16_t> before(task.before), leftAfter(width, height), rightAfter(width, height);
  DeviceBuffer<int32_t> limit;
  upload(limit, std::vector<int32_t>(1, task.limit));
  const auto side = [&](OnDevice<int16_t>& after, OnDevice<uint8_t>& averaged) {
    return gpu::AverageSide{image.get(), filtered.get(), before.get(), after.get(), averaged.get()};
  };
  require(gpu::average(side(leftAfter, left), side(rightAfter, right), limit.get(), width, height, nullptr), "average");
  leftAfter.fetch(task.after);
  right.fetch(task.averaged);
}

namespace {

/// Calls with the source's bytes and the map on the device.
template <class Launch>
void withSource(RectifySource source, const int32_t* map, bool colours, int32_t width, int32_t height, Launch launch) {
  const size_t bytes = sourceBytes(source.width, source.height, source.strideBytes, source.format, colours);
  DeviceBuffer<uint8_t> in;
  DeviceBuffer<int32_t> places;
  upload(in, std::vector<uint8_t>(source.data, source.data + bytes));
  if (map != nullptr) upload(places, std::vector<int32_t>(map, map + 2 * static_cast<size_t>(width) * height));
  source.data = in.get();
  require(launch(source, map == nullptr ? nullptr : places.get()), "rectify");
}

}  // namespace

void rectifyReference(const RectifySource& source, const int32_t* map, ImageView<uint8_t> out) {
  OnDevice<uint8_t> grey(out);
  withSource(source, map, false, out.width, out.height, [&](const RectifySource& from, const int32_t* places) {
    return gpu::rectify(from, places, grey.get(), out.width, out.height, nullptr);
  });
  grey.fetch(out);
}

void rectifyRgbReference(const RectifySource& source, const int32_t* map, ImageView<Rgb8> out) {
  OnDevice<Rgb8> rgb(out);
  withSource(source, map, true, out.width, out.height, [&](const RectifySource& from, const int32_t* places) {
    return gpu::rectifyRgb(from, places, rgb.get(), out.width, out.height, nullptr);
  });
  rgb.fetch(out);
}

namespace {
struct {
  SgmParameters parameters;
  SgmImages images;
} pending;
}  // namespace

/// The kernels fuse aggregation and selection, so this call only keeps what selectReference needs.
void sgmSumsReference(const SgmParameters& parameters, const SgmImages& images, uint16_t*, const uint8_t* blocks) {
  if (blocks != nullptr) fail("no vector worked out by hand has chosen blocks; twins_sgm.h compares them");
  pending = {parameters, images};
}

void selectReference(const SgmParameters& parameters, const uint16_t*, const SgmResult& result) {
  const SgmImages& images = pending.images;
  OnDevice<uint32_t> left(images.censusLeft), right(images.censusRight), moreLeft(images.moreLeft),
      moreRight(images.moreRight);
  OnDevice<uint8_t> grey(images.greyLeft), confidence(result.disparity.width, result.disparity.height);
  OnDevice<int16_t> q4(result.disparityQ4), whole(result.disparity),
      rightWhole(result.disparity.width, result.disparity.height);
  gpu::SgmWorkspace sgm;
  require(sgm.open(parameters, result.disparity.width, result.disparity.height), "sgm");
  require(sgm.compute(left.get(), right.get(), grey.get(), false, q4.get(), whole.get(), rightWhole.get(),
                      confidence.get(), nullptr, moreLeft.get(), moreRight.get()),
          "sgm");
  q4.fetch(result.disparityQ4);
  whole.fetch(result.disparity);
  rightWhole.fetch(result.rightDisparity);
  confidence.fetch(result.confidence);
}

void hsvReference(const HsvWeights& weights, ImageView<const Rgb8> rgb, ImageView<HsvPixel> out) {
  onBothSides(rgb, out, [&](auto* left, auto* right, auto* leftOut, auto* rightOut) {
    return gpu::hsv(weights, left, right, leftOut, rightOut, rgb.width, rgb.height, nullptr);
  });
}

namespace {

template <class Workspace>
void matchWindows(Workspace& opened, const WindowImages& images, const WindowResult& result) {
  const int32_t width = images.left.width, height = images.left.height;
  OnDevice<HsvPixel> left(images.left), right(images.right);
  OnDevice<int16_t> q4(width, height), whole(width, height), rightWhole(width, height);
  OnDevice<uint8_t> confidence(width, height);
  require(opened.compute(left.get(), right.get(), {q4.get(), whole.get(), rightWhole.get(), confidence.get()}, nullptr),
          "windows");
  q4.fetch(result.disparityQ4);
  whole.fetch(result.disparity);
  rightWhole.fetch(result.rightDisparity);
  confidence.fetch(result.confidence);
}

}  // namespace

void sadReference(const SadParameters& parameters, const SadImages& images, const SadResult& result) {
  gpu::SadWorkspace sad;
  require(sad.open(parameters, images.left.width, images.left.height, true), "sad");
  matchWindows(sad, images, result);
}

void pyramidReference(const PyramidParameters& parameters, const PyramidImages& images, const PyramidResult& result) {
  gpu::PyramidWorkspace pyramid;
  require(pyramid.open(parameters, images.left.width, images.left.height), "pyramid");
  matchWindows(pyramid, images, result);
}

void crossReference(const CrossParameters& parameters, const CrossImages& images) {
  OnDevice<uint8_t> left(images.left), right(images.right);
  OnDevice<int16_t> whole(images.disparity), rightWhole(images.rightDisparity);
  gpu::CrossWorkspace cross;
  require(cross.open(parameters, images.left.width, images.left.height), "cross");
  require(cross.compute(left.get(), right.get(), whole.get(), rightWhole.get(), nullptr), "cross");
  whole.fetch(images.disparity);
  rightWhole.fetch(images.rightDisparity);
}

void exponentialReference(const ExponentialParameters& parameters, const ExponentialImages& images,
                          const ExponentialResult& result) {
  const int32_t width = images.left.width, height = images.left.height;
  OnDevice<uint8_t> left(images.left), right(images.right), confidence(width, height);
  OnDevice<Rgb8> rgb(images.leftRgb);
  OnDevice<int16_t> q4(width, height), whole(width, height), rightWhole(width, height);
  gpu::ExponentialWorkspace exponential;
  require(exponential.open(parameters, width, height), "exponential");
  require(exponential.compute(left.get(), right.get(), rgb.get(),
                              {q4.get(), whole.get(), rightWhole.get(), confidence.get()}, nullptr),
          "exponential");
  q4.fetch(result.disparityQ4);
  whole.fetch(result.disparity);
  rightWhole.fetch(result.rightDisparity);
  confidence.fetch(result.confidence);
}

void leftRightReference(const LeftRightImages& images) {
  const int32_t width = images.disparity.width, height = images.disparity.height;
  OnDevice<int16_t> whole(images.disparity), rightWhole(images.rightDisparity), q4(images.disparityQ4);
  OnDevice<uint8_t> confidence(packedView(images.confidence.data, width, height));
  require(gpu::leftRight(whole.get(), rightWhole.get(), q4.get(), confidence.get(), images.tolerance, width, height,
                         nullptr),
          "left-right");
  q4.fetch(images.disparityQ4);
  confidence.fetch(images.confidence);
}

void medianReference(ImageView<const int16_t> in, ImageView<int16_t> out) {
  OnDevice<int16_t> from(in), to(out);
  require(gpu::median(from.get(), to.get(), in.width, in.height, nullptr), "median");
  to.fetch(out);
}

void fillReference(const FillParameters& parameters, ImageView<const uint8_t> grey, ImageView<const int16_t> in,
                   ImageView<int16_t> filled, ImageView<uint8_t> confidence) {
  // The backend launches no kernel then.
  if (parameters.method == FillMethod::kOff) {
    OnDevice<int16_t>(in).fetch(filled);
    return;
  }
  OnDevice<uint8_t> image(grey), sure(packedView(confidence.data, grey.width, grey.height));
  OnDevice<int16_t> from(in), to(filled);
  OnDevice<int32_t> scratch(grey.width + 1, grey.height);
  require(gpu::fill(parameters, image.get(), from.get(), to.get(), sure.get(), scratch.get(), grey.width, grey.height,
                    nullptr),
          "fill");
  to.fetch(filled);
  sure.fetch(confidence);
}

void boundaryReference(ImageView<const uint8_t> grey, ImageView<const int16_t> disparityQ4, ImageView<int16_t> result) {
  OnDevice<uint8_t> image(grey);
  OnDevice<int16_t> from(disparityQ4), to(result);
  require(gpu::boundary(image.get(), from.get(), to.get(), grey.width, grey.height, nullptr), "boundary");
  to.fetch(result);
}

void slantReference(ImageView<const uint8_t> grey, ImageView<const int16_t> disparityQ4, ImageView<int16_t> result) {
  OnDevice<uint8_t> image(grey);
  OnDevice<int16_t> from(disparityQ4), to(result);
  require(gpu::slant(image.get(), from.get(), to.get(), grey.width, grey.height, nullptr), "slant");
  to.fetch(result);
}

void upscaleReference(int32_t thresholdQ4, ImageView<const uint8_t> grey, ImageView<const int16_t> half,
                      ImageView<int16_t> result) {
  OnDevice<uint8_t> image(grey), confidence(half.width, half.height), doubled(grey.width, grey.height);
  OnDevice<int16_t> from(half), to(result);
  require(gpu::upscale(thresholdQ4, image.get(), from.get(), confidence.get(), to.get(), doubled.get(), grey.width,
                       grey.height, nullptr),
          "upscale");
  to.fetch(result);
}

void ambiguityReference(const AmbiguityImages& images, ImageView<uint8_t> limit) {
  OnDevice<uint8_t> left(images.left), right(images.right), out(limit);
  OnDevice<int16_t> disparities(images.disparityQ4);
  OnDevice<uint64_t> sums(limit.width, limit.height);
  require(gpu::ambiguity(left.get(), right.get(), disparities.get(), sums.get(), out.get(), images.left.width,
                         images.left.height, nullptr),
          "ambiguity");
  out.fetch(limit);
}

void temporalReference(ImageView<const uint8_t> grey, ImageView<int16_t> disparityQ4, const TemporalState& state) {
  const int32_t width = grey.width, height = grey.height;
  OnDevice<uint8_t> image(grey), weight(state.weight), moved(temporalTiles(width), temporalTiles(height));
  OnDevice<int16_t> disparities(disparityQ4), mean(state.mean), reference(state.reference);
  OnDevice<uint32_t> count(1, 1);
  require(gpu::temporal(image.get(), disparities.get(),
                        {packedView(mean.get(), width, height), packedView(weight.get(), width, height),
                         packedView(reference.get(), width, height)},
                        moved.get(), count.get(), nullptr),
          "temporal");
  disparities.fetch(disparityQ4);
  mean.fetch(state.mean);
  weight.fetch(state.weight);
  reference.fetch(state.reference);
}

void confidenceReference(ImageView<const uint8_t> grey, ImageView<const int16_t> disparityQ4,
                         ImageView<const uint8_t> certainty, bool zeroIsEstimated, ImageView<const uint8_t> limit,
                         ImageView<uint8_t> sure) {
  OnDevice<uint8_t> image(grey), from(certainty), out(sure), limits(limit);
  OnDevice<int16_t> disparities(disparityQ4);
  require(gpu::confidence(image.get(), disparities.get(), from.get(), zeroIsEstimated,
                          limit.data == nullptr ? nullptr : limits.get(), out.get(), grey.width, grey.height, nullptr),
          "confidence");
  out.fetch(sure);
}

void repairReference(ImageView<int16_t> disparityQ4, ImageView<uint8_t> sure) {
  OnDevice<int16_t> from(disparityQ4), to(disparityQ4);
  OnDevice<uint8_t> sureFrom(sure), sureTo(sure);
  require(gpu::repair(from.get(), sureFrom.get(), to.get(), sureTo.get(), sure.width, sure.height, nullptr), "repair");
  to.fetch(disparityQ4);
  sureTo.fetch(sure);
}

void windowConfidenceReference(ConfidenceMeasure measure, const WindowConfidenceImages& images,
                               ImageView<uint8_t> sure) {
  OnDevice<uint8_t> left(images.left), right(images.right), certainty(images.certainty), out(sure);
  OnDevice<int16_t> disparities(images.disparityQ4);
  require(gpu::windowConfidence(measure, left.get(), right.get(), disparities.get(), certainty.get(),
                                images.zeroIsEstimated, out.get(), sure.width, sure.height, nullptr),
          "confidence");
  out.fetch(sure);
}

void thresholdReference(const ThresholdParameters& parameters, ImageView<int16_t> disparityQ4,
                        ImageView<uint8_t> confidence, int32_t dropped[kDropCauses]) {
  OnDevice<int16_t> disparities(disparityQ4);
  OnDevice<uint8_t> sure(confidence);
  OnDevice<int32_t> counts(kDropCauses, 1);
  require(gpu::threshold(thresholdLimitsFrom(parameters), disparities.get(), sure.get(), counts.get(),
                         disparityQ4.width * disparityQ4.height, nullptr),
          "threshold");
  disparities.fetch(disparityQ4);
  sure.fetch(confidence);
  counts.fetch(packedView(dropped, kDropCauses, 1));
}

void speckleReference(const SpeckleParameters& parameters, ImageView<int16_t> disparityQ4,
                      ImageView<uint8_t> confidence) {
  const int32_t width = disparityQ4.width, height = disparityQ4.height;
  OnDevice<int16_t> disparities(disparityQ4);
  OnDevice<uint8_t> sure(packedView(confidence.data, width, height));
  OnDevice<int32_t> scratch(2 * width, height);
  require(gpu::speckle(parameters, disparities.get(), sure.get(), scratch.get(), width, height, nullptr), "speckle");
  disparities.fetch(disparityQ4);
  sure.fetch(confidence);
}

void depthMillimetresReference(const DepthGeometry& geometry, ImageView<const int16_t> disparityQ4,
                               ImageView<uint16_t> millimetres) {
  OnDevice<int16_t> in(disparityQ4);
  OnDevice<uint16_t> out(millimetres);
  require(gpu::depthMillimetres(geometry, in.get(), out.get(), millimetres.width, millimetres.height, nullptr),
          "depth");
  out.fetch(millimetres);
}

void pointsReference(const PointsParameters& parameters, const PointsImages& images, uint8_t* points) {
  const int32_t width = images.disparityQ4.width, height = images.disparityQ4.height;
  OnDevice<int16_t> disparities(images.disparityQ4);
  OnDevice<uint8_t> grey(images.grey), out(width * static_cast<int32_t>(pointBytes(parameters)), height);
  OnDevice<Rgb8> rgb(packedView(images.rgb.data, width, height));
  gpu::PointsWorkspace workspace;
  require(workspace.open(parameters, width, height), "points");
  require(workspace.compute(disparities.get(), grey.get(), rgb.get(), out.get(), nullptr), "points");
  out.fetch(packedView(points, width * static_cast<int32_t>(pointBytes(parameters)), height));
}

int32_t voxelsReference(const VoxelsParameters& parameters, ImageView<const int16_t> disparityQ4, Voxel* voxels) {
  const int32_t width = disparityQ4.width, height = disparityQ4.height;
  OnDevice<int16_t> disparities(disparityQ4);
  OnDevice<int16_t> out(packedView(reinterpret_cast<int16_t*>(voxels), 4, width * height + 1));
  gpu::VoxelsWorkspace workspace;
  require(workspace.open(makeVoxelsPlan(parameters, width, height), width, height), "voxels");
  // Twice: the second frame finds what the first one left.
  for (int frame = 0; frame < 2; ++frame)
    require(workspace.compute(disparities.get(), reinterpret_cast<Voxel*>(out.get()), nullptr), "voxels");
  out.fetch(packedView(reinterpret_cast<int16_t*>(voxels), 4, width * height + 1));
  int32_t count = 0;
  std::memcpy(&count, voxels, sizeof count);
  return count;
}

void registrationReference(const RegistrationPlan& plan, ImageView<const int16_t> disparityQ4,
                           ImageView<const uint8_t> confidence, ImageView<uint16_t> millimetres,
                           ImageView<uint8_t> registeredConfidence) {
  OnDevice<int16_t> disparities(disparityQ4);
  OnDevice<uint8_t> sure(confidence), outSure(registeredConfidence);
  OnDevice<uint16_t> out(millimetres);
  gpu::RegistrationWorkspace workspace;
  require(workspace.open(plan), "registration");
  require(workspace.compute(disparities.get(), sure.get(), disparityQ4.width, disparityQ4.height, out.get(),
                            outSure.get(), nullptr),
          "registration");
  out.fetch(millimetres);
  outSure.fetch(registeredConfidence);
}

/// followFloor() refuses floors with small disparities; the definition does not.
FloorResult floorReference(const FloorParameters& parameters, ImageView<const int16_t> disparityQ4,
                           ImageView<const uint8_t> confidence) {
  OnDevice<int16_t> disparities(disparityQ4);
  OnDevice<uint8_t> sure(confidence);
  OnDevice<double> numbers(kFloorNumbers, 1);
  gpu::FloorWorkspace workspace;
  require(workspace.open(parameters, disparityQ4.width, disparityQ4.height), "floor");
  require(workspace.compute(disparities.get(), sure.get(), numbers.get(), nullptr), "floor");
  double n[kFloorNumbers];
  numbers.fetch(packedView(n, kFloorNumbers, 1));
  FloorResult result;
  result.outcome = static_cast<FloorOutcome>(static_cast<int32_t>(n[kFloorOutcome]));
  if (result.outcome == FloorOutcome::kSmall) result.outcome = FloorOutcome::kFound;
  result.plane.a = static_cast<int64_t>(n[kFloorA]);
  result.plane.b = static_cast<int64_t>(n[kFloorB]);
  result.plane.c = static_cast<int64_t>(n[kFloorC]);
  result.known = static_cast<int32_t>(n[kFloorKnown]);
  result.on = static_cast<int32_t>(n[kFloorOn]);
  result.below = static_cast<int32_t>(n[kFloorBelow]);
  result.under = static_cast<int32_t>(n[kFloorUnder]);
  result.squares = static_cast<int64_t>(n[kFloorSquares]);
  return result;
}

}  // namespace depthwatt
