// SPDX-License-Identifier: Apache-2.0
// Draws a frame: copies the static image, draws shadows and moving objects over it where they can be, then applies the
// sensor. Also computes the exact disparity of the frame from the same geometry.
#include <cmath>
#include <cstring>

#include "scene.h"
#include "sensor.h"

namespace depthwatt::scene {
namespace {

/// Returns the share of the light that a moving object leaves at a point: 1 outside its shadow, soft towards the rim.
double lightPast(const Object& mover, Vec point) {
  const Vec offset = mover.centre - point;
  const double along = dot(offset, kToLight);
  if (along <= 0) return 1;
  const double away = dot(offset, offset) - along * along;
  // A rotated cube casts the shadow of a ball of 0.8 of its half diagonal, which looks the same.
  const double radius = mover.shape == Shape::kSphere ? mover.boundRadius : 0.8 * mover.boundRadius;
  // The further from the object, the softer the rim; a surface that only gets the room's light keeps 0.55.
  const double soft = 0.25 + 0.5 * along, area = radius * radius;
  if (away >= (1 + soft) * area) return 1;
  const double t = (away / area - (1 - soft)) / (2 * soft);
  return t <= 0 ? 0.55 : 0.55 + 0.45 * t * t * (3 - 2 * t);
}

}  // namespace

Board Scene::board() const {
  const double f = options_.focalPixels, cell = options_.cellPixels;
  Board board;
  board.cell = cell * board.depth / f;
  const double disparity = f * options_.baselineMetres / board.depth;
  board.left = (1.5 * cell + disparity - options_.width * 0.5) * board.depth / f;
  board.top = (1.5 * cell - options_.height * 0.5) * board.depth / f;
  return board;
}

void Scene::writeBoard(uint32_t frame, int side) {
  const uint64_t bits = boardBits(frame);
  for (const BoardPixel& pixel : cameras_[side].board) {
    for (int c = 0; c < channels(); ++c) {
      uint32_t sum = 2;
      for (const uint8_t cell : pixel.cells) {
        sum += cell == kBoardOutside ? pixel.around[c] : pixel.light[cell < kBoardCells && (bits >> cell & 1) ? 1 : 0];
      }
      cameras_[side].still[pixel.index * channels() + c] = static_cast<uint16_t>(sum >> 2);
    }
  }
}

void Scene::drawShadows(const CameraState& state, const Vec& origin, const ObjectList& movers, uint32_t mask,
                        int32_t x0, int32_t y0, uint16_t* band) const {
  const int32_t width = options_.width;
  const int32_t x1 = x0 + kTile < width ? x0 + kTile : width;
  const int32_t y1 = y0 + kTile < options_.height ? y0 + kTile : options_.height;
  for (int32_t y = y0; y < y1; ++y) {
    const Direction* c = &state.corners[static_cast<size_t>(y) * (width + 1)];
    const Direction* d = c + width + 1;
    uint16_t* row = band + static_cast<size_t>(y - y0) * width * channels();
    for (int32_t x = x0; x < x1; ++x) {
      const Vec direction = options_.pose.ray(0.5 * (c[x].u + d[x + 1].u), 0.5 * (c[x].v + d[x + 1].v));
      const Vec point = origin + direction * state.depth[static_cast<size_t>(y) * width + x];
      double light = 1;
      for (int m = 0; m < movers.count; ++m) {
        if (mask >> m & 1) light *= lightPast(movers.items[m], point);
      }
      if (light == 1) continue;
      for (int channel = 0; channel < channels(); ++channel) {
        uint16_t& pixel = row[x * channels() + channel];
        pixel = static_cast<uint16_t>(pixel * light + 0.5);
      }
    }
  }
}

void Scene::drawMovers(int side, const ObjectList& movers, uint32_t mask, int32_t x0, int32_t y0,
                       uint16_t* band) const {
  const CameraState& state = cameras_[side];
  const int32_t width = options_.width;
  const Vec origin = cameraOrigin(side);
  const double tangent = 1 / options_.cameras[side].fx;
  const int32_t columns = x0 + kTile < width ? kTile : width - x0;
  const int32_t rows = y0 + kTile < options_.height ? kTile : options_.height - y0;
  ObjectList near;
  for (int m = 0; m < movers.count; ++m) {
    if (mask >> m & 1) near.items[near.count++] = movers.items[m];
  }
  int16_t seen[kTile + 1][kTile + 1];
  for (int32_t j = 0; j <= rows; ++j) {
    for (int32_t i = 0; i <= columns; ++i) {
      const Direction& ray = state.corners[static_cast<size_t>(y0 + j) * (width + 1) + x0 + i];
      const Hit hit = near.trace(origin, options_.pose.ray(ray.u, ray.v), 1e9);
      seen[j][i] = static_cast<int16_t>(hit.object * 8 + hit.face);
    }
  }
  const auto greyAt = [&](const Hit& hit, double u, double v) {
    const Vec direction = options_.pose.ray(u, v);
    return surfaceGrey(*textures_, near.items[hit.object], hit.face, origin + direction * hit.depth, direction,
                       hit.depth, tangent, 1);
  };
  for (int32_t j = 0; j < rows; ++j) {
    for (int32_t i = 0; i < columns; ++i) {
      const int16_t id = seen[j][i];
      const bool plain = id == seen[j][i + 1] && id == seen[j + 1][i] && id == seen[j + 1][i + 1];
      if (plain && id < 0) continue;
      const Direction* c = &state.corners[static_cast<size_t>(y0 + j) * (width + 1) + x0 + i];
      const Direction* d = c + width + 1;
      const double behind = state.depth[static_cast<size_t>(y0 + j) * width + x0 + i];
      uint16_t* pixel = band + (static_cast<size_t>(j) * width + x0 + i) * channels();
      const int samples = plain ? 1 : 4;
      uint32_t sum[3] = {};
      for (int k = 0; k < samples; ++k) {
        const double a = plain ? 0.5 : k & 1 ? 0.75 : 0.25, b = plain ? 0.5 : k & 2 ? 0.75 : 0.25;
        const double u = (c[0].u * (1 - a) + c[1].u * a) * (1 - b) + (d[0].u * (1 - a) + d[1].u * a) * b;
        const double v = (c[0].v * (1 - a) + c[1].v * a) * (1 - b) + (d[0].v * (1 - a) + d[1].v * a) * b;
        const Hit hit = near.trace(origin, options_.pose.ray(u, v), behind);
        const double grey = hit.object < 0 ? 0 : greyAt(hit, u, v);
        for (int channel = 0; channel < channels(); ++channel) {
          sum[channel] +=
              hit.object < 0 ? pixel[channel] : stored(side, grey * tintAt(near.items[hit.object], channel), u, v);
        }
      }
      for (int channel = 0; channel < channels(); ++channel) {
        pixel[channel] = static_cast<uint16_t>(plain ? sum[channel] : (sum[channel] + 2) >> 2);
      }
    }
  }
}

void Scene::render(uint32_t frame, int side, uint8_t* out) {
  CameraState& state = cameras_[side];
  const int32_t width = options_.width, height = options_.height;
  const int32_t samples = channels() * width;  ///< per row
  const Vec origin = cameraOrigin(side);
  ObjectList movers;
  moveTo(options_.room, frame, &movers);
  writeBoard(frame, side);
  const auto low = static_cast<int32_t>(options_.noiseGrey * kGreyUnits + 0.5);
  size_t tileIndex = 0;
  for (int32_t y0 = 0; y0 < height; y0 += kTile) {
    const int32_t rows = y0 + kTile < height ? kTile : height - y0;
    const uint16_t* still = &state.still[static_cast<size_t>(y0) * samples];
    bool touched = false;
    for (int32_t x0 = 0; x0 < width; x0 += kTile, ++tileIndex) {
      const Tile& tile = state.tiles[tileIndex];
      uint32_t seen = 0, shaded = 0;
      for (int m = 0; m < movers.count; ++m) {
        const double radius = movers.items[m].boundRadius;
        const Vec toMover = movers.items[m].centre - origin;
        const double along = dot(toMover, tile.axis);
        const double away = dot(toMover, toMover) - along * along;
        const double reach = radius + 1.1 * tile.spread * along;
        if (along > 0 && away <= reach * reach) seen |= 1u << m;
        const Vec offset = movers.items[m].centre - tile.middle;
        const double toLight = dot(offset, kToLight);
        const double distance2 = dot(offset, offset) - toLight * toLight;
        // lightPast is 1 from sqrt(1 + soft) radii on.
        const double soft = 0.25 + 0.5 * (toLight + tile.reach);
        const double rim = radius * std::sqrt(1 + (soft > 0 ? soft : 0)) + tile.reach;
        if (toLight > -tile.reach && distance2 < rim * rim) shaded |= 1u << m;
      }
      if ((seen | shaded) == 0) continue;
      if (!touched) std::memcpy(state.band.data(), still, static_cast<size_t>(rows) * samples * sizeof(uint16_t));
      touched = true;
      if (shaded) drawShadows(state, origin, movers, shaded, x0, y0, state.band.data());
      if (seen) drawMovers(side, movers, seen, x0, y0, state.band.data());
    }
    const uint16_t* light = touched ? state.band.data() : still;
    for (int32_t j = 0; j < rows; ++j) {
      const int8_t* noise = &noise_[noiseStart(frame, side, y0 + j, options_.seed)];
      exposeRow(light + static_cast<size_t>(j) * samples, noise, low, samples,
                out + static_cast<size_t>(y0 + j) * samples);
    }
  }
}

void Scene::truth(uint32_t frame, int side, const IdealView& view, float* disparity, uint8_t* visible) const {
  ObjectList all = room_;
  ObjectList movers;
  moveTo(options_.room, frame, &movers);
  for (int m = 0; m < movers.count; ++m) all.items[all.count++] = movers.items[m];
  const Board sign = board();
  const double baseline = options_.baselineMetres, f = view.focalPixels;
  const auto nearest = [&](double offset, double u, double v) {
    const double depth = all.trace(options_.pose.origin(offset), options_.pose.ray(u, v), 1e9).depth;
    return sign.cellAt(offset + u * sign.depth, v * sign.depth) >= 0 && sign.depth < depth ? sign.depth : depth;
  };
  const double own = side == 0 ? 0 : baseline, other = side == 0 ? baseline : 0;
  for (int32_t y = 0; y < view.height; ++y) {
    for (int32_t x = 0; x < view.width; ++x) {
      const double u = (x - view.cx) / f, v = (y - view.cy) / f;
      const double depth = nearest(own, u, v);
      const double shift = f * baseline / depth;
      const double xOther = side == 0 ? x - shift : x + shift;
      const size_t at = static_cast<size_t>(y) * view.width + x;
      disparity[at] = static_cast<float>(shift);
      bool both = xOther >= 0 && xOther <= view.width - 1;
      // The z test: the other camera looks along the same row at this point and finds nothing nearer.
      if (both) both = nearest(other, u + (own - other) / depth, v) >= depth * (1 - 1e-6);
      visible[at] = both ? 255 : 0;
    }
  }
}

void Scene::depthAlong(uint32_t frame, const OtherPose& pose, const double* rays, size_t count, float* depth) const {
  ObjectList all = room_;
  ObjectList movers;
  moveTo(options_.room, frame, &movers);
  for (int m = 0; m < movers.count; ++m) all.items[all.count++] = movers.items[m];
  const Board sign = board();
  const double *r = pose.rotation, *c = pose.centre, *p = options_.pose.rotation;
  const Vec room = options_.pose.origin(0);
  const auto turned = [p](double x, double y, double z) {
    return Vec{p[0] * x + p[1] * y + p[2] * z, p[3] * x + p[4] * y + p[5] * z, p[6] * x + p[7] * y + p[8] * z};
  };
  const Vec origin = room + turned(c[0], c[1], c[2]);
  for (size_t i = 0; i < count; ++i) {
    const double u = rays[2 * i], v = rays[2 * i + 1];
    // With the transpose to the axes of the pair; the ray parameter is the depth in the camera.
    const double x = r[0] * u + r[3] * v + r[6], y = r[1] * u + r[4] * v + r[7], z = r[2] * u + r[5] * v + r[8];
    double nearest = all.trace(origin, turned(x, y, z), 1e9).depth;
    const double toSign = (sign.depth - c[2]) / z;
    if (toSign > 0 && toSign < nearest && sign.cellAt(c[0] + x * toSign, c[1] + y * toSign) >= 0) nearest = toSign;
    depth[i] = static_cast<float>(nearest);
  }
}

}  // namespace depthwatt::scene
