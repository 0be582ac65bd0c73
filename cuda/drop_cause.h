// SPDX-License-Identifier: Apache-2.0
// Why the stage threshold drops a pixel (refine/threshold/threshold.h), in the order in which the causes are checked.
#pragma once

namespace depthwatt {

enum DropCause { kDroppedFilled, kDroppedUnsure, kDroppedNear, kDroppedFar, kDropCauses };

}  // namespace depthwatt
