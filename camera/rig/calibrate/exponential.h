// SPDX-License-Identifier: Apache-2.0
// The exponential function without a symbol that old systems lack.
#pragma once

#include <cmath>

namespace depthwatt::calibrate {

/// Returns e to the power of x. exp of a double needs GLIBC_2.29 if compiled with it or newer; that of a long double is
/// as old as glibc, and the packages promise GLIBC_2.17 (packaging/README.md). Not for inner loops.
inline double exponential(double x) { return static_cast<double>(std::exp(static_cast<long double>(x))); }

}  // namespace depthwatt::calibrate
