// SPDX-License-Identifier: Apache-2.0
// PairAligner for JavaScript. Its thread ("dw-health", of low priority) works on a copy of a pair, so that the camera
// gets the pair back at once. It never calls JavaScript, which asks for the newest result when it wants it. Memory is
// allocated at open.
#include "binding.h"

#include <pthread.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <condition_variable>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <vector>

#include "aligner.h"
#include "correction.h"
#include "../../../core/workers.h"
#include "../../../core/napi/arguments.h"
#include "../../../core/napi/captured_pair.h"
#include "../../../core/napi/errors.h"

namespace depthwatt {
namespace {

constexpr int kSumNumbers = kAlignmentTerms * (kAlignmentTerms + 1) / 2 + kAlignmentTerms;
constexpr int kLookNumbers = 15 + kSumNumbers;  // LOOK_NUMBERS of pair-aligner.ts

double cpuMilliseconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return 1e3 * static_cast<double>(now.tv_sec) + 1e-6 * static_cast<double>(now.tv_nsec);
}

void writeLook(const AlignmentLook& look, double cpu, double* out) {
  const AlignmentSums& sums = look.sums;
  const double numbers[] = {cpu,
                            static_cast<double>(look.leftCorners),
                            static_cast<double>(look.rightCorners),
                            static_cast<double>(look.features),
                            static_cast<double>(sums.kept),
                            look.leftSharpness,
                            look.rightSharpness,
                            look.leftContrast,
                            look.rightContrast,
                            sums.medianDisparity,
                            sums.smallestDisparity,
                            sums.meanRows,
                            sums.p95Rows,
                            sums.weight,
                            sums.squares};
  for (const double number : numbers) *out++ = number;
  for (int i = 0; i < kAlignmentTerms; ++i) {
    for (int j = i; j < kAlignmentTerms; ++j) *out++ = sums.products[i][j];
  }
  for (const double target : sums.targets) *out++ = target;
}

class PairAligner : public Napi::ObjectWrap<PairAligner> {
 public:
  explicit PairAligner(const Napi::CallbackInfo& info);
  ~PairAligner() override { stop(); }
  static Napi::Function define(Napi::Env env, RectifyGrey rectify) {
    return DefineClass(env, "PairAligner",
                       {InstanceMethod("look", &PairAligner::look), InstanceMethod("begin", &PairAligner::begin),
                        InstanceMethod("take", &PairAligner::take), InstanceMethod("close", &PairAligner::close)},
                       reinterpret_cast<void*>(rectify));
  }

 private:
  const uint8_t* imageAt(const Napi::CallbackInfo& info, size_t place);
  double* numbersAt(const Napi::CallbackInfo& info, size_t place);
  Napi::Value look(const Napi::CallbackInfo& info);
  Napi::Value begin(const Napi::CallbackInfo& info);
  Napi::Value take(const Napi::CallbackInfo& info);
  Napi::Value close(const Napi::CallbackInfo& info) {
    stop();
    return info.Env().Undefined();
  }
  void requireOpen(Napi::Env env) const {
    if (aligner_ == nullptr) throw errorFrom(env, Status::error(Code::kFailed, "Expected an open PairAligner."));
  }
  void serve();
  void stop();

