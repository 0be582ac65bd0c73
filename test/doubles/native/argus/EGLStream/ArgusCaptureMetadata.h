// SPDX-License-Identifier: Apache-2.0
// Replaces the header of this name; see EGLStream.h.
#pragma once

#include "EGLStream.h"
