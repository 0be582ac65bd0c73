// SPDX-License-Identifier: Apache-2.0
// A texture over an array in device memory, as the papers before 2010 read their costs.
#pragma once

#include "../../device/check.h"

namespace depthwatt {
namespace gpu {
namespace baseline {

template <class T>
Status createLinearTexture(T* array, size_t count, cudaTextureObject_t* texture) {
  cudaResourceDesc resource = {};
  resource.resType = cudaResourceTypeLinear;
  resource.res.linear.devPtr = array;
  resource.res.linear.desc = cudaCreateChannelDesc<T>();
  resource.res.linear.sizeInBytes = count * sizeof(T);
  cudaTextureDesc description = {};
  description.readMode = cudaReadModeElementType;
  return cudaStatus(cudaCreateTextureObject(texture, &resource, &description, nullptr), "texture");
}

}  // namespace baseline
}  // namespace gpu
}  // namespace depthwatt
