// SPDX-License-Identifier: Apache-2.0
// native.stages.rectify({variant, format, inputWidth, inputHeight, strideBytes, image: Uint8Array, width, height, map?: Int32Array,
//   grey?: Uint8Array, rgb?: Uint8Array, blackLevel?: number, edge?: "start" | "end"}): width and height are those of `grey`. With `edge`, the image is copied
//   to the start or the end of pages without neighbours, so that a load outside it ends the process.
#include "rectify.h"

#include <sys/mman.h>
#include <unistd.h>
#include <cstring>

#include "../engine/binding/variant.h"

namespace depthwatt {
namespace {

size_t callBytes(const Napi::Object& call, const RectifySource& source) {
  return sourceBytes(source.width, source.height, source.strideBytes, source.format, !call.Get("rgb").IsUndefined());
}

RectifySource readSource(const Napi::Object& call) {
  RectifySource source;
  source.width = readInteger(call, "inputWidth", 1, 32768);
  source.height = readInteger(call, "inputHeight", 1, 32768);
  source.strideBytes = static_cast<size_t>(readInteger(call, "strideBytes", 1, 1 << 24));
  const std::string format = readString(call, "format");
  if (!findPixelFormat(format.c_str(), &source.format)) {
    throw errorFrom(call.Env(),
                    Status::error(Code::kParameter, "Expected a pixel format of frame.ts, got '%s'.", format.c_str()));
  }
  if (!call.Get("blackLevel").IsUndefined()) source.blackLevel = readInteger(call, "blackLevel", 0, 255);
  const size_t bytes = callBytes(call, source);
  if (bytes == 0) {
    throw errorFrom(call.Env(),
                    Status::error(Code::kParameter, "Expected a row stride that holds %d pixels, got %zu bytes.",
                                  source.width, source.strideBytes));
  }
  source.data = readElements<const uint8_t>(call, "image", bytes);
  return source;
}

/// A copy of some bytes between two inaccessible pages.
class GuardedCopy {
 public:
  GuardedCopy(const uint8_t* bytes, size_t count, bool atEnd) {
    const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    const size_t inside = (count + page - 1) / page * page;
    length_ = inside + 2 * page;
    void* mapped = mmap(nullptr, length_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) return;
    base_ = static_cast<uint8_t*>(mapped);
    if (mprotect(base_ + page, inside, PROT_READ | PROT_WRITE) != 0) return;
    data_ = base_ + page + (atEnd ? inside - count : 0);
    std::memcpy(data_, bytes, count);
  }
  ~GuardedCopy() {
    if (base_ != nullptr) munmap(base_, length_);
  }
  GuardedCopy(const GuardedCopy&) = delete;
  GuardedCopy& operator=(const GuardedCopy&) = delete;
  const uint8_t* data() const { return data_; }  ///< null if memory could not be allocated

 private:
  uint8_t* base_ = nullptr;
  uint8_t* data_ = nullptr;
  size_t length_ = 0;
};

void run(const Variant& variant, const RectifySource& source, const int32_t* map, ImageView<uint8_t> grey) {
  if (variant.isReference) rectifyReference(source, map, grey);
  else kernelsFor<RectifyKernels>(variant.set).rectify(source, map, grey, 0, grey.height);
}

Napi::Value rectify(const Napi::CallbackInfo& info) {
  const auto call = objectAt(info, 0, "the call");
  const Variant variant = readVariant(call);
  const RectifySource source = readSource(call);
  const int32_t width = readInteger(call, "width", 1, 32768), height = readInteger(call, "height", 1, 32768);
  const auto grey = call.Get("grey").IsUndefined()
                        ? ImageView<uint8_t>{}
                        : readImage<uint8_t>(call, "grey", width, height, static_cast<size_t>(width));
  const int32_t* map = nullptr;
  const bool colours = !call.Get("rgb").IsUndefined();
  if (!call.Get("map").IsUndefined()) {
    map =
        readImage<const int32_t>(call, "map", 2 * width, height, static_cast<size_t>(width) * 2 * sizeof(int32_t)).data;
  } else if (width != source.width || height != source.height) {
    throw errorFrom(info.Env(), Status::error(Code::kParameter, "Expected a result of %dx%d without a map, got %dx%d.",
                                              source.width, source.height, width, height));
  }
  ImageView<Rgb8> rgb;
  if (colours) {
    const auto bytes = readImage<uint8_t>(call, "rgb", 3 * width, height, 3 * static_cast<size_t>(width));
    rgb = packedView(reinterpret_cast<Rgb8*>(bytes.data), width, height);
    if (!hasColours(source.format))
      throw errorFrom(info.Env(), Status::error(Code::kParameter, "Expected a format with colours."));
  }
  const auto compute = [&](const RectifySource& from) {
    if (!colours) return run(variant, from, map, grey);
    if (!variant.isReference)
      return kernelsFor<RectifyKernels>(variant.set).rectifyRgb(from, map, rgb, grey, 0, height);
    rectifyRgbReference(from, map, rgb);
    if (grey.data != nullptr) rectifyReference(from, map, grey);
  };
  const std::string edge = readOptionalString(call, "edge");
  if (edge.empty()) {
    compute(source);
  } else {
    const GuardedCopy copy(source.data, callBytes(call, source), edge == "end");
    if (copy.data() == nullptr)
      throw errorFrom(info.Env(), Status::error(Code::kFailed, "No memory for a guarded image."));
    RectifySource guarded = source;
    guarded.data = copy.data();
    compute(guarded);
  }
  return Napi::String::New(info.Env(), variant.name());
}

}  // namespace

void addRectify(Napi::Env env, Napi::Object stages) {
  stages.Set("rectify", Napi::Function::New(env, rectify, "rectify"));
}

}  // namespace depthwatt
