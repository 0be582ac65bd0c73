// SPDX-License-Identifier: Apache-2.0
// Fuzz target of RVL: a body is decoded or rejected, and both encoders reproduce a decoded image. The first two bytes
// are the claimed number of pixels.
#include <cstdlib>
#include <cstring>
#include <memory>

#include "../../../cuda/output/rvl/rvl.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace depthwatt;
  if (size < 2) return 0;
  const size_t pixels = (data[0] | data[1] << 8) & 0x0fff;
  const size_t bytes = size - 2;
  const std::unique_ptr<uint8_t[]> body(new uint8_t[bytes]);
  std::memcpy(body.get(), data + 2, bytes);
  const std::unique_ptr<uint16_t[]> out(new uint16_t[pixels]);
  if (!rvlDecode(body.get(), bytes, out.get(), pixels)) return 0;
  const size_t bound = rvlBound(pixels);
  const std::unique_ptr<uint8_t[]> fast(new uint8_t[bound]), defined(new uint8_t[bound]);
  const size_t written = rvlEncodeDepth(out.get(), pixels, fast.get());
  if (written > bound || written != rvlReference(out.get(), pixels, defined.get())) std::abort();
  if (written > 0 && std::memcmp(fast.get(), defined.get(), written) != 0) std::abort();
  const std::unique_ptr<uint16_t[]> again(new uint16_t[pixels]);
  if (!rvlDecode(fast.get(), written, again.get(), pixels)) std::abort();
  if (pixels > 0 && std::memcmp(again.get(), out.get(), 2 * pixels) != 0) std::abort();
  return 0;
}
