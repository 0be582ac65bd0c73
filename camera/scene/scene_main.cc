// SPDX-License-Identifier: Apache-2.0
// The scene without Node: writes frames to standard output, so that builds by other compilers, with other flags and for
// other CPUs can be compared byte by byte. Not part of the addon.
//   scene_main FRAME... < SETUP > BYTES
// SETUP: width height seed noiseGrey cellPixels focalPixels baselineMetres, then for the left and for the right camera fx fy cx cy,
// 5 numbers of distortion, 9 of rotation, offsetMetres gain offsetGrey vignetting. BYTES: per frame the left and the right image, then
// the left truth of the ideal view (float32 disparity, u8 visible).
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "scene.h"

using namespace depthwatt::scene;

namespace {

double number() {
  double value = 0;
  if (std::scanf("%lf", &value) != 1) {
    std::fprintf(stderr, "expected another number in the setup\n");
    std::exit(2);
  }
  return value;
}

}  // namespace

int main(int count, char** words) {
  SceneOptions options;
  options.width = static_cast<int32_t>(number());
  options.height = static_cast<int32_t>(number());
  options.seed = static_cast<uint32_t>(number());
  options.noiseGrey = number();
  options.cellPixels = static_cast<int32_t>(number());
  options.focalPixels = number();
  options.baselineMetres = number();
  for (Camera& camera : options.cameras) {
    for (double* value : {&camera.fx, &camera.fy, &camera.cx, &camera.cy}) *value = number();
    for (double& value : camera.distortion) value = number();
    for (double& value : camera.rotation) value = number();
    for (double* value : {&camera.offsetMetres, &camera.gain, &camera.offsetGrey, &camera.vignetting})
      *value = number();
  }
  Scene scene;
  if (const depthwatt::Status status = scene.open(options); !status.ok()) {
    std::fprintf(stderr, "%s\n", status.message);
    return 2;
  }
  const auto pixels = static_cast<size_t>(options.width) * options.height;
  std::vector<uint8_t> picture(pixels);
  std::vector<float> disparity(pixels);
  const IdealView view{options.width, options.height, options.focalPixels, (options.width - 1) * 0.5,
                       (options.height - 1) * 0.5};
  for (int i = 1; i < count; ++i) {
    const auto frame = static_cast<uint32_t>(std::strtoul(words[i], nullptr, 10));
    for (int side = 0; side < 2; ++side) {
      scene.render(frame, side, picture.data());
      std::fwrite(picture.data(), 1, pixels, stdout);
    }
    scene.truth(frame, 0, view, disparity.data(), picture.data());
    std::fwrite(disparity.data(), sizeof(float), pixels, stdout);
    std::fwrite(picture.data(), 1, pixels, stdout);
  }
  return 0;
}
