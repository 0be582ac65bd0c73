// SPDX-License-Identifier: Apache-2.0
// Reads EngineOptions field by field; see session_options.h.
#include "session_options.h"

#include <cmath>

#include "../../../core/napi/arguments.h"
#include "../../../core/napi/errors.h"
#include "../../match/registry.h"

namespace depthwatt {
namespace {

Napi::Object objectOf(const Napi::Object& object, const char* name) {
  const Napi::Value value = object.Get(name);
  if (!value.IsObject()) {
    throw errorOf(object.Env(), Status::error(Code::kParameter, "Expected an object for %s.", name));
  }
  return value.As<Napi::Object>();
}

GivenValue givenValueOf(const Napi::Object& values, const std::string& name) {
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
    throw errorOf(values.Env(),
                  Status::error(Code::kParameter, "Expected a number, a word or a boolean for %.40s of the matcher.",
                                name.c_str()));
  }
  return given;
}

}  // namespace

MatcherChoice matcherChoiceOf(const Napi::Object& match, bool halfResolution) {
  const MatcherFacts* facts = nullptr;
  throwUnlessOk(match.Env(), findMatcher(stringOf(match, "algorithm"), &facts));
  MatcherChoice choice = withDefaults(*facts, halfResolution);
  if (match.Get("parameters").IsUndefined()) return choice;
  const Napi::Object values = objectOf(match, "parameters");
  const Napi::Array keys = values.GetPropertyNames();
  for (uint32_t i = 0; i < keys.Length(); ++i) {
    const std::string key = keys.Get(i).As<Napi::String>().Utf8Value();
    throwUnlessOk(match.Env(), setParameter(&choice, key, givenValueOf(values, key)));
  }
  return choice;
}

void pointsFormOf(const Napi::Object& object, PointsParameters* parameters) {
  const std::string frame = stringOf(object, "frame"), element = stringOf(object, "element");
  const auto refuse = [&](const char* expected, const std::string& found) {
    throw errorOf(object.Env(),
                  Status::error(Code::kParameter, "Expected %s of points, got '%.40s'.", expected, found.c_str()));
  };
  if (frame != "camera" && frame != "robot") refuse("camera or robot for the frame", frame);
  if (element != "float32" && element != "int16") refuse("float32 or int16 for the element", element);
  parameters->frame = frame == "camera" ? PointFrame::kCamera : PointFrame::kRobot;
  parameters->element = element == "float32" ? PointElement::kF32 : PointElement::kI16;
}

Encoding encodingOf(const Napi::Object& object, const char* name) {
  const std::string encoding = optionalStringOf(object, name);
  if (encoding.empty()) return Encoding::kNone;
  if (encoding == "rvl") return Encoding::kRvl;
  if (encoding == "raw") return Encoding::kRaw;
  throw errorOf(object.Env(),
                Status::error(Code::kParameter, "Expected rvl or raw for %s, got '%.40s'.", name, encoding.c_str()));
}

AdaptationParameters adaptationOf(const Napi::Object& options) {
  AdaptationParameters p;
  const Napi::Value rows = options.Get("verticalOffset");
  if (rows.IsNumber()) {
    const double quarters = 4 * rows.As<Napi::Number>().DoubleValue();
    if (quarters != std::floor(quarters) || std::fabs(quarters) > kMaxQuarterRows) {
      throw errorOf(options.Env(),
                    Status::error(Code::kParameter,
                                  "Expected auto or quarters of a row from %d to %d for verticalOffset, got %g.",
                                  -kMaxQuarterRows / 4, kMaxQuarterRows / 4, quarters / 4));
    }
    p.quarterRows = static_cast<int32_t>(quarters);
  } else if (!rows.IsUndefined()) {
    const std::string word = stringOf(options, "verticalOffset");
    if (word != "auto") {
      throw errorOf(options.Env(),
                    Status::error(Code::kParameter,
                                  "Expected auto or a number of rows for verticalOffset, got '%.40s'.", word.c_str()));
    }
    p.watchesRows = true;
  }
  const std::string denoise = optionalStringOf(options, "denoise");
  if (denoise == "auto") p.denoise = Denoise::kAuto;
  else if (denoise == "on") p.denoise = Denoise::kOn;
  else if (!denoise.empty() && denoise != "off") {
    throw errorOf(options.Env(), Status::error(Code::kParameter, "Expected auto, off or on for denoise, got '%.40s'.",
                                               denoise.c_str()));
  }
  return p;
}

