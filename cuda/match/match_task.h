// SPDX-License-Identifier: Apache-2.0
// Builds the task of the match stage's matcher, for both backends.
#pragma once

#include "../stage.h"

namespace depthwatt {

inline MatchTask matchTaskFrom(const StageTask& stage) {
  MatchTask task;
  task.width = stage.width;
  task.height = stage.height;
  task.search = stage.search;
  task.leftRight = stage.at("refine.leftRight") != 0;
  task.matcher = stage.frame.matcher;
  task.rank = stage.frame.rank;
  return task;
}

}  // namespace depthwatt
