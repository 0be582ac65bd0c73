// SPDX-License-Identifier: Apache-2.0
// Serialises ROS 2 messages with Fast CDR, which ROS 2's default middleware uses, and prints each in hex:
// sensor_msgs/Image, sensor_msgs/CompressedImage of RVL and of PNG, sensor_msgs/CameraInfo, sensor_msgs/PointCloud2,
// nav_msgs/OccupancyGrid, sensor_msgs/LaserScan.
#include <fastcdr/Cdr.h>
#include <fastcdr/FastBuffer.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

namespace {

using eprosima::fastcdr::Cdr;
using eprosima::fastcdr::FastBuffer;

class Message {
 public:
  Message() : cdr_(buffer_, Cdr::LITTLE_ENDIANNESS, Cdr::DDS_CDR) { cdr_.serialize_encapsulation(); }

  template <typename T>
  Message& operator<<(const T& value) {
    cdr_ << value;
    return *this;
  }

  Message& header(const std::string& frame) { return *this << int32_t{1700000000} << uint32_t{123456789} << frame; }

  void print() {
    for (size_t i = 0; i < cdr_.getSerializedDataLength(); ++i)
      std::printf("%02x", static_cast<unsigned char>(buffer_.getBuffer()[i]));
    std::puts("");
  }

 private:
  FastBuffer buffer_;
  Cdr cdr_;
};

}  // namespace

int main() {
  const std::vector<uint8_t> pixels{1, 0, 2, 0, 255, 255, 0, 0, 7, 0, 9, 1};
  Message image;
  image.header("left_rectified") << uint32_t{2} << uint32_t{3} << std::string("16UC1") << uint8_t{0} << uint32_t{6}
                                 << pixels;
  image.print();

  std::vector<uint8_t> data(20, 0);
  data[12] = 3;
  data[16] = 2;
  for (uint8_t byte = 0; byte < 8; ++byte) data.push_back(byte);
  Message compressed;
  compressed.header("left_rectified") << std::string("16UC1; compressedDepth rvl") << data;
  compressed.print();

  std::vector<uint8_t> file(12, 0);
  for (uint8_t byte = 0x89; byte < 0x90; ++byte) file.push_back(byte);
  Message png;
  png.header("left_rectified") << std::string("16UC1; compressedDepth png") << file;
  png.print();

  Message camera;
  camera.header("cam") << uint32_t{2} << uint32_t{3} << std::string("plumb_bob");
  camera << std::vector<double>(5, 0.0);
  camera << std::array<double, 9>{500.5, 0, 1.5, 0, 500.5, 0.5, 0, 0, 1};
  camera << std::array<double, 9>{1, 0, 0, 0, 1, 0, 0, 0, 1};
  camera << std::array<double, 12>{500.5, 0, 1.5, 0, 0, 500.5, 0.5, 0, 0, 0, 1, 0};
  camera << uint32_t{0} << uint32_t{0};
  camera << uint32_t{0} << uint32_t{0} << uint32_t{0} << uint32_t{0} << false;
  camera.print();

  // Two points, one without coordinates.
  std::vector<uint8_t> places;
  for (const float value : {0.5f, -0.25f, 2.0f}) {
    const auto* bytes = reinterpret_cast<const uint8_t*>(&value);
    places.insert(places.end(), bytes, bytes + 4);
  }
  for (const uint8_t colour : {1, 2, 3, 255}) places.push_back(colour);
  for (int axis = 0; axis < 3; ++axis)
    for (const uint8_t byte : {0x00, 0x00, 0xc0, 0x7f}) places.push_back(byte);
  for (const uint8_t colour : {9, 8, 7, 255}) places.push_back(colour);
  Message cloud;
  cloud.header("stereo_head") << uint32_t{1} << uint32_t{2} << uint32_t{4};
  uint32_t offset = 0;
  for (const char* name : {"x", "y", "z", "rgb"}) {
    cloud << std::string(name) << offset << uint8_t{7} << uint32_t{1};
    offset += 4;
  }
  cloud << false << uint32_t{16} << uint32_t{32} << places << false;
  cloud.print();

  // Two by two cells: unknown and free at the right, a drop-off and an obstacle at the left.
  Message grid;
  grid.header("stereo_floor") << int32_t{0} << uint32_t{0} << 0.25f << uint32_t{2} << uint32_t{2};
  for (const double value : {0.0, -0.25, 0.0, 0.0, 0.0, 0.0, 1.0}) grid << value;
  grid << std::vector<int8_t>{-1, 0, 100, 100};
  grid.print();

  Message scan;
  scan.header("stereo_floor") << -0.5f << 0.5f << 1.0f << 0.0f << 0.0f << 0.0f << 5.0f;
  uint32_t bits = 0x7fc00000;
  float nan;
  std::memcpy(&nan, &bits, sizeof nan);
  scan << std::vector<float>{1.5f, nan} << std::vector<float>{};
  scan.print();
  return 0;
}
