// SPDX-License-Identifier: Apache-2.0
// Runs whole engines without Node, so that a foreign CPU's form can be tested alone: engine_golden ISA CASES. Reads the
// cases that test/golden/engine-neon.test.ts writes, one fact a line, and prints hash and name of each.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "cuda/engine/engine.h"
#include "cuda/engine/stage_registry.h"
#include "cuda/match/registry.h"

using namespace depthwatt;

namespace {

[[noreturn]] void fail(const std::string& what) {
  std::fprintf(stderr, "%s\n", what.c_str());
  std::exit(1);
}

void require(const Status& status) {
  if (!status.ok()) fail(status.message);
}

std::vector<uint8_t> readFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) fail("Expected a file at " + path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::vector<int32_t> readMap(const std::string& path) {
  const std::vector<uint8_t> bytes = readFile(path);
  std::vector<int32_t> map(bytes.size() / sizeof(int32_t));
  std::memcpy(map.data(), bytes.data(), map.size() * sizeof(int32_t));
  return map;
}

GivenValue readGivenValue(std::istream& line) {
  GivenValue given;
  std::string kind;
  line >> kind;
  if (kind == "number") line >> given.number;
  else if (kind == "word") given.kind = GivenValue::kWord, line >> given.word;
  else given.kind = GivenValue::kFlag, line >> given.flag;
  return given;
}

struct Case {
  std::string name;
  EngineParameters parameters;
  std::vector<uint8_t> left, right;
};

PixelFormat readFormat(const std::string& name) {
  PixelFormat format = PixelFormat::kGrey;
  if (!findPixelFormat(name.c_str(), &format)) fail("Expected a pixel format, got " + name);
  return format;
}

/// Reads one fact. Returns false if it is unknown.
bool read(const std::string& key, std::istream& line, Case* one) {
  EngineParameters& p = one->parameters;
  std::string word;
  if (key == "size") line >> p.inputWidth >> p.inputHeight >> p.width >> p.height;
  else if (key == "formats")
    line >> word, p.leftFormat = readFormat(word), line >> word, p.rightFormat = readFormat(word);
  else if (key == "strides") line >> p.leftStrideBytes >> p.rightStrideBytes;
  else if (key == "region") line >> p.region.x >> p.region.y >> p.region.width >> p.region.height;
  else if (key == "maps") line >> word, p.leftMap = readMap(word), line >> word, p.rightMap = readMap(word);
  else if (key == "images") line >> word, one->left = readFile(word), line >> word, one->right = readFile(word);
  else if (key == "quarterRows") line >> p.adaptation.quarterRows;
  else if (key == "watchesRows") line >> p.adaptation.watchesRows;
  else if (key == "denoise") line >> word, p.adaptation.denoise = word == "on" ? Denoise::kOn : Denoise::kAuto;
  else if (key == "matcher") {
    const MatcherFacts* facts = nullptr;
    line >> word >> p.halfResolution;
    require(findMatcher(word, &facts));
    p.matcher = withDefaults(*facts, p.halfResolution);
    p.settings = defaultStageSettings(p.halfResolution);
  } else if (key == "search") line >> p.search.minDisparity >> p.search.numDisparities;
  else if (key == "parameter") line >> word, require(setParameter(&p.matcher, word, readGivenValue(line)));
  else if (key == "setting") line >> word, require(setStageSetting(&p.settings, word, readGivenValue(line)));
  else if (key == "geometry") {
    p.hasGeometry = true;
    line >> p.geometry.focalPixels >> p.geometry.baselineMetres >> p.geometry.disparityOffsetPixels;
  } else return false;
  return !line.fail();
}

uint32_t addTo(uint32_t hash, const void* data, size_t bytes) {
  const auto* p = static_cast<const uint8_t*>(data);
  for (size_t i = 0; i < bytes; ++i) hash = (hash ^ p[i]) * 16777619u;
  return hash;
}

/// Returns the hash of the second frame, because the first one leaves data in every buffer. The same bytes as hashCase in
/// engine-cases.mjs.
uint32_t hashCase(Case* one, const char* instructionSet) {
  EngineParameters& p = one->parameters;
  p.backend = "cpu", p.instructionSet = instructionSet, p.threads = 2;
  p.encodeDepth = Encoding::kRvl, p.encodeDisparity = Encoding::kRaw;
  std::unique_ptr<Engine> engine;
  require(Engine::open(p, &engine));
  const auto pixels = static_cast<size_t>(p.width) * static_cast<size_t>(p.height);
  std::vector<uint8_t> left(pixels), confidence(pixels);
  std::vector<int16_t> disparity(pixels);
  std::vector<uint16_t> depth(pixels);
  std::vector<uint8_t> depthBody(encodedBound(p.encodeDepth, p.width, p.height));
  std::vector<uint8_t> disparityBody(encodedBound(p.encodeDisparity, p.width, p.height));
  FrameOutput out;
  out.left = left.data(), out.disparityQ4 = disparity.data(), out.confidence = confidence.data();
  out.depthMillimetres = depth.data(), out.encodedDepth = depthBody.data(), out.encodedDisparity = disparityBody.data();
  for (int32_t frame = 0; frame < 2; ++frame) require(engine->run(0, {one->left.data(), one->right.data()}, out));
  uint32_t hash = addTo(2166136261u, left.data(), pixels);
  hash = addTo(hash, disparity.data(), 2 * pixels);
  hash = addTo(hash, confidence.data(), pixels);
  hash = addTo(hash, depth.data(), 2 * pixels);
  return addTo(hash, depthBody.data(), out.encodedDepthBytes);
}

}  // namespace

int main(int count, char** words) {
  if (count != 3) fail("Expected an instruction set and a file of cases");
  std::ifstream file(words[2]);
  Case one;
  for (std::string text; std::getline(file, text);) {
    std::istringstream line(text);
    std::string key;
    line >> key;
    if (key == "case") one = {text.substr(5), {}, {}, {}};
    else if (key == "run") std::printf("%08x %s\n", hashCase(&one, words[1]), one.name.c_str());
    else if (!read(key, line, &one)) fail("Expected a fact of an engine, got: " + text);
  }
  return 0;
}
