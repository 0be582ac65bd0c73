// SPDX-License-Identifier: Apache-2.0
// The fast form of voxels. Depths come from a table by disparity. A pixel in the voxel of the pixel before it adds nothing, so
// that few pixels reach the hash table.
#include "voxels.h"

#include <algorithm>

namespace depthwatt {
namespace {

/// Not a voxel: its level is negative.
constexpr uint64_t kNoVoxel = ~uint64_t{0};

uint64_t fitted(int64_t x, int64_t y, int64_t z, uint32_t level) {
  const auto cell = [](int64_t c) { return static_cast<uint64_t>(c + 32768); };
  if ((cell(x) | cell(y) | cell(z)) >> 16 != 0) return kNoVoxel;
  const Voxel voxel = {static_cast<int16_t>(x), static_cast<int16_t>(y), static_cast<int16_t>(z),
                       static_cast<int16_t>(level)};
  uint64_t bits;
  std::memcpy(&bits, &voxel, sizeof bits);
  return bits;
}

template <bool kRobot>
uint64_t voxelAt(const VoxelsPlan& plan, int64_t u, int64_t row, int16_t disparityQ4) {
  const uint32_t depth = plan.depths[static_cast<uint16_t>(disparityQ4)];
  if (depth == 0) return kNoVoxel;
  const int64_t q = depth >> 3;
  const uint32_t level = depth & 7;
  if (kRobot) return fitted(q >> 12, (plan.halfBaseline[level] - (u * q >> 16)) >> 12, row * q >> 28, level);
  return fitted(u * q >> 28, row * q >> 28, q >> 12, level);
}

/// Calls add(voxel) for each pixel whose voxel is not that of the pixel before.
template <bool kRobot, class Add>
void forEachVoxel(const VoxelsPlan& plan, ImageView<const int16_t> disparityQ4, int32_t first, int32_t end, Add add) {
  uint64_t before = kNoVoxel;
  for (int32_t y = first; y < end; ++y) {
    const int16_t* disparities = disparityQ4.row(y);
    const int32_t* columns = plan.columns.data();
    const int64_t row = plan.rows[static_cast<size_t>(y)];
    for (int32_t x = 0; x < disparityQ4.width; ++x) {
      const uint64_t voxel = voxelAt<kRobot>(plan, columns[x], row, disparities[x]);
      if (voxel != before && voxel != kNoVoxel) add(voxel);
      before = voxel;
    }
  }
}

}  // namespace

void VoxelLister::Table::open(size_t max) {
  int bits = 4;
  while ((size_t{1} << bits) < 2 * max) ++bits;
  places.assign(size_t{1} << bits, 0);
  shift = 64 - bits;
}

uint32_t VoxelLister::Table::add(uint64_t voxel, uint64_t* list, uint32_t count) {
  const size_t mask = places.size() - 1;
  size_t at = start(voxel);
  for (; places[at] != 0; at = (at + 1) & mask) {
    if (list[places[at] - 1] == voxel) return count;
  }
  list[count] = voxel;
  places[at] = count + 1;
  return count + 1;
}

void VoxelLister::Table::clear(const uint64_t* list, uint32_t count) {
  const size_t mask = places.size() - 1;
  for (uint32_t i = 0; i < count; ++i) {
    size_t at = start(list[i]);
    while (places[at] != i + 1) at = (at + 1) & mask;
    places[at] = 0;
  }
}

VoxelLister::VoxelLister(VoxelsPlan plan, int32_t width, int32_t height, Workers& workers)
    : plan_(std::move(plan)), workers_(workers) {
  const auto team = static_cast<size_t>(workers.count());
  const size_t pixels = static_cast<size_t>(width) * static_cast<size_t>(height);
  tables_.resize(team > 1 ? team + 1 : 1);
  tables_.back().open(pixels);
  counts_.resize(team);
  if (team == 1) return;
  for (size_t worker = 0; worker < team; ++worker)
    tables_[worker].open((static_cast<size_t>(height) / team + 1) * static_cast<size_t>(width));
  lists_.resize(pixels);
}

uint32_t VoxelLister::listRows(ImageView<const int16_t> disparityQ4, Table& table, uint64_t* list, int32_t first,
                               int32_t end) const {
  uint32_t count = 0;
  const auto add = [&](uint64_t voxel) { count = table.add(voxel, list, count); };
  if (plan_.robot) forEachVoxel<true>(plan_, disparityQ4, first, end, add);
  else forEachVoxel<false>(plan_, disparityQ4, first, end, add);
  return count;
}

int32_t VoxelLister::list(ImageView<const int16_t> disparityQ4, Voxel* voxels) {
  static_assert(sizeof(Voxel) == sizeof(uint64_t), "a voxel is a key of the table");
  auto* const all = reinterpret_cast<uint64_t*>(voxels + 1);
  Table& table = tables_.back();
  uint32_t count = 0;
  if (lists_.empty()) {
    count = listRows(disparityQ4, table, all, 0, disparityQ4.height);
  } else {
    const int team = workers_.count();
    const auto firstRow = [&](int worker) { return static_cast<int32_t>(int64_t{disparityQ4.height} * worker / team); };
    const auto listOf = [&](int worker) {
      return lists_.data() + static_cast<size_t>(firstRow(worker)) * static_cast<size_t>(disparityQ4.width);
    };
    workers_.each([&](int worker) {
      Table& own = tables_[static_cast<size_t>(worker)];
      const uint32_t found = listRows(disparityQ4, own, listOf(worker), firstRow(worker), firstRow(worker + 1));
      own.clear(listOf(worker), found);
      counts_[static_cast<size_t>(worker)] = found;
    });
    for (int worker = 0; worker < team; ++worker) {
      const uint64_t* const found = listOf(worker);
      for (uint32_t i = 0; i < counts_[static_cast<size_t>(worker)]; ++i) count = table.add(found[i], all, count);
    }
  }
  table.clear(all, count);
  const uint32_t head[2] = {count, 0};
  std::memcpy(voxels, head, sizeof head);
  return static_cast<int32_t>(count);
}

size_t VoxelLister::bytes() const {
  size_t bytes = lists_.size() * sizeof(uint64_t) + plan_.depths.size() * sizeof(uint32_t) +
                 (plan_.columns.size() + plan_.rows.size()) * sizeof(int32_t);
  for (const Table& table : tables_) bytes += table.places.size() * sizeof(uint32_t);
  return bytes;
}

}  // namespace depthwatt
