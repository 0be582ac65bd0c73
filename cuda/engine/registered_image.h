// SPDX-License-Identifier: Apache-2.0
// The image of another camera next to the pair: converts it to grey or colours, and colours points from it. Both backends use this
// code on the results of a frame, so it exists only for the CPU.
#pragma once

#include <memory>

#include "../../core/workers.h"
#include "../frame.h"
#include "../output/registration/registration.h"
#include "../rectify/rectify.h"

namespace depthwatt {

/// Returns the bytes of the converted image, 0 without one: three a pixel if its format has colours.
inline size_t registeredImageBytes(const EngineParameters& p) {
  if (!p.registers || !p.registration.hasImage) return 0;
  const size_t pixels = static_cast<size_t>(p.registration.width) * static_cast<size_t>(p.registration.height);
  return hasColours(p.registration.format) ? pixels * sizeof(Rgb8) : pixels;
}

/// Returns the bytes that are read of the captured image.
inline size_t registeredInputBytes(const EngineParameters& p) {
  if (!p.registers || !p.registration.hasImage) return 0;
  const RegistrationParameters& camera = p.registration;
  return sourceBytes(camera.width, camera.height, camera.strideBytes, camera.format, hasColours(camera.format));
}

class RegisteredImage {
 public:
  /// Checks the parameters. kParameter names a value that is out of range.
  static Status check(const EngineParameters& p);

  /// @param p must have been checked, and is read by run()
  RegisteredImage(const EngineParameters& p, InstructionSet set, std::shared_ptr<SharedWorkers> workers);

  /// Converts the frame's image into output.registeredImage and sets the colours of its points. Without an image the points have no
  /// colour. Frames may be given by several threads at once.
  void run(const FrameInput& input, FrameOutput& output) const;

 private:
  const EngineParameters& p_;
  const RectifyKernels& rectify_;
  const RegistrationKernels& registration_;
  const std::shared_ptr<SharedWorkers> workers_;
  RegistrationPlan plan_;
};

}  // namespace depthwatt
