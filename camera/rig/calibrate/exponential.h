// SPDX-License-Identifier: Apache-2.0
// e to the power of x, without a symbol that old systems lack.
#pragma once

#include <cmath>

namespace depthwatt::calibrate {

/// exp of a double is GLIBC_2.29 where it is compiled with that or newer; that of a long double is as old as glibc, and the
/// packages promise GLIBC_2.17 (packaging/README.md). Not for inner loops.
inline double exponential(double x) { return static_cast<double>(std::exp(static_cast<long double>(x))); }

}  // namespace depthwatt::calibrate
