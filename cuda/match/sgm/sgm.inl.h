// SPDX-License-Identifier: Apache-2.0
// Vector form of semi-global matching, fused with the selection of the winners; compiled once per instruction
// set.

#include "sgm_plan.h"

#include "../select/select.inl.h"
#include "cells.inl.h"
#include "step.inl.h"
#include "rows.inl.h"
#include "wide.inl.h"
#include "sweep.inl.h"

DEPTHWATT_VECTOR_CODE(SgmKernels, kGroups, kHasByteCells, chooseSweep)
