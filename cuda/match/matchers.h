// SPDX-License-Identifier: Apache-2.0
// Every matcher, one line each: its folder and word, and what its names in C++ begin with. A new matcher is its folder and a line
// here.
#pragma once

#define DEPTHWATT_MATCHERS(MATCHER) \
  MATCHER(sgm, Sgm)                 \
  MATCHER(cbca, Cbca)               \
  MATCHER(esaw, Esaw)               \
  MATCHER(esmp, Esmp)               \
  MATCHER(sad, Sad)                 \
  MATCHER(pyramid, Pyramid)
