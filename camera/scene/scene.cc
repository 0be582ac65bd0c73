// SPDX-License-Identifier: Apache-2.0
// Opens the scene: computes each pixel's ray through the lens, then draws everything static once.
#include "scene.h"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <iterator>

#include "both.h"
#include "culling.h"
#include "sensor.h"

static_assert(FLT_EVAL_METHOD == 0, "intermediate results must be rounded to double");

namespace depthwatt::scene {
namespace {

/// Computes the point that the lens moves to (xd, yd), by fixed-point iteration until nothing moves by more than 1e-12.
void undistort(const double* k, double xd, double yd, double* x, double* y) {
  double px = xd, py = yd;
  for (int round = 0; round < 30; ++round) {
    const double r2 = px * px + py * py;
    const double radial = 1 + r2 * (k[0] + r2 * (k[1] + r2 * k[4]));
    const double dx = 2 * k[2] * px * py + k[3] * (r2 + 2 * px * px);
    const double dy = k[2] * (r2 + 2 * py * py) + 2 * k[3] * px * py;
    const double nextX = (xd - dx) / radial, nextY = (yd - dy) / radial;
    const double stepX = nextX - px, stepY = nextY - py;
    px = nextX;
    py = nextY;
    if (stepX * stepX + stepY * stepY < 1e-24) break;
  }
  *x = px;
  *y = py;
}

bool within(double value, double low, double high) { return value >= low && value <= high; }

}  // namespace

Status Scene::check(const SceneOptions& options) {
  if (!within(options.width, 16, 16384) || !within(options.height, 16, 16384)) {
    return Status::error(Code::kParameter, "Expected a scene of 16x16 to 16384x16384 pixels, got %dx%d.", options.width,
                         options.height);
  }
  if (!within(options.cellPixels, 1, 256) || !(options.focalPixels > 0) || !(options.baselineMetres > 0)) {
    return Status::error(Code::kParameter,
                         "Expected cellPixels of 1 to 256, focalPixels and baselineMetres above 0, got %d, %g and %g.",
                         options.cellPixels, options.focalPixels, options.baselineMetres);
  }
  if (!within(options.noiseGrey, 0, 8)) {
    return Status::error(Code::kParameter, "Expected noiseGrey from 0 to 8 grey levels, got %g.", options.noiseGrey);
  }
  if (!within(options.pose.heightMetres, 0.05, 2.5)) {
    return Status::error(Code::kParameter, "Expected a camera 0.05 to 2.5 m above the floor, got %g.",
                         options.pose.heightMetres);
  }
  for (const Camera& camera : options.cameras) {
    if (!(camera.fx > 0) || !(camera.fy > 0)) {
      return Status::error(Code::kParameter, "Expected focal lengths above 0 pixels, got %g and %g.", camera.fx,
                           camera.fy);
    }
    const auto finite = [](double number) { return std::isfinite(number); };
    if (!std::all_of(std::begin(camera.distortion), std::end(camera.distortion), finite) ||
        !std::all_of(std::begin(camera.rotation), std::end(camera.rotation), finite) ||
        !std::all_of(std::begin(options.pose.rotation), std::end(options.pose.rotation), finite)) {
      return Status::error(Code::kParameter, "Expected finite numbers in distortion and rotation of each camera.");
    }
  }
  return {};
}

Status Scene::open(const SceneOptions& options) {
  if (const Status status = check(options); !status.ok()) return status;
  options_ = options;
  textures_ = sharedTextures(options.seed);
  furnish(options.room, &room_);
  noise_ = noiseTable(options.seed, channels() * options.width);
  both([this](int side) {
    castCorners(side);
    bake(side);
    layTiles(side);
    layBoard(side);
    cameras_[side].band.resize(static_cast<size_t>(channels()) * options_.width * kTile);
  });
  if (cancelled_) return Status::error(Code::kFailed, "The scene was closed while it was being made.");
  return {};
}

void Scene::castCorners(int side) {
  const Camera& lens = options_.cameras[side];
  const double* r = lens.rotation;
  auto& corners = cameras_[side].corners;
  corners.resize(static_cast<size_t>(options_.width + 1) * (options_.height + 1));
  size_t at = 0;
  for (int32_t y = 0; y <= options_.height; ++y) {
    for (int32_t x = 0; x <= options_.width; ++x) {
      double u = 0, v = 0;
      undistort(lens.distortion, (x - 0.5 - lens.cx) / lens.fx, (y - 0.5 - lens.cy) / lens.fy, &u, &v);
      // Back to the scene's axes with the transpose, then to depth 1.
      const double dx = r[0] * u + r[3] * v + r[6], dy = r[1] * u + r[4] * v + r[7], dz = r[2] * u + r[5] * v + r[8];
      corners[at++] = {static_cast<float>(dx / dz), static_cast<float>(dy / dz)};
    }
  }
}

uint16_t Scene::stored(int side, double grey, double u, double v) const {
  const Camera& lens = options_.cameras[side];
  const double light = grey * (1 - lens.vignetting * (u * u + v * v)) * lens.gain + lens.offsetGrey;
  const double units = light * kGreyUnits + 0.5;
  return static_cast<uint16_t>(units < 0 ? 0 : units > 255 * kGreyUnits ? 255 * kGreyUnits : units);
}

std::vector<ObjectSet> Scene::visibleInTiles(int side) const {
  const CameraState& state = cameras_[side];
  const int32_t width = options_.width, height = options_.height;
  std::vector<ObjectSet> visible;
  for (int32_t y0 = 0; y0 < height; y0 += kTile) {
    for (int32_t x0 = 0; x0 < width; x0 += kTile) {
      const int32_t x1 = std::min(x0 + kTile, width), y1 = std::min(y0 + kTile, height);
      const auto unitAt = [&](int32_t x, int32_t y) {
        const Direction& ray = state.corners[static_cast<size_t>(y) * (width + 1) + x];
        const Vec direction = options_.pose.ray(ray.u, ray.v);
        return direction * (1 / std::sqrt(dot(direction, direction)));
      };
      Cone cone{unitAt((x0 + x1) / 2, (y0 + y1) / 2)};
      double squared = 0;
      for (int32_t y = y0; y <= y1; ++y) {
        for (int32_t x = x0; x <= x1; ++x) {
          const Vec off = unitAt(x, y) - cone.axis;
          squared = std::max(squared, dot(off, off));
        }
      }
      cone.spread = std::sqrt(squared);
      visible.push_back(seenThrough(cone, cameraOrigin(side), room_));
    }
  }
  return visible;
}

void Scene::bake(int side) {
  CameraState& state = cameras_[side];
  const int32_t width = options_.width, height = options_.height;
  const int32_t channels = this->channels();
  state.depth.resize(static_cast<size_t>(width) * height);
  state.still.resize(state.depth.size() * channels);
  const Vec origin = cameraOrigin(side);
  const double tangent = 1 / options_.cameras[side].fx;
  // The surface at each corner of the current and the next row: if four corners agree, one ray is enough.
  std::vector<int32_t> upper(width + 1), lower(width + 1);
  const std::vector<ObjectSet> visible = visibleInTiles(side);
  const int32_t tilesAcross = (width + kTile - 1) / kTile;
  /// The last corners of a tile are the first of the next one; at the border they belong to the last tile.
  const auto among = [&](int32_t x, int32_t y) {
    return visible[static_cast<size_t>(std::min(y, height - 1) / kTile) * tilesAcross + std::min(x, width - 1) / kTile];
  };
  const LightGrid light(room_, 0.03);
  const auto look = [&](int32_t y, std::vector<int32_t>* row) {
    for (int32_t x = 0; x <= width; ++x) {
      const Direction& ray = state.corners[static_cast<size_t>(y) * (width + 1) + x];
      const Hit hit = room_.trace(origin, options_.pose.ray(ray.u, ray.v), 1e9, among(x, y));
      (*row)[x] = hit.object * 8 + hit.face;
    }
  };
  // Shadows are sampled at four places around the sun's middle, which softens them; at two where these agree.
  const auto paintAt = [&](const Hit& hit, Vec from, Vec direction, double depth) {
    const Vec point = from + direction * hit.depth;
    const Object& object = room_.items[hit.object];
    const Vec above = point + surfaceNormal(object, hit.face, point) * 1e-3;
    const ObjectSet shading = light.at(above);
    const auto litFrom = [&](double dx, double dz) {
      return room_.shadowed(above, {kToLight.x + dx, kToLight.y, kToLight.z + dz}, shading) ? 0 : 1;
    };
    int lit = litFrom(-0.02, -0.02) + litFrom(0.02, 0.02);
    lit = lit == 1 ? lit + litFrom(-0.02, 0.02) + litFrom(0.02, -0.02) : 2 * lit;
    return surfaceGrey(*textures_, object, hit.face, point, direction, depth, tangent, lit * 0.25);
  };
  const auto greyAt = [&](const Hit& hit, double u, double v) {
    const Vec direction = options_.pose.ray(u, v);
    const double own = paintAt(hit, origin, direction, hit.depth);
    const Object& object = room_.items[hit.object];
    if (object.gloss == 0) return own;
    const Vec point = origin + direction * hit.depth, normal = surfaceNormal(object, hit.face, point);
    const Vec back = direction - normal * (2 * dot(direction, normal));
    const Hit mirrored = room_.trace(point, back, 1e9);
    if (mirrored.object < 0) return own * (1 - object.gloss);
    return own * (1 - object.gloss) + paintAt(mirrored, point, back, hit.depth + mirrored.depth) * object.gloss;
  };
  look(0, &upper);
  for (int32_t y = 0; y < height && !cancelled_; ++y) {
    look(y + 1, &lower);
    for (int32_t x = 0; x < width; ++x) {
      const Direction* c = &state.corners[static_cast<size_t>(y) * (width + 1) + x];
      const Direction* d = c + width + 1;
      const double u = 0.25 * (double{c[0].u} + c[1].u + d[0].u + d[1].u);
      const double v = 0.25 * (double{c[0].v} + c[1].v + d[0].v + d[1].v);
      const int32_t id = upper[x];
      const bool plain = id == upper[x + 1] && id == lower[x] && id == lower[x + 1];
      const Hit hit = plain ? room_.traceOne(id / 8, origin, options_.pose.ray(u, v))
                            : room_.trace(origin, options_.pose.ray(u, v), 1e9, among(x, y));
      const size_t at = static_cast<size_t>(y) * width + x;
      state.depth[at] = static_cast<float>(hit.depth);
      double sum[3] = {};
      if (plain) {
        const double grey = greyAt(hit, u, v);
        for (int32_t c = 0; c < channels; ++c) sum[c] = grey * tintAt(room_.items[hit.object], c);
      } else {
        for (int k = 0; k < 16; ++k) {
          const double a = ((k & 3) + 0.5) * 0.25, b = ((k >> 2) + 0.5) * 0.25;
          const double su = (c[0].u * (1 - a) + c[1].u * a) * (1 - b) + (d[0].u * (1 - a) + d[1].u * a) * b;
          const double sv = (c[0].v * (1 - a) + c[1].v * a) * (1 - b) + (d[0].v * (1 - a) + d[1].v * a) * b;
          const Hit part = room_.trace(origin, options_.pose.ray(su, sv), 1e9, among(x, y));
          const double grey = greyAt(part, su, sv);
          for (int32_t c = 0; c < channels; ++c) sum[c] += grey * tintAt(room_.items[part.object], c) * 0.0625;
        }
      }
      for (int32_t c = 0; c < channels; ++c) state.still[at * channels + c] = stored(side, sum[c], u, v);
    }
    upper.swap(lower);
  }
}

void Scene::layTiles(int side) {
  CameraState& state = cameras_[side];
  const int32_t width = options_.width, height = options_.height;
  const Vec origin = cameraOrigin(side);
  for (int32_t y0 = 0; y0 < height; y0 += kTile) {
    for (int32_t x0 = 0; x0 < width; x0 += kTile) {
      const int32_t x1 = x0 + kTile < width ? x0 + kTile : width, y1 = y0 + kTile < height ? y0 + kTile : height;
      const auto unitAt = [&](int32_t x, int32_t y) {
        const Direction& ray = state.corners[static_cast<size_t>(y) * (width + 1) + x];
        const Vec direction = options_.pose.ray(ray.u, ray.v);
        return direction * (1 / std::sqrt(dot(direction, direction)));
      };
      Tile tile;
      tile.axis = unitAt((x0 + x1) / 2, (y0 + y1) / 2);
      for (int corner = 0; corner < 4; ++corner) {
        const Vec offset = unitAt(corner & 1 ? x1 : x0, corner & 2 ? y1 : y0) - tile.axis;
        const double distance = std::sqrt(dot(offset, offset));
        if (distance > tile.spread) tile.spread = distance;
      }
      Vec low{1e9, 1e9, 1e9}, high{-1e9, -1e9, -1e9};
      for (int32_t y = y0; y < y1; ++y) {
        for (int32_t x = x0; x < x1; ++x) {
          const Direction& ray = state.corners[static_cast<size_t>(y) * (width + 1) + x];
          const Vec p = origin + options_.pose.ray(ray.u, ray.v) * state.depth[static_cast<size_t>(y) * width + x];
          low = {p.x < low.x ? p.x : low.x, p.y < low.y ? p.y : low.y, p.z < low.z ? p.z : low.z};
          high = {p.x > high.x ? p.x : high.x, p.y > high.y ? p.y : high.y, p.z > high.z ? p.z : high.z};
        }
      }
      tile.middle = (low + high) * 0.5;
      tile.reach = std::sqrt(dot(high - low, high - low)) * 0.5 + 0.02;
      state.tiles.push_back(tile);
    }
  }
}

void Scene::layBoard(int side) {
  CameraState& state = cameras_[side];
  const int32_t width = options_.width;
  const Board board = this->board();
  for (int32_t y = 0; y < options_.height; ++y) {
    for (int32_t x = 0; x < width; ++x) {
      const Direction* c = &state.corners[static_cast<size_t>(y) * (width + 1) + x];
      const Direction* d = c + width + 1;
      BoardPixel pixel{static_cast<uint32_t>(y * width + x), {}, {}, {}};
      int inside = 0;
      double u = 0, v = 0;
      for (int k = 0; k < 4; ++k) {
        const double a = k & 1 ? 0.75 : 0.25, b = k & 2 ? 0.75 : 0.25;
        u = (c[0].u * (1 - a) + c[1].u * a) * (1 - b) + (d[0].u * (1 - a) + d[1].u * a) * b;
        v = (c[0].v * (1 - a) + c[1].v * a) * (1 - b) + (d[0].v * (1 - a) + d[1].v * a) * b;
        const int cell = board.cellAt(options_.cameras[side].offsetMetres + u * board.depth, v * board.depth);
        if (cell >= 0) ++inside;
        pixel.cells[k] = static_cast<uint8_t>(cell >= 0 ? cell : kBoardOutside);
      }
      if (inside == 0) continue;
      pixel.light[0] = stored(side, kBoardBlack, u, v);
      pixel.light[1] = stored(side, kBoardWhite, u, v);
      for (int32_t i = 0; i < channels(); ++i) pixel.around[i] = state.still[pixel.index * channels() + i];
      if (inside >= 2) state.depth[pixel.index] = static_cast<float>(board.depth);
      state.board.push_back(pixel);
    }
  }
}

}  // namespace depthwatt::scene
