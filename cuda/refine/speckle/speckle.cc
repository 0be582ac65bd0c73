// SPDX-License-Identifier: Apache-2.0
// Fast form of the speckle filter: runs of linked pixels in a row are the nodes of a union-find, and rows are linked
// run by run.
//
// There are tens of times fewer runs than pixels, and two runs of adjacent rows are compared only until the first
// linked pair. Each thread links a band of rows, and the caller links the seams between bands; sizes are kept at the
// roots. Vectors would not help: following runs takes most of the time.
#include <cstdint>

#include "speckle.h"

namespace depthwatt {
namespace {

/// Scratch of one image. Run k of row y has index y * width + k; a row never has more runs than pixels.
struct Runs {
  int32_t* begin;
  int32_t* end;
  int32_t* parent;  ///< of a root: minus its region's pixel count
  int32_t* count;   ///< [height] runs of each row
};

Runs runsIn(int32_t* scratch, int32_t width, int32_t height) {
  const size_t pixels = static_cast<size_t>(width) * height;
  return {scratch, scratch + pixels, scratch + 2 * pixels, scratch + 3 * pixels};
}

bool linked(int32_t a, int32_t b, int32_t range) {
  // Both valid and |a - b| <= range, the latter as one unsigned comparison.
  return a != kInvalidDisparity && b != kInvalidDisparity &&
         static_cast<uint32_t>(a - b + range) <= static_cast<uint32_t>(2 * range);
}

int32_t findRoot(const int32_t* parent, int32_t run) {
  while (parent[run] >= 0) run = parent[run];
  return run;
}

/// Returns the same, and halves the path for the next search.
int32_t rootOfAndShorten(int32_t* parent, int32_t run) {
  while (parent[run] >= 0) {
    const int32_t up = parent[run];
    if (parent[up] >= 0) parent[run] = parent[up];
    run = up;
  }
  return run;
}

void join(int32_t* parent, int32_t a, int32_t b) {
  a = rootOfAndShorten(parent, a);
  b = rootOfAndShorten(parent, b);
  if (a == b) return;
  // The larger region absorbs the smaller one, which bounds the depth.
  const int32_t larger = parent[a] <= parent[b] ? a : b;
  const int32_t smaller = larger == a ? b : a;
  parent[larger] += parent[smaller];
  parent[smaller] = larger;
}

void findRuns(const int16_t* row, int32_t width, int32_t range, int32_t first, const Runs& runs, int32_t* count) {
  int32_t next = first;
  for (int32_t x = 0; x < width;) {
    if (row[x] == kInvalidDisparity) {
      ++x;
      continue;
    }
    const int32_t begin = x++;
    while (x < width && linked(row[x - 1], row[x], range)) ++x;
    runs.begin[next] = begin;
    runs.end[next] = x;
    runs.parent[next] = begin - x;
    ++next;
  }
  *count = next - first;
}

/// Joins the runs of row y with those of the row above.
void linkRows(ImageView<const int16_t> image, int32_t y, int32_t range, const Runs& runs) {
  const int16_t* above = image.row(y - 1);
  const int16_t* here = image.row(y);
  int32_t a = (y - 1) * image.width, b = y * image.width;
  const int32_t endA = a + runs.count[y - 1], endB = b + runs.count[y];
  while (a < endA && b < endB) {
    const int32_t begin = runs.begin[a] > runs.begin[b] ? runs.begin[a] : runs.begin[b];
    const int32_t end = runs.end[a] < runs.end[b] ? runs.end[a] : runs.end[b];
    for (int32_t x = begin; x < end; ++x) {
      if (linked(above[x], here[x], range)) {
        join(runs.parent, a, b);
        break;
      }
    }
    if (runs.end[a] < runs.end[b]) ++a;
    else ++b;
  }
}

void removeSmall(ImageView<int16_t> disparityQ4, ImageView<uint8_t> confidence, int32_t y, int32_t minPixels,
                 const Runs& runs) {
  const int32_t first = y * disparityQ4.width;
  for (int32_t run = first; run < first + runs.count[y]; ++run) {
    if (-runs.parent[findRoot(runs.parent, run)] >= minPixels) continue;
    for (int32_t x = runs.begin[run]; x < runs.end[run]; ++x) {
      disparityQ4.row(y)[x] = kInvalidDisparity;
      if (confidence.data != nullptr) confidence.row(y)[x] = 0;
    }
  }
}

}  // namespace

size_t speckleScratchWords(int32_t width, int32_t height) {
  return (3 * static_cast<size_t>(width) + 1) * static_cast<size_t>(height);
}

void speckleFilter(const SpeckleParameters& parameters, ImageView<int16_t> disparityQ4, ImageView<uint8_t> confidence,
                   int32_t* scratch, Workers& workers) {
  if (parameters.minPixels <= 1) return;  // every region has at least one pixel
  const int32_t width = disparityQ4.width, height = disparityQ4.height;
  const Runs runs = runsIn(scratch, width, height);
  const int32_t range = parameters.rangeQ4;
  const int32_t threads = workers.count();
  const auto bandStart = [&](int32_t band) { return static_cast<int32_t>(int64_t{height} * band / threads); };
  workers.each([&](int band) {
    for (int32_t y = bandStart(band); y < bandStart(band + 1); ++y) {
      findRuns(disparityQ4.row(y), width, range, y * width, runs, &runs.count[y]);
      if (y > bandStart(band)) linkRows(disparityQ4.asConst(), y, range, runs);
    }
  });
  for (int32_t band = 1; band < threads; ++band) {
    const int32_t y = bandStart(band);
    if (y > bandStart(band - 1)) linkRows(disparityQ4.asConst(), y, range, runs);
  }
  workers.each([&](int band) {
    for (int32_t y = bandStart(band); y < bandStart(band + 1); ++y) {
      removeSmall(disparityQ4, confidence, y, parameters.minPixels, runs);
    }
  });
}

}  // namespace depthwatt
