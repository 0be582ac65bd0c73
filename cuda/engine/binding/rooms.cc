// SPDX-License-Identifier: Apache-2.0
// Every room's function for JavaScript, compiled together: to read napi.h takes a second, which sixteen files would each spend.
// A new room adds one include and one line.
#include "rooms.h"

#include "rooms/variant.h"
#include "rooms/ambiguity.inl.h"
#include "rooms/boundary.inl.h"
#include "rooms/census.inl.h"
#include "rooms/confidence.inl.h"
#include "rooms/cross.inl.h"
#include "rooms/denoise.inl.h"
#include "rooms/depth.inl.h"
#include "rooms/exponential.inl.h"
#include "rooms/fill.inl.h"
#include "rooms/gradient_census.inl.h"
#include "rooms/half.inl.h"
#include "rooms/hsv.inl.h"
#include "rooms/left_right.inl.h"
#include "rooms/match.inl.h"
#include "rooms/median.inl.h"
#include "rooms/points.inl.h"
#include "rooms/pyramid.inl.h"
#include "rooms/rectify.inl.h"
#include "rooms/repair.inl.h"
#include "rooms/row_offset.inl.h"
#include "rooms/rvl.inl.h"
#include "rooms/sad.inl.h"
#include "rooms/select.inl.h"
#include "rooms/sgm.inl.h"
#include "rooms/speckle.inl.h"
#include "rooms/two_gradient_census.inl.h"
#include "rooms/upscale.inl.h"
#include "rooms/wide_census.inl.h"
#include "rooms/window_confidence.inl.h"

namespace depthwatt {

void addRooms(Napi::Env env, Napi::Object exports) {
  auto rooms = Napi::Object::New(env);
  addAmbiguity(env, rooms);
  addBoundary(env, rooms);
  addCensus(env, rooms);
  addConfidence(env, rooms);
  addCross(env, rooms);
  addDenoise(env, rooms);
  addDepth(env, rooms);
  addExponential(env, rooms);
  addFill(env, rooms);
  addGradientCensus(env, rooms);
  addHalf(env, rooms);
  addHsv(env, rooms);
  addLeftRight(env, rooms);
  addMatch(env, rooms);
  addMedian(env, rooms);
  addPoints(env, rooms);
  addPyramid(env, rooms);
  addRectify(env, rooms);
  addRepair(env, rooms);
  addRowOffset(env, rooms);
  addRvl(env, rooms);
  addSad(env, rooms);
  addSelect(env, rooms);
  addSgm(env, rooms);
  addSpeckle(env, rooms);
  addTwoGradientCensus(env, rooms);
  addUpscale(env, rooms);
  addWideCensus(env, rooms);
  addWindowConfidence(env, rooms);
  exports.Set("rooms", rooms);
}

}  // namespace depthwatt