  std::unique_ptr<Aligner> aligner_;
  std::vector<uint8_t> copies_[2];
  double numbers_[kLookNumbers] = {};
  double copyMilliseconds_ = 0;
  std::mutex mutex_;
  std::condition_variable wake_;
  enum { kIdle, kWaiting, kLooking, kDone } stage_ = kIdle;
  bool stop_ = false;
  std::thread thread_;
};

PairAligner::PairAligner(const Napi::CallbackInfo& info) : Napi::ObjectWrap<PairAligner>(info) {
  const Napi::Object options = objectAt(info, 0, "options");
  AlignerParameters p;
  readInput(options, p);
  p.view = {readNumber(options, "focalPixels"), readNumber(options, "cx"), readNumber(options, "cy")};
  p.maxWidth = readInteger(options, "maxWidth", 0, 16384);
  p.search = {readInteger(options, "rows", 1, 16384), readInteger(options, "minDisparity", -16384, 16384),
              readInteger(options, "maxDisparity", -16384, 16384)};
  throwUnlessOk(info.Env(), Aligner::check(p));
  try {
    aligner_ = std::make_unique<Aligner>(p, reinterpret_cast<RectifyGrey>(info.Data()));
  } catch (const std::bad_alloc&) {
    throw errorFrom(info.Env(), Status::error(Code::kMemoryExhausted,
                                              "Expected memory to compare images of %dx%d, the system gave none.",
                                              p.width, p.height));
  }
}

const uint8_t* PairAligner::imageAt(const Napi::CallbackInfo& info, size_t place) {
  const size_t bytes = aligner_->inputBytes(static_cast<int>(place));
  if (!info[place].IsTypedArray() || info[place].As<Napi::TypedArray>().TypedArrayType() != napi_uint8_array ||
      info[place].As<Napi::Uint8Array>().ByteLength() < bytes) {
    throw errorFrom(info.Env(), Status::error(Code::kParameter, "Expected a Uint8Array of %zu bytes for the %s image.",
                                              bytes, place == 0 ? "left" : "right"));
  }
  return info[place].As<Napi::Uint8Array>().Data();
}

double* PairAligner::numbersAt(const Napi::CallbackInfo& info, size_t place) {
  if (!info[place].IsTypedArray() || info[place].As<Napi::TypedArray>().TypedArrayType() != napi_float64_array ||
      info[place].As<Napi::Float64Array>().ElementLength() < kLookNumbers) {
    throw errorFrom(info.Env(),
                    Status::error(Code::kParameter, "Expected a Float64Array of %d numbers for a look.", kLookNumbers));
  }
  return info[place].As<Napi::Float64Array>().Data();
}

/// Estimates synchronously on this thread. Not while begin()'s work is running.
Napi::Value PairAligner::look(const Napi::CallbackInfo& info) {
  requireOpen(info.Env());
  if (thread_.joinable()) {
    throw errorFrom(info.Env(), Status::error(Code::kParameter, "Expected a PairAligner without a thread at work."));
  }
  const uint8_t *left = imageAt(info, 0), *right = imageAt(info, 1);
  double* const out = numbersAt(info, 2);
  const double before = cpuMilliseconds();
  const AlignmentLook result = aligner_->look(left, right);
  writeLook(result, cpuMilliseconds() - before, out);
  return info.Env().Undefined();
}

/// Returns false if the thread is busy, or if its newest result was not taken.
Napi::Value PairAligner::begin(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  requireOpen(env);
  const uint8_t* images[2] = {imageAt(info, 0), imageAt(info, 1)};
  if (!thread_.joinable()) {
    try {
      for (int side = 0; side < 2; ++side) copies_[side].resize(aligner_->inputBytes(side));
      thread_ = std::thread([this] { serve(); });
    } catch (const std::system_error& error) {
      throw errorFrom(env, noThread(error));
    } catch (const std::bad_alloc&) {
      throw errorFrom(env, Status::error(Code::kMemoryExhausted, "Expected memory for a copy of a pair."));
    }
    pthread_setname_np(thread_.native_handle(), "dw-health");
  }
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (stage_ != kIdle) return Napi::Boolean::New(env, false);
  }
  const double before = cpuMilliseconds();
  for (int side = 0; side < 2; ++side) std::memcpy(copies_[side].data(), images[side], copies_[side].size());
  copyMilliseconds_ = cpuMilliseconds() - before;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stage_ = kWaiting;
  }
  wake_.notify_one();
  return Napi::Boolean::New(env, true);
}

