// SPDX-License-Identifier: Apache-2.0
// Memory, streams, events, graphs and simulated failures of the CUDA emulation; see host_api.h.
#include "host_api.h"

#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <map>
#include <mutex>
#include <string>
#include <vector>

using Clock = std::chrono::steady_clock;

namespace {

/// The work of a capture that is known to be complete: per stream the number of its newest item.
using Done = std::map<EmulatedStream*, int>;

struct Capture {
  EmulatedStream* origin = nullptr;
  std::vector<std::function<void()>> work;
  std::map<EmulatedStream*, Done> streams;
};

}  // namespace

struct EmulatedStream {
  Capture* capture = nullptr;
};
struct EmulatedGraph {
  std::vector<std::function<void()>> work;
};
struct EmulatedEvent {
  bool timed = true;
  bool recorded = false;
  Clock::time_point at;
  Capture* capture = nullptr;  ///< recorded within it; each capture has its own number
  Done done;
};

namespace {

/// One device: work queued by two threads is done in sequence.
std::recursive_mutex device;
thread_local cudaError_t lastError = cudaSuccess;
thread_local EmulatedStream* capturing = nullptr;
cudaError_t broken = cudaSuccess;
int launches = 0, waits = 0;
std::map<void*, std::pair<void*, size_t>> allocations;
std::map<void*, size_t> registered;

using Lock = std::lock_guard<std::recursive_mutex>;

std::string setting(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// Returns whether the list of numbers, words and commas contains `word`.
bool names(const std::string& list, const std::string& word) {
  return ("," + list + ",").find("," + word + ",") != std::string::npos;
}

std::string deviceSetting() {
  const std::string given = setting("WARP_DEVICE");
  return given.empty() ? "90,register,map" : given;
}

int capability() {
  for (const char* one : {"53", "62", "72", "87", "110"}) {
    if (names(deviceSetting(), one)) return std::atoi(one);
  }
  return 90;
}

void note(const char* what, const void* memory, size_t bytes) {
  static const std::string file = setting("WARP_LOG");
  if (file.empty()) return;
  if (FILE* log = std::fopen(file.c_str(), "a")) {
    std::fprintf(log, "%s %zu %zu\n", what, reinterpret_cast<size_t>(memory), bytes);
    std::fclose(log);
  }
}

cudaError_t answer(cudaError_t error) {
  if (error == cudaSuccess) error = broken;
  if (error != cudaSuccess) lastError = error;
  return error;
}

/// Does the work now, or records it if the stream is being captured.
cudaError_t queue(cudaStream_t stream, std::function<void()> work) {
  const Lock lock(device);
  if (broken != cudaSuccess) return answer(broken);
  if (stream != nullptr && stream->capture != nullptr) {
    Capture& capture = *stream->capture;
    capture.work.push_back(std::move(work));
    capture.streams[stream][stream] = static_cast<int>(capture.work.size());
    return cudaSuccess;
  }
  if (capturing != nullptr) return answer(cudaErrorStreamCaptureIsolation);
  // Report only this work's error: an older one stays for cudaGetLastError.
  const cudaError_t before = lastError;
  lastError = cudaSuccess;
  work();
  const cudaError_t own = lastError;
  if (own == cudaSuccess) lastError = before;
  return own;
}

cudaError_t notWhileCapturing() {
  return answer(capturing != nullptr ? cudaErrorStreamCaptureUnsupported : cudaSuccess);
}

}  // namespace

namespace warp {

void setError(cudaError_t error) { lastError = error; }

void launch(cudaStream_t stream, std::function<void()> work) {
  const Lock lock(device);
  if (names(setting("WARP_FAIL_LAUNCH"), std::to_string(++launches))) {
    lastError = cudaErrorLaunchOutOfResources;
    return;
  }
  queue(stream, std::move(work));
}

}  // namespace warp

cudaError_t cudaMalloc(void** memory, size_t bytes) {
  const Lock lock(device);
  if (const cudaError_t error = notWhileCapturing()) return error;
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const size_t held = (bytes + page - 1) / page * page;
  void* whole = mmap(nullptr, held + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (whole == MAP_FAILED || mprotect(static_cast<char*>(whole) + page, held, PROT_READ | PROT_WRITE) != 0) {
    return answer(cudaErrorMemoryAllocation);
  }
  std::memset(static_cast<char*>(whole) + page, 0xa5, held);
  *memory = static_cast<char*>(whole) + page + (held - bytes) / 16 * 16;
  allocations[*memory] = {whole, held + 2 * page};
  return cudaSuccess;
}

cudaError_t cudaMallocHost(void** memory, size_t bytes) {
  const Lock lock(device);
  if (const cudaError_t error = notWhileCapturing()) return error;
  *memory = std::malloc(bytes);
  return *memory != nullptr ? cudaSuccess : answer(cudaErrorMemoryAllocation);
}
cudaError_t cudaFreeHost(void* memory) {
  std::free(memory);
  return cudaSuccess;
}

cudaError_t cudaFree(void* memory) {
  const Lock lock(device);
  const auto found = allocations.find(memory);
  if (found != allocations.end()) {
    munmap(found->second.first, found->second.second);
    allocations.erase(found);
  } else if (memory != nullptr) {
    return answer(cudaErrorInvalidValue);
  }
  return notWhileCapturing();
}

cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind) {
  if (const cudaError_t error = notWhileCapturing()) return error;
  std::memcpy(to, from, bytes);
  return cudaSuccess;
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  return queue(stream, [=] {
    if (kind == cudaMemcpyHostToDevice) note("upload", from, bytes);
    if (kind == cudaMemcpyDeviceToHost) note("download", to, bytes);
    std::memcpy(to, from, bytes);
  });
}
cudaError_t cudaMemset(void* at, int value, size_t bytes) {
  if (const cudaError_t error = notWhileCapturing()) return error;
  std::memset(at, value, bytes);
  return cudaSuccess;
}
cudaError_t cudaMemsetAsync(void* at, int value, size_t bytes, cudaStream_t stream) {
  return queue(stream, [=] { std::memset(at, value, bytes); });
}

cudaError_t cudaHostRegister(void* memory, size_t bytes, unsigned) {
  const Lock lock(device);
  if (!names(deviceSetting(), "register")) return answer(cudaErrorInvalidValue);
  if (registered.count(memory) > 0) return answer(cudaErrorHostMemoryAlreadyRegistered);
  registered[memory] = bytes;
  note("register", memory, bytes);
  return answer(cudaSuccess);
}
cudaError_t cudaHostUnregister(void* memory) {
  const Lock lock(device);
  if (registered.count(memory) == 0) return answer(cudaErrorHostMemoryNotRegistered);
  note("unregister", memory, registered[memory]);
  // Touching the pages shows whether they are still mapped.
  static_cast<volatile char*>(memory)[registered[memory] - 1];
  registered.erase(memory);
  return answer(cudaSuccess);
}
cudaError_t cudaHostGetDevicePointer(void** onDevice, void* memory, unsigned) {
  const Lock lock(device);
  *onDevice = memory;
  return answer(registered.count(memory) > 0 ? cudaSuccess : cudaErrorInvalidValue);
}

struct EmulatedImport {
  void* data;
  size_t bytes;
};

cudaError_t cudaImportExternalMemory(cudaExternalMemory_t* memory, const cudaExternalMemoryHandleDesc* handle) {
  const Lock lock(device);
  if (!names(deviceSetting(), "import")) return answer(cudaErrorInvalidValue);
  void* const data = mmap(nullptr, handle->size, PROT_READ, MAP_SHARED, handle->handle.fd, 0);
  if (data == MAP_FAILED) return answer(cudaErrorInvalidValue);
  close(handle->handle.fd);
  *memory = new EmulatedImport{data, static_cast<size_t>(handle->size)};
  note("import", data, (*memory)->bytes);
  return answer(cudaSuccess);
}
cudaError_t cudaExternalMemoryGetMappedBuffer(void** onDevice, cudaExternalMemory_t memory,
                                              const cudaExternalMemoryBufferDesc* part) {
  if (part->offset + part->size > memory->bytes) return answer(cudaErrorInvalidValue);
  *onDevice = static_cast<char*>(memory->data) + part->offset;
  return answer(cudaSuccess);
}
cudaError_t cudaDestroyExternalMemory(cudaExternalMemory_t memory) {
  const Lock lock(device);
  note("unimport", memory->data, memory->bytes);
  munmap(memory->data, memory->bytes);
  delete memory;
  return answer(cudaSuccess);
}

cudaError_t cudaGetLastError() {
  const cudaError_t was = lastError;
  lastError = broken;
  return was;
}
const char* cudaGetErrorString(cudaError_t error) {
  switch (error) {
    case cudaErrorIllegalAddress: return "an illegal memory access was encountered";
    case cudaErrorLaunchOutOfResources: return "too many resources requested for launch";
    case cudaErrorMemoryAllocation: return "out of memory";
    default: return "emulated";
  }
}
const char* cudaGetErrorName(cudaError_t error) {
  switch (error) {
    case cudaErrorIllegalAddress: return "cudaErrorIllegalAddress";
    case cudaErrorLaunchOutOfResources: return "cudaErrorLaunchOutOfResources";
    case cudaErrorStreamCaptureUnjoined: return "cudaErrorStreamCaptureUnjoined";
    case cudaErrorStreamCaptureIsolation: return "cudaErrorStreamCaptureIsolation";
    case cudaErrorStreamCaptureUnsupported: return "cudaErrorStreamCaptureUnsupported";
    default: return "emulated";
  }
}
cudaError_t cudaDeviceSynchronize() { return notWhileCapturing(); }
cudaError_t cudaDeviceReset() {
  const Lock lock(device);
  note("reset", nullptr, 0);
  if (setting("WARP_FAIL_RESET").empty()) broken = cudaSuccess;
  lastError = broken;
  return broken;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  *stream = new EmulatedStream;
  return notWhileCapturing();
}
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int) {
  return cudaStreamCreateWithFlags(stream, flags);
}
cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  *least = 0;
  *greatest = -5;
  return answer(cudaSuccess);
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  delete stream;
  return answer(cudaSuccess);
}
cudaError_t cudaStreamSynchronize(cudaStream_t) { return notWhileCapturing(); }

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  const Lock lock(device);
  if (stream == nullptr) return answer(event->capture == nullptr ? cudaSuccess : cudaErrorStreamCaptureIsolation);
  if (stream->capture != event->capture) {
    const bool forks = stream->capture == nullptr && event->capture == (capturing ? capturing->capture : nullptr);
    if (!forks) return answer(cudaErrorStreamCaptureIsolation);
    stream->capture = event->capture;
  }
  if (stream->capture == nullptr) return answer(cudaSuccess);
  Done& known = stream->capture->streams[stream];
  for (const auto& [other, newest] : event->done) known[other] = std::max(known[other], newest);
  return answer(cudaSuccess);
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
  const Lock lock(device);
  if (capturing != nullptr || stream == nullptr) return answer(cudaErrorStreamCaptureUnsupported);
  capturing = stream;
  stream->capture = new Capture;  // never freed: events may point to it
  stream->capture->origin = stream;
  return answer(cudaSuccess);
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  const Lock lock(device);
  if (capturing != stream || stream == nullptr) return answer(cudaErrorInvalidValue);
  Capture& capture = *stream->capture;
  const Done& known = capture.streams[stream];
  bool joined = true;
  for (auto& [other, done] : capture.streams) {
    other->capture = nullptr;
    const auto seen = known.find(other);
    if (done.count(other) > 0 && (seen == known.end() || seen->second < done.at(other))) joined = false;
  }
  capturing = nullptr;
  stream->capture = nullptr;
  *graph = nullptr;
  if (!joined) return answer(cudaErrorStreamCaptureUnjoined);
  *graph = new EmulatedGraph{std::move(capture.work)};
  return answer(cudaSuccess);
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph, unsigned long long) {
  *executable = new EmulatedGraph(*graph);
  return answer(cudaSuccess);
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream) {
  return queue(stream, [=] {
    note("graph", nullptr, executable->work.size());
    for (const std::function<void()>& work : executable->work) work();
  });
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete graph;
  return answer(cudaSuccess);
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) { return cudaGraphDestroy(executable); }

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  *event = new EmulatedEvent;
  (*event)->timed = (flags & cudaEventDisableTiming) == 0;
  return notWhileCapturing();
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete event;
  return answer(cudaSuccess);
}

cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned flags) {
  const Lock lock(device);
  if (stream != nullptr && stream->capture != nullptr && flags != cudaEventRecordExternal) {
    event->capture = stream->capture;
    event->done = stream->capture->streams[stream];
    event->recorded = false;  // it is part of the capture and has no time
    return answer(cudaSuccess);
  }
  event->capture = nullptr;
  event->done.clear();
  return queue(stream, [=] { event->at = Clock::now(), event->recorded = true; });
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  const Lock lock(device);
  if (names(setting("WARP_FAIL_SYNC"), std::to_string(++waits))) broken = cudaErrorIllegalAddress;
  if (const cudaError_t error = notWhileCapturing()) return error;
  return answer(event->recorded ? cudaSuccess : cudaErrorInvalidValue);
}
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t from, cudaEvent_t to) {
  const Lock lock(device);
  if (!from->recorded || !to->recorded || !from->timed || !to->timed) return answer(cudaErrorInvalidValue);
  *milliseconds = std::chrono::duration<float, std::milli>(to->at - from->at).count();
  return answer(cudaSuccess);
}

cudaError_t cudaDriverGetVersion(int* version) { return *version = CUDART_VERSION, cudaSuccess; }
cudaError_t cudaRuntimeGetVersion(int* version) { return *version = CUDART_VERSION, cudaSuccess; }
cudaError_t cudaGetDeviceCount(int* count) { return *count = 1, answer(cudaSuccess); }
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int) {
  std::strcpy(properties->name, "a CPU that emulates a GPU");
  properties->major = capability() / 10, properties->minor = capability() % 10, properties->multiProcessorCount = 8;
  return answer(cudaSuccess);
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int) {
  switch (attribute) {
    case cudaDevAttrMultiProcessorCount: *value = 8; break;
    case cudaDevAttrIntegrated: *value = names(deviceSetting(), "integrated"); break;
    case cudaDevAttrCanMapHostMemory: *value = names(deviceSetting(), "map"); break;
    case cudaDevAttrHostRegisterSupported: *value = names(deviceSetting(), "register"); break;
    case cudaDevAttrComputeCapabilityMajor: *value = capability() / 10; break;
    case cudaDevAttrComputeCapabilityMinor: *value = capability() % 10; break;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor: *value = 233472; break;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin: *value = 98304; break;
  }
  return answer(cudaSuccess);
}
