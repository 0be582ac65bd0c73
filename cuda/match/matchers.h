// SPDX-License-Identifier: Apache-2.0
// Every matcher, one line each: its folder and name in settings, and the prefix of its C++ names. To add a matcher, add
// its folder and a line here.
#pragma once

#define DEPTHWATT_MATCHERS(MATCHER) \
  MATCHER(sgm, Sgm)                 \
  MATCHER(cbca, Cbca)               \
  MATCHER(esaw, Esaw)               \
  MATCHER(esmp, Esmp)               \
  MATCHER(sad, Sad)                 \
  MATCHER(pyramid, Pyramid)