EngineParameters engineParametersOf(const Napi::Object& options) {
  EngineParameters p;
  readInput(options, p);
  if (!options.Get("region").IsUndefined()) {
    const Napi::Object region = objectOf(options, "region");
    p.region = {integerOf(region, "x", -kAnyInt, kAnyInt), integerOf(region, "y", -kAnyInt, kAnyInt),
                integerOf(region, "width", -kAnyInt, kAnyInt), integerOf(region, "height", -kAnyInt, kAnyInt)};
  }
  p.adaptation = adaptationOf(options);
  const Napi::Object match = objectOf(options, "match");
  p.halfResolution = booleanOf(match, "halfResolution");
  p.matcher = matcherChoiceOf(match, p.halfResolution);
  p.search = {integerOf(match, "minDisparity", -kAnyInt, kAnyInt),
              integerOf(match, "numDisparities", -kAnyInt, kAnyInt)};

  const Napi::Object refine = objectOf(options, "refine");
  p.leftRight = booleanOf(refine, "leftRight");
  const std::string fill = stringOf(refine, "fill");
  if (!fillMethodOf(fill.c_str(), &p.fill.method)) {
    throw errorOf(options.Env(),
                  Status::error(Code::kParameter, "Expected off, bilateral or background for refine.fill, got '%.40s'.",
                                fill.c_str()));
  }
  p.fill.thresholdQ4 = integerOf(refine, "fillThresholdQ4", -kAnyInt, kAnyInt);
  if (!refine.Get("upscaleThresholdQ4").IsUndefined())
    p.upscaleThresholdQ4 = integerOf(refine, "upscaleThresholdQ4", -kAnyInt, kAnyInt);
  p.boundary = booleanOf(refine, "boundary");
  p.median = booleanOf(refine, "median");
  p.rounds = integerOf(refine, "rounds", -kAnyInt, kAnyInt, 1);
  p.repair = !refine.Get("repair").IsUndefined() && booleanOf(refine, "repair");
  const std::string confidence = optionalStringOf(refine, "confidence");
  p.measuresConfidence = !confidence.empty() && confidence != "probability";
  if (p.measuresConfidence && !confidenceMeasureOf(confidence.c_str(), &p.measure)) {
    throw errorOf(options.Env(),
                  Status::error(Code::kParameter,
                                "Expected probability, peakRatio, featureDensity, matchingScore or product for "
                                "refine.confidence, got '%.40s'.",
                                confidence.c_str()));
  }
  p.speckle.minPixels = integerOf(refine, "speckleSize", -kAnyInt, kAnyInt);
  p.speckle.rangeQ4 = integerOf(refine, "speckleRangeQ4", -kAnyInt, kAnyInt);

  p.hasGeometry = !options.Get("geometry").IsUndefined();
  if (p.hasGeometry) {
    const Napi::Object geometry = objectOf(options, "geometry");
    p.geometry.focalPixels = numberOf(geometry, "focalPixels");
    p.geometry.baselineMetres = numberOf(geometry, "baselineMetres");
    p.geometry.disparityOffsetPixels = numberOf(geometry, "disparityOffsetPixels");
  }
  p.leftRgb = !options.Get("leftRgb").IsUndefined() && booleanOf(options, "leftRgb");
  p.makesPoints = !options.Get("points").IsUndefined();
  if (p.makesPoints) {
    const Napi::Object points = objectOf(options, "points");
    pointsFormOf(points, &p.points);
    p.points.colours = booleanOf(points, "colours");
    p.points.cx = numberOf(points, "cx");
    p.points.cy = numberOf(points, "cy");
    p.points.focalPixels = p.geometry.focalPixels;
    p.points.baselineMetres = p.geometry.baselineMetres;
    p.points.disparityOffsetPixels = p.geometry.disparityOffsetPixels;
  }
  p.encodeDepth = encodingOf(options, "encodeDepth");
  p.encodeDisparity = encodingOf(options, "encodeDisparity");
  p.backend = stringOf(options, "backend");
  if (p.backend != "auto" && p.backend != "cpu" && p.backend != "cuda") {
    throw errorOf(options.Env(), Status::error(Code::kParameter, "Expected auto, cpu or cuda for backend, got '%.40s'.",
                                               p.backend.c_str()));
  }
  p.instructionSet = optionalStringOf(options, "instructionSet");
  if (!options.Get("repeatStage").IsUndefined()) {
    const Napi::Object repeat = objectOf(options, "repeatStage");
    // Places in STAGE_NAMES, which is the order of Stage.
    p.repeatedStage = static_cast<Stage>(integerOf(repeat, "stage", 0, kStageCount - 1));
    p.repetitions = integerOf(repeat, "times", -kAnyInt, kAnyInt);
  }
  p.threads = integerOf(options, "threads", 0, 256);
  return p;
}

}  // namespace depthwatt
