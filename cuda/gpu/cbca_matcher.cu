// SPDX-License-Identifier: Apache-2.0
// The cross-based matcher as a Matcher.
#include <new>

#include "cbca_workspace.h"
#include "matcher.h"

namespace depthwatt {
namespace gpu {
namespace {

class CbcaMatcher final : public Matcher {
 public:
  Status open(const EngineParameters& parameters, const MatchScope& scope) {
    CbcaParameters cbca;
    cbca.minDisparity = scope.match.minDisparity;
    cbca.numDisparities = scope.match.numDisparities;
    cbca.halfResolution = parameters.halfResolution;
    return cbca_.open(cbca, scope.width, scope.height);
  }

  Status match(const MatcherImages& images, const MatcherResult& result, cudaStream_t stream) override {
    return cbca_.compute(images.left, images.right, result.disparityQ4, result.confidence, stream);
  }

  size_t bytes() const override { return cbca_.bytes(); }

 private:
  CbcaWorkspace cbca_;
};

}  // namespace

Status openCbcaMatcher(const EngineParameters& parameters, const MatchScope& scope, std::unique_ptr<Matcher>* matcher) {
  std::unique_ptr<CbcaMatcher> opened(new (std::nothrow) CbcaMatcher());
  if (opened == nullptr) return Status::error(Code::kFailed, "Expected memory for a matcher, there is none.");
  const Status status = opened->open(parameters, scope);
  if (status.ok()) *matcher = std::move(opened);
  return status;
}

}  // namespace gpu
}  // namespace depthwatt