/// Returns whether there is a result since the last call, and copies it into the array.
Napi::Value PairAligner::take(const Napi::CallbackInfo& info) {
  requireOpen(info.Env());
  double* const out = numbersAt(info, 0);
  const std::lock_guard<std::mutex> lock(mutex_);
  if (stage_ != kDone) return Napi::Boolean::New(info.Env(), false);
  std::copy_n(numbers_, kLookNumbers, out);
  stage_ = kIdle;
  return Napi::Boolean::New(info.Env(), true);
}

void PairAligner::serve() {
  // Affects only this thread, because on Linux each has its own priority. If refused, the thread keeps its priority.
  setpriority(PRIO_PROCESS, static_cast<id_t>(syscall(SYS_gettid)), 10);
  std::unique_lock<std::mutex> lock(mutex_);
  for (;;) {
    wake_.wait(lock, [this] { return stop_ || stage_ == kWaiting; });
    if (stop_) return;
    stage_ = kLooking;
    lock.unlock();
    const double before = cpuMilliseconds();
    const AlignmentLook result = aligner_->look(copies_[0].data(), copies_[1].data());
    const double cpu = cpuMilliseconds() - before;
    lock.lock();
    writeLook(result, cpu + copyMilliseconds_, numbers_);
    stage_ = kDone;
  }
}

void PairAligner::stop() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
  aligner_.reset();
}

/// Rotates a map on a thread of Node's pool: a few milliseconds, during which frames continue.
class MapTurning : public Napi::AsyncWorker {
 public:
  MapTurning(Napi::Env env, const Napi::Object& call)
      : Napi::AsyncWorker(env, "depthwatt.turnMap"), deferred_(env), map_(readMap(call, "map")) {
    shape_ = {readInteger(call, "width", 2, 16384), readInteger(call, "height", 2, 16384),
              readInteger(call, "inputWidth", 1, 16384), readInteger(call, "inputHeight", 1, 16384)};
    view_ = {readNumber(call, "focalPixels"), readNumber(call, "cx"), readNumber(call, "cy")};
    const double* rotation = readElements<double>(call, "rotation", 9);
    std::copy_n(rotation, 9, rotation_);
    if (map_.size() != 2 * static_cast<size_t>(shape_.width) * static_cast<size_t>(shape_.height) ||
        !(view_.focalPixels > 0) ||
        !std::all_of(rotation_, rotation_ + 9, [](double number) { return std::isfinite(number); })) {
      throw errorFrom(
          env, Status::error(Code::kParameter, "Expected a map of %dx%d, a focal length above 0 and a finite rotation.",
                             shape_.width, shape_.height));
    }
  }
  Napi::Promise promise() const { return deferred_.Promise(); }

 private:
  void Execute() override {
    std::vector<int32_t> turned(map_.size());
    turnMap(map_.data(), shape_, view_, rotation_, turned.data());
    map_ = std::move(turned);
  }
  void OnOK() override {
    auto array = Napi::Int32Array::New(Env(), map_.size());
    std::copy(map_.begin(), map_.end(), array.Data());
    deferred_.Resolve(array);
  }
  void OnError(const Napi::Error& error) override { deferred_.Reject(error.Value()); }

  Napi::Promise::Deferred deferred_;
  std::vector<int32_t> map_;
  MapShape shape_;
  AlignmentView view_;
  double rotation_[9] = {};
};

Napi::Value turnMapOnPool(const Napi::CallbackInfo& info) {
  auto turning = std::make_unique<MapTurning>(info.Env(), objectAt(info, 0, "the map"));
  const Napi::Promise promise = turning->promise();
  turning.release()->Queue();
  return promise;
}

}  // namespace

void addAlignment(Napi::Env env, Napi::Object exports, RectifyGrey rectify) {
  exports.Set("PairAligner", PairAligner::define(env, rectify));
  exports.Set("turnMap", Napi::Function::New(env, turnMapOnPool, "turnMap"));
}

}  // namespace depthwatt
