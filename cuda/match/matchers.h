// SPDX-License-Identifier: Apache-2.0
// Every matcher, one line each: its folder and word, and what its names in C++ begin with. matchers.ts is the same list for
// TypeScript.
#pragma once

#define DEPTHWATT_MATCHERS(MATCHER) \
  MATCHER(sgm, Sgm)                 \
  MATCHER(cbca, Cbca)               \
  MATCHER(esaw, Esaw)               \
  MATCHER(esmp, Esmp)               \
  MATCHER(sad, Sad)                 \
  MATCHER(pyramid, Pyramid)
