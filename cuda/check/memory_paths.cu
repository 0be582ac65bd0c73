// SPDX-License-Identifier: Apache-2.0
// Imports DMA buffers of this machine and measures each path of a captured pair to the kernels; prints one JSON document.
//   nvcc -std=c++14 -O3 -o memory_paths cuda/check/memory_paths.cu -lcuda -ldl && ./memory_paths COMMIT
// Buffers: memory of cuMemCreate as a POSIX descriptor, the same memory as a DMA buffer (cuMemGetHandleForAddressRange),
// and system memory as a DMA buffer (/dev/udmabuf). Which of them exist depends on driver and kernel. A failed import of
// a buffer that the driver does not support is a finding; wrong bytes of an imported one are an error.
#include <cuda.h>
#include <fcntl.h>
#include <linux/udmabuf.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "../gpu/host_memory.h"

namespace {

using namespace depthwatt;
using namespace depthwatt::gpu;

constexpr size_t kRow = 640, kBytes = kRow * 480;
constexpr int kRuns = 201;

uint8_t expectedAt(size_t i) { return static_cast<uint8_t>(31 * i + (i >> 9) + 7); }

__global__ void readImage(const uint8_t* image, uint8_t* copy, int bytes) {
  const int i = 4 * (blockIdx.x * blockDim.x + threadIdx.x);
  if (i < bytes) *reinterpret_cast<uchar4*>(copy + i) = *reinterpret_cast<const uchar4*>(image + i);
}

/// A buffer and how it was filled; `missing` names the call that failed.
struct Exported {
  int descriptor = -1;
  std::string missing;
  size_t bytes = 0;
};

std::string driverError(CUresult result) {
  const char* text = nullptr;
  cuGetErrorName(result, &text);
  return text != nullptr ? text : "unknown";
}

/// Device memory with the pattern in it, exported as a POSIX descriptor or as a DMA buffer.
Exported exportDeviceMemory(bool asDmaBuffer) {
  Exported exported;
  CUmemAllocationProp properties = {};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  size_t granularity = 0;
  const auto fail = [&](const char* call, CUresult result) {
    exported.missing = std::string(call) + ": " + driverError(result);
    return exported;
  };
  if (CUresult r = cuMemGetAllocationGranularity(&granularity, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM))
    return fail("cuMemGetAllocationGranularity", r);
  const size_t bytes = (kBytes + granularity - 1) / granularity * granularity;
  CUmemGenericAllocationHandle memory = 0;
  CUdeviceptr at = 0;
  CUmemAccessDesc access = {};
  access.location = properties.location;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  if (CUresult r = cuMemCreate(&memory, bytes, &properties, 0)) return fail("cuMemCreate", r);
  if (CUresult r = cuMemAddressReserve(&at, bytes, 0, 0, 0)) return fail("cuMemAddressReserve", r);
  if (CUresult r = cuMemMap(at, bytes, 0, memory, 0)) return fail("cuMemMap", r);
  if (CUresult r = cuMemSetAccess(at, bytes, &access, 1)) return fail("cuMemSetAccess", r);
  std::vector<uint8_t> pattern(kBytes);
  for (size_t i = 0; i < kBytes; ++i) pattern[i] = expectedAt(i);
  if (CUresult r = cuMemcpyHtoD(at, pattern.data(), kBytes)) return fail("cuMemcpyHtoD", r);
  if (asDmaBuffer) {
#if CUDA_VERSION >= 11070
    if (CUresult r =
            cuMemGetHandleForAddressRange(&exported.descriptor, at, bytes, CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0)) {
      exported.descriptor = -1;
      return fail("cuMemGetHandleForAddressRange", r);
    }
#else
    exported.missing = "this toolkit exports no DMA buffer";
#endif
  } else if (CUresult r = cuMemExportToShareableHandle(&exported.descriptor, memory,
                                                       CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0)) {
    exported.descriptor = -1;
    return fail("cuMemExportToShareableHandle", r);
  }
  exported.bytes = bytes;
  return exported;
}

Exported exportSystemMemory() {
  Exported exported;
  const size_t page = 4096, bytes = (kBytes + page - 1) / page * page;
  const int device = open("/dev/udmabuf", O_RDWR | O_CLOEXEC);
  if (device < 0) {
    exported.missing = std::string("/dev/udmabuf: ") + std::strerror(errno);
    return exported;
  }
  const int file = memfd_create("image", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (ftruncate(file, static_cast<off_t>(bytes)) != 0 || fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK) != 0) {
    exported.missing = std::string("memfd: ") + std::strerror(errno);
    return exported;
  }
  auto* const pixels = static_cast<uint8_t*>(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0));
  for (size_t i = 0; i < kBytes; ++i) pixels[i] = expectedAt(i);
  udmabuf_create create = {};
  create.memfd = static_cast<uint32_t>(file);
  create.size = bytes;
  exported.descriptor = ioctl(device, UDMABUF_CREATE, &create);
  if (exported.descriptor < 0) exported.missing = std::string("UDMABUF_CREATE: ") + std::strerror(errno);
  exported.bytes = bytes;
  return exported;
}

