// SPDX-License-Identifier: Apache-2.0
// CIELab of sRGB under D65, in integers: kLabUnits in a unit, so that L is 0 to 200, a -172 to 197 and b -216 to 189.
//   light     X, Y, Z = (kLabWeights kLinearLight[red, green, blue] + 32768) >> 16, each 65535 for white
//   root      F(t) = kLabStart + (kLabSlope t >> 16) up to kLabStraight, else floor(2^14 cbrt(t / 2^16))
//   pixel     L = (232 F(Y) - 2^19 + 2^13) >> 14, a = (1000 (F(X) - F(Y)) + 2^13) >> 14, b = (400 (F(Y) - F(Z)) + 2^13) >> 14
// The table of light is committed because pow differs in its last bit between C libraries.
#pragma once

#include <cstdint>

namespace depthwatt {

constexpr int32_t kLabUnits = 2;

struct alignas(8) Lab {
  int16_t lightness, a, b, unused;
};

/// Rows add up to 65536. [X, Y, Z][red, green, blue]
constexpr int32_t kLabWeights[3][3] = {{28439, 24656, 12441}, {13937, 46869, 4730}, {1164, 7175, 57197}};
constexpr int32_t kLabStraight = 580, kLabStart = 2260, kLabSlope = 127582;

/// round(65535 l(v)), l the linear light of an sRGB byte: v / 255 / 12.92 up to 0.04045, else ((v / 255 + 0.055) / 1.055)^2.4.
// clang-format off: columns of numbers
constexpr uint16_t kLinearLight[256] = {
    0, 20, 40, 60, 80, 99, 119, 139, 159, 179, 199, 219, 241, 264, 288, 313,
    340, 367, 396, 427, 458, 491, 526, 562, 599, 637, 677, 718, 761, 805, 851, 898,
    947, 997, 1048, 1101, 1156, 1212, 1270, 1330, 1391, 1453, 1517, 1583, 1651, 1720, 1790, 1863,
    1937, 2013, 2090, 2170, 2250, 2333, 2418, 2504, 2592, 2681, 2773, 2866, 2961, 3058, 3157, 3258,
    3360, 3464, 3570, 3678, 3788, 3900, 4014, 4129, 4247, 4366, 4488, 4611, 4736, 4864, 4993, 5124,
    5257, 5392, 5530, 5669, 5810, 5953, 6099, 6246, 6395, 6547, 6700, 6856, 7014, 7174, 7335, 7500,
    7666, 7834, 8004, 8177, 8352, 8528, 8708, 8889, 9072, 9258, 9445, 9635, 9828, 10022, 10219, 10417,
    10619, 10822, 11028, 11235, 11446, 11658, 11873, 12090, 12309, 12530, 12754, 12980, 13209, 13440, 13673, 13909,
    14146, 14387, 14629, 14874, 15122, 15371, 15623, 15878, 16135, 16394, 16656, 16920, 17187, 17456, 17727, 18001,
    18277, 18556, 18837, 19121, 19407, 19696, 19987, 20281, 20577, 20876, 21177, 21481, 21787, 22096, 22407, 22721,
    23038, 23357, 23678, 24002, 24329, 24658, 24990, 25325, 25662, 26001, 26344, 26688, 27036, 27386, 27739, 28094,
    28452, 28813, 29176, 29542, 29911, 30282, 30656, 31033, 31412, 31794, 32179, 32567, 32957, 33350, 33745, 34143,
    34544, 34948, 35355, 35764, 36176, 36591, 37008, 37429, 37852, 38278, 38706, 39138, 39572, 40009, 40449, 40891,
    41337, 41785, 42236, 42690, 43147, 43606, 44069, 44534, 45002, 45473, 45947, 46423, 46903, 47385, 47871, 48359,
    48850, 49344, 49841, 50341, 50844, 51349, 51858, 52369, 52884, 53401, 53921, 54445, 54971, 55500, 56032, 56567,
    57105, 57646, 58190, 58737, 59287, 59840, 60396, 60955, 61517, 62082, 62650, 63221, 63795, 64372, 64952, 65535,
};
// clang-format on

/// What the fast forms look up.
struct LabTables {
  int32_t weights[3][3];
  uint16_t light[256];
  uint16_t roots[65536];  ///< F
};

inline void fillLabTables(LabTables* tables) {
  for (int32_t i = 0; i < 9; ++i) tables->weights[i / 3][i % 3] = kLabWeights[i / 3][i % 3];
  for (int32_t v = 0; v < 256; ++v) tables->light[v] = kLinearLight[v];
  int64_t root = 0;
  for (int32_t t = 0; t < 65536; ++t) {
    while ((root + 1) * (root + 1) * (root + 1) <= int64_t{t} << 26) ++root;
    const int64_t straight = kLabStart + (int64_t{kLabSlope} * t >> 16);
    tables->roots[t] = static_cast<uint16_t>(t <= kLabStraight ? straight : root);
  }
}

}  // namespace depthwatt
