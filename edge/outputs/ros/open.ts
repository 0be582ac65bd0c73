// SPDX-License-Identifier: Apache-2.0
// The output "ros": depth and camera_info as ROS 2 messages over MQTT.
import type { RequestedEncodings } from "../../contracts/computed-frame.js";
import { defineOutput } from "../../contracts/output.js";
import { type RosSettings, rosSettings } from "./settings.js";

function rosEncodings(
  { compressedDepth, points, voxels, right, registered }: RosSettings,
  hasDepth: boolean,
): RequestedEncodings {
  if (!hasDepth) return {};
  return {
    ...(compressedDepth === "rvl" && { encodeDepth: "rvl" }),
    ...(points && { points: true }),
    ...(voxels && { voxels: true }),
    ...(right && { rightGrey: true }),
    ...(registered && { registration: true }),
  };
}

export const ros = defineOutput({
  settings: rosSettings,
  off: ({ enabled }) => (enabled ? undefined : "outputs.ros.enabled is false"),
  encodings: rosEncodings,
  // While a PNG is made of it.
  framesHeld: 1,
  open: async (context) => (await import("./ros-output.js")).openRos(context),
});