class Timer {
 public:
  Timer() {
    for (cudaEvent_t& event : events_) cudaEventCreate(&event);
  }
  /// Returns the median of the device time, microseconds.
  double median(const std::function<void()>& work) {
    std::vector<float> times;
    for (int i = 0; i < kRuns; ++i) {
      cudaEventRecord(events_[0]);
      work();
      cudaEventRecord(events_[1]);
      cudaEventSynchronize(events_[1]);
      float milliseconds = 0;
      cudaEventElapsedTime(&milliseconds, events_[0], events_[1]);
      times.push_back(1000 * milliseconds);
    }
    std::nth_element(times.begin(), times.begin() + kRuns / 2, times.end());
    return times[kRuns / 2];
  }

 private:
  cudaEvent_t events_[2];
};

/// Returns whether kernels see the pattern at this address.
bool hasPattern(const uint8_t* image, uint8_t* copy) {
  cudaMemset(copy, 0, kBytes);
  readImage<<<kBytes / 1024, 256>>>(image, copy, static_cast<int>(kBytes));
  std::vector<uint8_t> found(kBytes);
  if (cudaMemcpy(found.data(), copy, kBytes, cudaMemcpyDeviceToHost) != cudaSuccess) return false;
  for (size_t i = 0; i < kBytes; ++i) {
    if (found[i] != expectedAt(i)) return false;
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  cudaDeviceProp properties;
  if (cudaFree(nullptr) != cudaSuccess || cudaGetDeviceProperties(&properties, 0) != cudaSuccess) return 3;
  int failures = 0, driver = 0;
  cudaDriverGetVersion(&driver);
  uint8_t* copy = nullptr;
  if (cudaMalloc(&copy, kBytes) != cudaSuccess) return 3;
  Timer timer;
  const auto read = [&](const uint8_t* image) {
    readImage<<<kBytes / 1024, 256>>>(image, copy, static_cast<int>(kBytes));
  };
  std::printf(
      "{\"commit\": \"%s\", \"device\": \"%s\", \"driver\": %d, \"toolkit\": %d, \"bytes\": %zu,\n \"imports\": {",
      argc > 1 ? argv[1] : "unknown", properties.name, driver, CUDART_VERSION, kBytes);

  // A rule that imports, as a board has it.
  InputRule board = kInputRules[0];
  const struct {
    const char* name;
    Exported exported;
  } buffers[] = {{"cuMemCreate as a POSIX descriptor", exportDeviceMemory(false)},
                 {"cuMemCreate as a DMA buffer", exportDeviceMemory(true)},
                 {"system memory as a DMA buffer", exportSystemMemory()}};
  double importedMicroseconds = -1;
  for (const auto& buffer : buffers) {
    std::printf("%s\n  \"%s\": ", &buffer == buffers ? "" : ",", buffer.name);
    if (buffer.exported.descriptor < 0) {
      std::printf("{\"exported\": false, \"reason\": \"%s\"}", buffer.exported.missing.c_str());
      continue;
    }
    HostMemory memory;
    memory.setRule(board);
    // The address stands for the driver's mapping; only the import makes it known to kernels.
    std::vector<uint8_t> mapping(buffer.exported.bytes);
    InputMemory input;
    input.data = mapping.data();
    input.bytes = buffer.exported.bytes;
    input.dmaBuffer = buffer.exported.descriptor;
    const Status status = memory.import(input, kRow);
    if (!status.ok()) {
      std::printf("{\"exported\": true, \"imported\": false, \"reason\": \"%s\"}", status.message);
      continue;
    }
    const uint8_t* const image = memory.onDevice(mapping.data(), kBytes);
    const bool right =
        image != nullptr && memory.path(mapping.data(), kBytes) == InputPath::kDmaBuffer && hasPattern(image, copy);
    failures += right ? 0 : 1;
    const double microseconds = timer.median([&] { read(image); });
    if (importedMicroseconds < 0) importedMicroseconds = microseconds;
    std::printf("{\"exported\": true, \"imported\": true, \"rightBytes\": %s, \"readMicroseconds\": %.2f}",
                right ? "true" : "false", microseconds);
  }

  // One image by each path. "read": the kernel's time over the address; copies are followed by a read of device memory.
  std::vector<uint8_t> pageable(kBytes);
  for (size_t i = 0; i < kBytes; ++i) pageable[i] = expectedAt(i);
  uint8_t* raw = nullptr;
  if (cudaMalloc(&raw, kBytes) != cudaSuccess) return 3;
  const auto copyImage = [&](const void* from) { cudaMemcpyAsync(raw, from, kBytes, cudaMemcpyHostToDevice, 0); };
  const double plain = timer.median([&] { copyImage(pageable.data()); });
  const double device = timer.median([&] { read(raw); });
  double pinned = -1, mapped = -1;
  void* own = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  std::memcpy(own, pageable.data(), kBytes);
  HostMemory memory;
  memory.setRule(board);
  memory.add(own, kBytes);
  const uint8_t* const inPlace = memory.onDevice(static_cast<uint8_t*>(own), kBytes);
  if (inPlace != nullptr) {
    failures += hasPattern(inPlace, copy) ? 0 : 1;
    mapped = timer.median([&] { read(inPlace); });
    pinned = timer.median([&] { copyImage(own); });
  }
  std::printf(
      "},\n \"microseconds\": {\"copy\": %.2f, \"pinned-copy\": %.2f, \"read of a copy\": %.2f, \"user-pointer\": %.2f, "
      "\"dma-buf\": %.2f},\n \"failures\": %d}\n",
      plain, pinned, device, mapped, importedMicroseconds, failures);
  return failures == 0 ? 0 : 1;
}
