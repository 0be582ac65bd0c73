// SPDX-License-Identifier: Apache-2.0
// Runs detection and adjustment on threads of Node's pool: JavaScript passes copies and gets a promise.
#include "binding.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "board.h"
#include "bundle.h"
#include "../../../core/napi/arguments.h"
#include "../../../core/napi/errors.h"

namespace depthwatt {
namespace {

namespace cal = calibrate;

constexpr int32_t kLargestCalibrationSide = 16384;
constexpr int32_t kMaxObservations = 4000000;

Napi::Float64Array arrayFrom(Napi::Env env, const double* values, size_t count) {
  auto out = Napi::Float64Array::New(env, count);
  for (size_t i = 0; i < count; ++i) out[i] = values[i];
  return out;
}

class BoardDetection : public Napi::AsyncWorker {
 public:
  BoardDetection(Napi::Env env, std::vector<uint8_t> pixels, int32_t width, int32_t height, const cal::BoardSpec& spec)
      : Napi::AsyncWorker(env, "depthwatt.detectBoard"), deferred_(env), pixels_(std::move(pixels)), width_(width),
        height_(height), spec_(spec) {}

  Napi::Promise promise() const { return deferred_.Promise(); }

 private:
  void Execute() override {
    found_ = cal::detectBoard(packedView<const uint8_t>(pixels_.data(), width_, height_), spec_);
  }
  void OnOK() override {
    static const char* const kAbsences[] = {"none", "nothing", "incomplete", "tooSmall", "otherSize", "outOfOrder"};
    const Napi::Env env = Env();
    auto out = Napi::Object::New(env);
    out.Set("absence", kAbsences[static_cast<size_t>(found_.absence)]);
    out.Set("columns", found_.columns);
    out.Set("rows", found_.rows);
    out.Set("missing", found_.missing);
    out.Set("blurAlongRows", found_.blurAlongRows);
    out.Set("blurAlongColumns", found_.blurAlongColumns);
    out.Set("contrast", found_.contrast);
    auto ids = Napi::Int32Array::New(env, found_.points.size());
    auto points = Napi::Float64Array::New(env, 2 * found_.points.size());
    for (size_t i = 0; i < found_.points.size(); ++i) {
      ids[i] = found_.points[i].id;
      points[2 * i] = found_.points[i].x;
      points[2 * i + 1] = found_.points[i].y;
    }
    out.Set("ids", ids);
    out.Set("points", points);
    deferred_.Resolve(out);
  }
  void OnError(const Napi::Error& error) override { deferred_.Reject(error.Value()); }

  Napi::Promise::Deferred deferred_;
  std::vector<uint8_t> pixels_;
  int32_t width_, height_;
  cal::BoardSpec spec_;
  cal::Detection found_;
};

Napi::Value detect(const Napi::CallbackInfo& info) {
  const Napi::Object call = objectAt(info, 0, "the picture");
  const int32_t width = readInteger(call, "width", 16, kLargestCalibrationSide);
  const int32_t height = readInteger(call, "height", 16, kLargestCalibrationSide);
  const size_t count = static_cast<size_t>(width) * static_cast<size_t>(height);
  const auto* pixels = readElements<uint8_t>(call, "image", count);
  cal::BoardSpec spec;
  spec.pattern = static_cast<cal::Pattern>(readInteger(call, "pattern", 0, 2));
  spec.columns = readInteger(call, "columns", 0, 64);
  spec.rows = readInteger(call, "rows", 0, 64);
  spec.dictionary = readInteger(call, "dictionary", 0, 100, 0);
  spec.markerShare = readNumber(call, "markerShare");
  auto* worker = new BoardDetection(info.Env(), {pixels, pixels + count}, width, height, spec);
  worker->Queue();
  return worker->promise();
}

class Adjustment : public Napi::AsyncWorker {
 public:
  Adjustment(Napi::Env env, cal::Problem problem, std::vector<double> depths, double disparity)
      : Napi::AsyncWorker(env, "depthwatt.solveCalibration"), deferred_(env), problem_(std::move(problem)),
        depths_(std::move(depths)), disparity_(disparity) {}

  Napi::Promise promise() const { return deferred_.Promise(); }

