// SPDX-License-Identifier: Apache-2.0
// Points on CUDA; see points.h. One thread per pixel; each operation is one IEEE rounding, never fused.
#include "../../device/check.h"
#include "points_gpu.h"

namespace depthwatt {
namespace gpu {
namespace {

constexpr int kBlockX = 32, kBlockY = 8;

struct PointsArguments {
  const int16_t* disparityQ4;
  const uint8_t* grey;
  const Rgb8* rgb;
  const float *columns, *rows;
  uint8_t* points;
  int width, height;
  float numerator, offsetQ4, halfBaseline;
};

__device__ __forceinline__ uint32_t floatBits(float value) {
#if defined(__CUDACC__)
  return __float_as_uint(value);
#else
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
#endif
}

/// Rounds to whole millimetres. Returns false if one is too large for int16.
__device__ __forceinline__ bool roundedTo16Bits(const float* values, uint32_t* whole) {
  bool inside = true;
#pragma unroll
  for (int i = 0; i < 3; ++i) {
    const float rounded = floorf(__fadd_rn(values[i], 0.5f));
    const bool fits = rounded >= -32767.0f && rounded <= 32767.0f;
    inside = inside && fits;
    whole[i] = static_cast<uint32_t>(fits ? static_cast<int32_t>(rounded) : 0) & 0xffffu;
  }
  return inside;
}

template <PointFrame kFrame, PointElement kElement, bool kColours>
__global__ void __launch_bounds__(kBlockX* kBlockY) pointsKernel(PointsArguments a) {
  constexpr bool kFloat = kElement == PointElement::kF32;
  const int x = blockIdx.x * kBlockX + threadIdx.x, y = blockIdx.y * kBlockY + threadIdx.y;
  if (x >= a.width || y >= a.height) return;
  const size_t at = static_cast<size_t>(y) * a.width + x;
  const int16_t disparity = a.disparityQ4[at];
  const float denominator = __fadd_rn(static_cast<float>(disparity), a.offsetQ4);
  const bool valid = disparity != kInvalidDisparity && denominator > 0;
  float z = __fdiv_rn(a.numerator, denominator);
  if (kFloat) z = __fdiv_rn(z, 1000.0f);
  const float aside = __fmul_rn(a.columns[x], z), along = __fmul_rn(a.rows[y], z);
  const bool camera = kFrame == PointFrame::kCamera;
  const float values[3] = {camera ? aside : z, camera ? along : __fsub_rn(a.halfBaseline, aside), camera ? z : along};

  uint32_t grey = 0, colour = 0;
  if (kColours) {
    const Rgb8 own = a.rgb[at];
    colour = own.blue | static_cast<uint32_t>(own.green) << 8 | static_cast<uint32_t>(own.red) << 16 | 0xff000000u;
  } else {
    grey = a.grey[at];
    colour = grey * 0x010101u | 0xff000000u;
  }
  if (kFloat) {
    constexpr uint32_t kNone = 0x7fc00000u;
    reinterpret_cast<uint4*>(a.points)[at] =
        make_uint4(valid ? floatBits(values[0]) : kNone, valid ? floatBits(values[1]) : kNone,
                   valid ? floatBits(values[2]) : kNone, colour);
    return;
  }
  uint32_t whole[3];
  if (!(roundedTo16Bits(values, whole) && valid)) whole[0] = whole[1] = whole[2] = static_cast<uint16_t>(kNoPoint);
  if (!kColours) {
    reinterpret_cast<uint2*>(a.points)[at] = make_uint2(whole[0] | whole[1] << 16, whole[2] | grey << 16);
    return;
  }
  uint16_t* const to = reinterpret_cast<uint16_t*>(a.points) + 5 * at;
  for (int i = 0; i < 3; ++i) to[i] = static_cast<uint16_t>(whole[i]);
  to[3] = static_cast<uint16_t>(colour), to[4] = static_cast<uint16_t>(colour >> 16);
}

template <PointFrame kFrame>
void (*chooseKernel(const PointsParameters& p))(PointsArguments) {
  if (p.element == PointElement::kF32)
    return p.colours ? pointsKernel<kFrame, PointElement::kF32, true> : pointsKernel<kFrame, PointElement::kF32, false>;
  return p.colours ? pointsKernel<kFrame, PointElement::kI16, true> : pointsKernel<kFrame, PointElement::kI16, false>;
}

}  // namespace

Status PointsWorkspace::open(const PointsParameters& parameters, int32_t width, int32_t height) {
  width_ = width, height_ = height;
  plan_ = makePointsPlan(parameters, width);
  std::vector<float> rays = plan_.columns;
  for (int32_t y = 0; y < height; ++y) {
    const double rows = parameters.frame == PointFrame::kCamera ? y - parameters.cy : parameters.cy - y;
    rays.push_back(static_cast<float>(rows / parameters.focalPixels));
  }
  DEPTHWATT_TRY(rays_.allocate(rays.size()));
  return cudaStatus(cudaMemcpy(rays_.get(), rays.data(), rays_.bytes(), cudaMemcpyHostToDevice), "rays of the pixels");
}

Status PointsWorkspace::compute(const int16_t* disparityQ4, const uint8_t* grey, const Rgb8* rgb, uint8_t* points,
                                cudaStream_t stream) const {
  PointsArguments a = {};
  a.disparityQ4 = disparityQ4, a.grey = grey, a.rgb = rgb;
  a.columns = rays_.get(), a.rows = rays_.get() + width_;
  a.points = points;
  a.width = width_, a.height = height_;
  a.numerator = plan_.numerator, a.offsetQ4 = plan_.offsetQ4, a.halfBaseline = plan_.halfBaseline;
  const dim3 grid((width_ + kBlockX - 1) / kBlockX, (height_ + kBlockY - 1) / kBlockY);
  const auto kernel = plan_.parameters.frame == PointFrame::kCamera
                          ? chooseKernel<PointFrame::kCamera>(plan_.parameters)
                          : chooseKernel<PointFrame::kRobot>(plan_.parameters);
  kernel<<<grid, dim3(kBlockX, kBlockY), 0, stream>>>(a);
  return launched("pointsKernel");
}

}  // namespace gpu
}  // namespace depthwatt
