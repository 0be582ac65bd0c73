// SPDX-License-Identifier: Apache-2.0
// The CUDA matchers of matchers.h: those whose folder has an x.gpu.cu.
#include "gpu_matcher.h"
#include "matchers.h"

namespace depthwatt {
namespace gpu {

// Weak: null if no file defines it.
#define DEPTHWATT_DECLARE(name, Name) \
  __attribute__((weak)) Status open##Name##OnGpu(const MatchTask& task, std::unique_ptr<Matcher>* matcher);
DEPTHWATT_MATCHERS(DEPTHWATT_DECLARE)
#undef DEPTHWATT_DECLARE

namespace {

struct Entry {
  const char* name;
  Status (*open)(const MatchTask& task, std::unique_ptr<Matcher>* matcher);
};

#define DEPTHWATT_ENTRY(name, Name) {#name, open##Name##OnGpu},
const Entry kEntries[] = {DEPTHWATT_MATCHERS(DEPTHWATT_ENTRY)};
#undef DEPTHWATT_ENTRY

}  // namespace

Status openMatcher(const MatchTask& task, std::unique_ptr<Matcher>* matcher) {
  for (const Entry& entry : kEntries) {
    if (std::strcmp(entry.name, task.matcher.facts->name) == 0 && entry.open != nullptr)
      return entry.open(task, matcher);
  }
  return Status::error(Code::kBackendUnavailable, "CUDA unavailable: it has no kernels for %.40s.",
                       task.matcher.facts->name);
}

}  // namespace gpu
}  // namespace depthwatt
