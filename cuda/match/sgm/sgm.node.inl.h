// SPDX-License-Identifier: Apache-2.0
// native.stages.sgm({variant, width, height, censusStrideBytes?, greyStrideBytes?, threads?, minDisparity, numDisparities,
//   paths, p1, p2, adaptiveP2?, uniqueness?, subpixel, censusLeft, censusRight: Uint32Array, greyLeft: Uint8Array,
//   disparityQ4, disparity: Int16Array, rightDisparity?: Int16Array, confidence?: Uint8Array,
//   sums?: Uint16Array (reference only), timesNs?: Float64Array (as many runs as it is long, each one's time)})
// Runs aggregation and selection, which the fast forms fuse. Returns the name of the variant that ran.
#include "sgm.h"

#include <ctime>
#include <memory>
#include <vector>

#include "sgm_arguments.node.h"
#include "../select/select.h"

namespace depthwatt {
namespace {

double nowNs() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

SgmImages readImages(const Napi::Object& call, int32_t width, int32_t height) {
  const int32_t censusPacked = width * 4;
  const auto censusStride =
      static_cast<size_t>(readInteger(call, "censusStrideBytes", censusPacked, 1 << 24, censusPacked));
  const auto greyStride = static_cast<size_t>(readInteger(call, "greyStrideBytes", width, 1 << 24, width));
  return {readImage<const uint32_t>(call, "censusLeft", width, height, censusStride),
          readImage<const uint32_t>(call, "censusRight", width, height, censusStride),
          readImage<const uint8_t>(call, "greyLeft", width, height, greyStride),
          {},
          {}};
}

void computeReference(const Napi::Object& call, const SgmParameters& parameters, const SgmImages& images,
                      const SgmResult& result) {
  throwUnlessOk(call.Env(), checkSgmParameters(parameters));
  const size_t cells =
      static_cast<size_t>(images.censusLeft.width) * images.censusLeft.height * parameters.numDisparities;
  std::vector<uint16_t> own;
  uint16_t* sums = nullptr;
  if (call.Get("sums").IsUndefined()) {
    own.resize(cells);
    sums = own.data();
  } else {
    sums = readElements<uint16_t>(call, "sums", cells);
  }
  sgmSumsReference(parameters, images, sums);
  selectReference(parameters, sums, result);
}

void computeFast(const Napi::Object& call, InstructionSet set, const SgmParameters& parameters, const SgmImages& images,
                 const SgmResult& result) {
  Workers workers(readInteger(call, "threads", 1, 256, 1));
  Sgm* opened = nullptr;
  throwUnlessOk(call.Env(),
                Sgm::open(parameters, images.censusLeft.width, images.censusLeft.height, set, workers, &opened));
  const std::unique_ptr<Sgm> sgm(opened);
  if (call.Get("timesNs").IsUndefined()) {
    sgm->compute(images, result);
    return;
  }
  double* times = readElements<double>(call, "timesNs", 0);
  const size_t runs = call.Get("timesNs").As<Napi::TypedArray>().ElementLength();
  for (size_t i = 0; i < runs; ++i) {
    const double before = nowNs();
    sgm->compute(images, result);
    times[i] = nowNs() - before;
  }
}

Napi::Value sgm(const Napi::CallbackInfo& info) {
  const auto call = objectAt(info, 0, "the call");
  const Variant variant = readVariant(call);
  const SgmParameters parameters = sgmParametersFrom(call);
  const int32_t width = readInteger(call, "width", 1, 32768), height = readInteger(call, "height", 1, 32768);
  const SgmImages images = readImages(call, width, height);
  const SgmResult result = readSgmResult(call, width, height);
  if (variant.isReference) computeReference(call, parameters, images, result);
  else computeFast(call, variant.set, parameters, images, result);
  return Napi::String::New(info.Env(), variant.name());
}

}  // namespace

void addSgm(Napi::Env env, Napi::Object stages) { stages.Set("sgm", Napi::Function::New(env, sgm, "sgm")); }

}  // namespace depthwatt