 private:
  void Execute() override {
    status_ = cal::solve(problem_, solution_);
    if (!status_.ok()) return;
    for (size_t i = 0; i + 2 < depths_.size(); i += 3) {
      double both[2] = {NAN, NAN};
      if (!cal::depthDeviation(solution_, {depths_[i], depths_[i + 1], depths_[i + 2]}, disparity_, both)) {
        both[0] = both[1] = NAN;
      }
      deviations_.insert(deviations_.end(), both, both + 2);
    }
  }
  void OnOK() override {
    const Napi::Env env = Env();
    if (!status_.ok()) {
      deferred_.Reject(errorFrom(env, status_).Value());
      return;
    }
    auto out = Napi::Object::New(env);
    auto lenses = Napi::Array::New(env);
    for (const cal::Lens& lens : solution_.lens) {
      lenses.Set(lenses.Length(), arrayFrom(env, lens.p.data(), static_cast<size_t>(lens.size())));
    }
    out.Set("lenses", lenses);
    auto rigs = Napi::Array::New(env);
    for (const cal::Pose& rig : solution_.rigs) {
      auto pose = Napi::Object::New(env);
      pose.Set("rotation", arrayFrom(env, rig.R.data(), 9));
      pose.Set("translation", arrayFrom(env, rig.t.data(), 3));
      rigs.Set(rigs.Length(), pose);
    }
    out.Set("rigs", rigs);
    std::vector<double> poses;
    for (const cal::Pose& pose : solution_.poses) {
      poses.insert(poses.end(), pose.R.begin(), pose.R.end());
      poses.insert(poses.end(), pose.t.begin(), pose.t.end());
    }
    out.Set("poses", arrayFrom(env, poses.data(), poses.size()));
    out.Set("residuals", arrayFrom(env, solution_.residuals.data(), solution_.residuals.size()));
    out.Set("rmsPixels", solution_.rms);
    out.Set("covariance", arrayFrom(env, solution_.covariance.data(), solution_.covariance.size()));
    out.Set("parameters", solution_.parameters);
    out.Set("iterations", solution_.iterations);
    out.Set("depthDeviations", arrayFrom(env, deviations_.data(), deviations_.size()));
    deferred_.Resolve(out);
  }
  void OnError(const Napi::Error& error) override { deferred_.Reject(error.Value()); }

  Napi::Promise::Deferred deferred_;
  cal::Problem problem_;
  std::vector<double> depths_;
  double disparity_;
  cal::Solution solution_;
  std::vector<double> deviations_;
  Status status_;
};

Napi::Value solveCalibration(const Napi::CallbackInfo& info) {
  const Napi::Object call = objectAt(info, 0, "the problem");
  cal::Problem problem;
  const int32_t cameras = readInteger(call, "cameras", 1, cal::kMaxCameras);
  const auto* specs = readElements<int32_t>(call, "cameraSpecs", 3 * static_cast<size_t>(cameras));
  for (int32_t c = 0; c < cameras; ++c) {
    const int32_t model = specs[3 * c], width = specs[3 * c + 1], height = specs[3 * c + 2];
    if (model < 0 || model > 2 || std::min(width, height) < 16 || std::max(width, height) > kLargestCalibrationSide) {
      throwUnlessOk(info.Env(), Status::error(Code::kParameter,
                                              "solveCalibration: camera %d: expected a model of 0 to 2 and 16 to %d "
                                              "pixels a side, found model %d and %d x %d.",
                                              c, kLargestCalibrationSide, model, width, height));
    }
    problem.cameras.push_back(
        {static_cast<cal::Model>(model), static_cast<double>(width), static_cast<double>(height)});
  }
  problem.views = readInteger(call, "views", 1, 100000);
  problem.robust = readBoolean(call, "robust");
  problem.withoutK3 = readBoolean(call, "withoutK3");
  const int32_t count = readInteger(call, "count", 4, kMaxObservations);
  const auto size = static_cast<size_t>(count);
  const auto* view = readElements<int32_t>(call, "viewIndex", size);
  const auto* camera = readElements<uint8_t>(call, "cameraIndex", size);
  const auto* used = readElements<uint8_t>(call, "used", size);
  const auto* object = readElements<double>(call, "objects", 3 * size);
  const auto* pixel = readElements<double>(call, "pixels", 2 * size);
  for (size_t i = 0; i < size; ++i) {
    cal::Observation o;
    o.view = view[i];
    o.camera = camera[i];
    o.used = used[i] != 0;
    o.object = {object[3 * i], object[3 * i + 1], object[3 * i + 2]};
    o.pixel[0] = pixel[2 * i];
    o.pixel[1] = pixel[2 * i + 1];
    bool finite = std::isfinite(o.pixel[0]) && std::isfinite(o.pixel[1]);
    for (const double x : o.object) finite = finite && std::isfinite(x);
    if (!finite || o.view < 0 || o.view >= problem.views || o.camera >= cameras) {
      throwUnlessOk(info.Env(), Status::error(Code::kParameter,
                                              "solveCalibration: corner %zu: expected finite numbers, a view below %d "
                                              "and a camera below %d.",
                                              i, problem.views, cameras));
    }
    problem.observations.push_back(o);
  }
  const int32_t depths = readInteger(call, "depthCount", 0, 10000);
  const auto* points = readElements<double>(call, "depthPoints", 3 * static_cast<size_t>(depths));
  auto* worker = new Adjustment(info.Env(), std::move(problem), {points, points + 3 * depths},
                                readNumber(call, "disparityPixels"));
  worker->Queue();
  return worker->promise();
}

}  // namespace

void addCalibrate(Napi::Env env, Napi::Object exports) {
  exports.Set("detectBoard", Napi::Function::New(env, detect, "detectBoard"));
  exports.Set("solveCalibration", Napi::Function::New(env, solveCalibration, "solveCalibration"));
}

}  // namespace depthwatt
