// SPDX-License-Identifier: Apache-2.0
// Replaces NvBufSurface: buffers in plain memory, whose rows are padded.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

enum NvBufSurfaceColorFormat { NVBUF_COLOR_FORMAT_NV12 };
enum NvBufSurfaceLayout { NVBUF_LAYOUT_PITCH };
enum NvBufSurfaceMemMapFlags { NVBUF_MAP_READ };

struct NvBufSurfaceParams {
  struct {
    uint32_t pitch[4] = {};
  } planeParams;
  struct {
    void* addr[4] = {};
  } mappedAddr;
};

struct NvBufSurface {
  NvBufSurfaceParams params;
  NvBufSurfaceParams* surfaceList = &params;
  uint32_t width = 0, height = 0;
  std::vector<uint8_t> bytes;
  void allocate(uint32_t columns, uint32_t rows) {
    width = columns, height = rows;
    params.planeParams.pitch[0] = columns + 32;
    bytes.resize(static_cast<size_t>(columns + 32) * rows);
  }
};

inline std::map<int, NvBufSurface>& standInSurfaces() {
  static std::map<int, NvBufSurface> surfaces;
  return surfaces;
}
inline int NvBufSurfaceFromFd(int descriptor, void** surface) {
  *surface = &standInSurfaces()[descriptor];
  return 0;
}
inline int NvBufSurfaceMap(NvBufSurface* surface, int, int, NvBufSurfaceMemMapFlags) {
  surface->params.mappedAddr.addr[0] = surface->bytes.data();
  return 0;
}
inline int NvBufSurfaceSyncForCpu(NvBufSurface*, int, int) { return 0; }
