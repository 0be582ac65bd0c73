// SPDX-License-Identifier: Apache-2.0
// Reads EngineOptions field by field; see session_options.h.
#include "session_options.h"

#include <algorithm>
#include <cmath>

#include "../../../core/napi/arguments.h"
#include "../../../core/napi/errors.h"
#include "../../match/registry.h"
#include "../stage_registry.h"

namespace depthwatt {
namespace {

Napi::Object readObject(const Napi::Object& object, const char* name) {
  const Napi::Value value = object.Get(name);
  if (!value.IsObject()) {
    throw errorFrom(object.Env(), Status::error(Code::kParameter, "Expected an object for %s.", name));
  }
  return value.As<Napi::Object>();
}

/// @param key the setting's name in messages
GivenValue readGivenValue(const Napi::Object& values, const std::string& name, const std::string& key) {
  const Napi::Value value = values.Get(name);
  GivenValue given;
  if (value.IsNumber()) {
    given.number = value.As<Napi::Number>().DoubleValue();
  } else if (value.IsString()) {
    given.kind = GivenValue::kWord;
    given.word = value.As<Napi::String>().Utf8Value();
  } else if (value.IsBoolean()) {
    given.kind = GivenValue::kFlag;
    given.flag = value.As<Napi::Boolean>().Value();
  } else {
    throw errorFrom(values.Env(),
                    Status::error(Code::kParameter, "Expected a number, a word or a boolean for %.60s.", key.c_str()));
  }
  return given;
}

}  // namespace

MatcherChoice readMatcherChoice(const Napi::Object& match, bool halfResolution) {
  const MatcherFacts* facts = nullptr;
  throwUnlessOk(match.Env(), findMatcher(readString(match, "algorithm"), &facts));
  MatcherChoice choice = withDefaults(*facts, halfResolution);
  if (match.Get("parameters").IsUndefined()) return choice;
  const Napi::Object values = readObject(match, "parameters");
  const Napi::Array keys = values.GetPropertyNames();
  for (uint32_t i = 0; i < keys.Length(); ++i) {
    const std::string key = keys.Get(i).As<Napi::String>().Utf8Value();
    throwUnlessOk(
        match.Env(),
        setParameter(&choice, key, readGivenValue(values, key, std::string("match.") + facts->name + "." + key)));
  }
  return choice;
}

void readPointsForm(const Napi::Object& object, PointsParameters* parameters) {
  const std::string frame = readString(object, "frame"), element = readString(object, "element");
  const auto refuse = [&](const char* expected, const std::string& found) {
    throw errorFrom(object.Env(),
                    Status::error(Code::kParameter, "Expected %s of points, got '%.40s'.", expected, found.c_str()));
  };
  if (frame != "camera" && frame != "robot") refuse("camera or robot for the frame", frame);
  if (element != "float32" && element != "int16") refuse("float32 or int16 for the element", element);
  parameters->frame = frame == "camera" ? PointFrame::kCamera : PointFrame::kRobot;
  parameters->element = element == "float32" ? PointElement::kF32 : PointElement::kI16;
}

void readVoxelsView(const Napi::Object& object, VoxelsParameters* parameters) {
  const std::string frame = readString(object, "frame");
  if (frame != "camera" && frame != "robot") {
    throw errorFrom(object.Env(),
                    Status::error(Code::kParameter, "Expected camera or robot for the frame of voxels, got '%.40s'.",
                                  frame.c_str()));
  }
  parameters->frame = frame == "camera" ? PointFrame::kCamera : PointFrame::kRobot;
  parameters->cx = readNumber(object, "cx");
  parameters->cy = readNumber(object, "cy");
}

void readRegistration(const Napi::Object& object, RegistrationParameters* parameters) {
  parameters->width = readInteger(object, "width", 1, 16384);
  parameters->height = readInteger(object, "height", 1, 16384);
  const auto* matrix = readElements<double>(object, "matrix", 12);
  std::copy_n(matrix, 12, parameters->matrix);
  if (object.Get("grid").IsUndefined()) return;
  constexpr int32_t kFarthest = 1 << 24;
  parameters->gridX = readInteger(object, "gridX", -kFarthest, kFarthest);
  parameters->gridY = readInteger(object, "gridY", -kFarthest, kFarthest);
  parameters->gridWidth = readInteger(object, "gridWidth", 2, 65536);
  parameters->gridHeight = readInteger(object, "gridHeight", 2, 65536);
  const size_t count = 2 * static_cast<size_t>(parameters->gridWidth) * static_cast<size_t>(parameters->gridHeight);
  const auto* nodes = readElements<const int32_t>(object, "grid", count);
  parameters->grid.assign(nodes, nodes + count);
}

/// Reads the form of the other camera's images, if frames bring them.
void readRegisteredImage(const Napi::Object& registration, RegistrationParameters* parameters) {
  if (registration.Get("image").IsUndefined()) return;
  const Napi::Object image = readObject(registration, "image");
  parameters->hasImage = true;
  parameters->format = readFormat(image, "format");
  parameters->strideBytes = static_cast<size_t>(readInteger(image, "strideBytes", 1, kAnyInt));
}

/// Reads the floor's settings, with the geometry's values.
FloorSettings readFloor(const Napi::Object& object, const DepthGeometry& geometry) {
  FloorSettings floor;
  floor.focalPixels = geometry.focalPixels;
  floor.baselineMetres = geometry.baselineMetres;
  floor.disparityOffsetPixels = geometry.disparityOffsetPixels;
  floor.cx = readNumber(object, "cx"), floor.cy = readNumber(object, "cy");
  if (object.Get("plane").IsUndefined()) return floor;
  floor.isSet = true;
  const auto* plane = readElements<const double>(object, "plane", 3);
  int64_t* const parts[3] = {&floor.plane.a, &floor.plane.b, &floor.plane.c};
  for (int i = 0; i < 3; ++i) {
    if (plane[i] > -1e13 && plane[i] < 1e13) *parts[i] = static_cast<int64_t>(plane[i]);
  }
  return floor;
}

/// Reads the grid's parameters, with the geometry's values and the floor's principal point.
GridParameters readGrid(const Napi::Object& object, const FloorSettings& floor) {
  constexpr int32_t kMaxSide = 1000;
  GridParameters grid;
  grid.focalPixels = floor.focalPixels;
  grid.baselineMetres = floor.baselineMetres;
  grid.disparityOffsetPixels = floor.disparityOffsetPixels;
  grid.cx = floor.cx, grid.cy = floor.cy;
  grid.cellMetres = readNumber(object, "cellMetres");
  grid.aheadCells = readInteger(object, "aheadCells", 1, kMaxSide);
  grid.leftCells = readInteger(object, "leftCells", 1, kMaxSide);
  grid.obstacleMetres = readNumber(object, "obstacleMetres");
  grid.tallMetres = readNumber(object, "tallMetres");
  grid.dropMetres = readNumber(object, "dropMetres");
  grid.errorPixels = readNumber(object, "errorPixels");
  grid.minPixels = readInteger(object, "minPixels", 1, 1 << 20);
  grid.stepX = readInteger(object, "stepX", 1, 64);
  return grid;
}

Encoding readEncoding(const Napi::Object& object, const char* name) {
  const std::string encoding = readOptionalString(object, name);
  if (encoding.empty()) return Encoding::kNone;
  if (encoding == "rvl") return Encoding::kRvl;
  if (encoding == "raw") return Encoding::kRaw;
  throw errorFrom(object.Env(),
                  Status::error(Code::kParameter, "Expected rvl or raw for %s, got '%.40s'.", name, encoding.c_str()));
}

/// Reads the value of every stage's setting "section.name" from options.section.name. Missing ones get their default.
StageSettings readStageSettings(const Napi::Object& options, bool halfResolution) {
  StageSettings settings = defaultStageSettings(halfResolution);
  for (int stage = 0; stage < kStageCount; ++stage) {
    const StageFacts& facts = *settings.stages[stage];
    for (int32_t i = 0; i < facts.settingCount; ++i) {
      const std::string key = facts.settings[i].key;
      const size_t dot = key.find('.');
      const Napi::Value section = options.Get(key.substr(0, dot));
      if (section.IsUndefined()) continue;
      const Napi::Object values = readObject(options, key.substr(0, dot).c_str());
      const std::string name = key.substr(dot + 1);
      if (values.Get(name).IsUndefined()) continue;
      throwUnlessOk(options.Env(), setStageSetting(&settings, key, readGivenValue(values, name, key)));
    }
  }
  return settings;
}

/// Rejects unknown names, because a misspelled one would silently leave a default.
void requireKnownNames(const Napi::Object& options, const StageSettings& settings, const char* section) {
  if (options.Get(section).IsUndefined()) return;
  const Napi::Array names = readObject(options, section).GetPropertyNames();
  for (uint32_t i = 0; i < names.Length(); ++i) {
    const std::string key = std::string(section) + "." + names.Get(i).As<Napi::String>().Utf8Value();
    if (settings.at(key.c_str()) != kNoSuchSetting) continue;
    throw errorFrom(options.Env(),
                    Status::error(Code::kParameter, "Expected a setting of a stage, got %.60s.", key.c_str()));
  }
}

AdaptationParameters adaptationFrom(const StageSettings& settings) {
  AdaptationParameters p;
  const int32_t quarterRows = settings.at("rectify.verticalOffset");
  p.watchesRows = quarterRows == kAutomatic;
  if (!p.watchesRows) p.quarterRows = quarterRows;
  // In the order of the values of match.denoise.
  constexpr Denoise kDenoise[] = {Denoise::kAuto, Denoise::kOff, Denoise::kOn};
  p.denoise = kDenoise[settings.at("match.denoise")];
  return p;
}

EngineParameters readEngineParameters(const Napi::Object& options) {
  EngineParameters p;
  readInput(options, p);
  const Napi::Object match = readObject(options, "match");
  p.halfResolution = readBoolean(match, "halfResolution");
  p.matcher = readMatcherChoice(match, p.halfResolution);
  p.settings = readStageSettings(options, p.halfResolution);
  for (const char* section : {"refine", "rectify", "region", "depth"}) requireKnownNames(options, p.settings, section);
  p.adaptation = adaptationFrom(p.settings);
  p.region = {p.at("region.x"), p.at("region.y"), p.at("region.width"), p.at("region.height")};
  p.search = {p.at("match.minDisparity"), p.at("match.numDisparities")};

  p.hasGeometry = !options.Get("geometry").IsUndefined();
  if (p.hasGeometry) {
    const Napi::Object geometry = readObject(options, "geometry");
    p.geometry.focalPixels = readNumber(geometry, "focalPixels");
    p.geometry.baselineMetres = readNumber(geometry, "baselineMetres");
    p.geometry.disparityOffsetPixels = readNumber(geometry, "disparityOffsetPixels");
  }
  p.leftRgb = !options.Get("leftRgb").IsUndefined() && readBoolean(options, "leftRgb");
  p.rightGrey = !options.Get("rightGrey").IsUndefined() && readBoolean(options, "rightGrey");
  p.makesPoints = !options.Get("points").IsUndefined();
  if (p.makesPoints) {
    const Napi::Object points = readObject(options, "points");
    p.points.frame = p.at("points.frame") == 0 ? PointFrame::kCamera : PointFrame::kRobot;
    p.points.element = p.at("points.element") == 0 ? PointElement::kF32 : PointElement::kI16;
    // Points of float32 have room for a colour anyway.
    const int32_t colour = p.at("points.colour");
    p.points.fromRegistered = colour == 2;
    p.points.colours = colour == 1 || (colour == 2 && p.points.element == PointElement::kI16);
    p.points.cx = readNumber(points, "cx");
    p.points.cy = readNumber(points, "cy");
    p.points.focalPixels = p.geometry.focalPixels;
    p.points.baselineMetres = p.geometry.baselineMetres;
    p.points.disparityOffsetPixels = p.geometry.disparityOffsetPixels;
  }
  p.makesVoxels = !options.Get("voxels").IsUndefined();
  if (p.makesVoxels) {
    readVoxelsView(readObject(options, "voxels"), &p.voxels);
    p.voxels.sizeMillimetres = p.at("voxels.sizeMillimetres");
    p.voxels.uncertaintyPixels = p.at("voxels.uncertaintyPixels") / 16.0;
    p.voxels.focalPixels = p.geometry.focalPixels;
    p.voxels.baselineMetres = p.geometry.baselineMetres;
    p.voxels.disparityOffsetPixels = p.geometry.disparityOffsetPixels;
  }
  p.registers = !options.Get("registration").IsUndefined();
  if (p.registers) {
    readRegistration(readObject(options, "registration"), &p.registration);
    p.registration.focalPixels = p.geometry.focalPixels;
    p.registration.baselineMetres = p.geometry.baselineMetres;
    p.registration.disparityOffsetPixels = p.geometry.disparityOffsetPixels;
    p.registration.fill = p.at("registration.fill") != 0;
    readRegisteredImage(readObject(options, "registration"), &p.registration);
  }
  p.findsFloor = !options.Get("floor").IsUndefined();
  if (p.findsFloor) p.floor = readFloor(readObject(options, "floor"), p.geometry);
  p.makesGrid = !options.Get("grid").IsUndefined();
  if (p.makesGrid) p.grid = readGrid(readObject(options, "grid"), p.floor);
  p.encodeDepth = readEncoding(options, "encodeDepth");
  p.encodeDisparity = readEncoding(options, "encodeDisparity");
  p.backend = readString(options, "backend");
  if (p.backend != "auto" && p.backend != "cpu" && p.backend != "cuda") {
    throw errorFrom(
        options.Env(),
        Status::error(Code::kParameter, "Expected auto, cpu or cuda for backend, got '%.40s'.", p.backend.c_str()));
  }
  p.instructionSet = readOptionalString(options, "instructionSet");
  if (!options.Get("repeatStage").IsUndefined()) {
    const Napi::Object repeat = readObject(options, "repeatStage");
    // Indices into STAGE_NAMES, which has the order of stages.h.
    p.repeatedStage = static_cast<Stage>(readInteger(repeat, "stage", 0, kStageCount - 1));
    p.repetitions = readInteger(repeat, "times", -kAnyInt, kAnyInt);
  }
  p.threads = readInteger(options, "threads", 0, 256);
  p.rank = readInteger(options, "rank", 0, 256, 0);
  return p;
}

}  // namespace depthwatt
