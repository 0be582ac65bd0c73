// SPDX-License-Identifier: Apache-2.0
// A ROS 2 node that publishes depthwatt's depth from shared memory. A middleware with loaned messages (such as iceoryx)
// gives its own memory for the message, so the picture is copied once on its way to all subscribers.
//
//   depthwatt run --set outputs.sharedMemory.path=/run/depthwatt/frames.sock
//   ros2 run depthwatt_shared_memory depth_publisher --ros-args -p socket:=/run/depthwatt/frames.sock
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include <rclcpp/rclcpp.hpp>

#include "depthwatt_frame.h"
#include "depthwatt_shared.h"
#include "depthwatt_shared_memory/msg/depth.hpp"

namespace {

using depthwatt_shared_memory::msg::Depth;

class DepthPublisher : public rclcpp::Node {
 public:
  DepthPublisher() : Node("depthwatt_depth") {
    socket_ = declare_parameter<std::string>("socket", "/run/depthwatt/frames.sock");
    publisher_ = create_publisher<Depth>("depth", rclcpp::SensorDataQoS());
    if (!publisher_->can_loan_messages()) {
      RCLCPP_WARN(get_logger(), "The middleware lends no messages: each one is allocated and copied.");
    }
  }

  void run() {
    while (rclcpp::ok()) {
      depthwatt_shared reader;
      char error[200];
      if (depthwatt_shared_open(&reader, socket_.c_str(), DEPTHWATT_DEPTH, 1000, error, sizeof error) != 0) {
        RCLCPP_WARN_THROTTLE(get_logger(), *get_clock(), 5000, "%s", error);
        std::this_thread::sleep_for(std::chrono::seconds(1));
        continue;
      }
      depthwatt_shared_frame frame;
      while (rclcpp::ok() && depthwatt_shared_wait(&reader, 200, &frame) >= 0) {
        if (frame.message != nullptr) publish(frame);
      }
      depthwatt_shared_close(&reader);
    }
  }

 private:
  void publish(const depthwatt_shared_frame& shared) {
    depthwatt::Frame frame;
    const auto fault = depthwatt::parseFrame(shared.message, shared.bytes, frame, depthwatt::Integrity::sequence);
    auto message = publisher_->borrow_loaned_message();
    Depth& depth = message.get();
    if (fault != depthwatt::Fault::none || frame.pixels() > depth.millimetres.size()) {
      if (depthwatt_shared_intact(&shared)) {
        RCLCPP_WARN_THROTTLE(get_logger(), *get_clock(), 5000, "Expected depth of at most 1920 x 1080.");
      }
      return;
    }
    const int64_t sinceEpochNs =
        frame.realtimeOffsetKnown ? static_cast<int64_t>(frame.leftTimestampNs) + frame.realtimeOffsetNs : 0;
    depth.stamp.sec = static_cast<int32_t>(sinceEpochNs / 1000000000);
    depth.stamp.nanosec = static_cast<uint32_t>(sinceEpochNs % 1000000000);
    depth.width = frame.width;
    depth.height = frame.height;
    const bool isDecoded = depthwatt::decode(frame, depth.millimetres.data(), frame.pixels()) == depthwatt::Fault::none;
    // The writer may have overwritten the slot meanwhile: the next frame is there already.
    if (isDecoded && depthwatt_shared_intact(&shared)) publisher_->publish(std::move(message));
  }

  std::string socket_;
  rclcpp::Publisher<Depth>::SharedPtr publisher_;
};

}  // namespace

int main(int count, char** words) {
  rclcpp::init(count, words);
  std::make_shared<DepthPublisher>()->run();
  rclcpp::shutdown();
  return 0;
}
