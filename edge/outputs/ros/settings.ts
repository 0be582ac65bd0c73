// SPDX-License-Identifier: Apache-2.0
// Settings of the ROS messages.
import { z } from "zod";
import { rateSetting } from "../../contracts/rate-setting.js";
import { type Exact, section, setting } from "../../contracts/setting.js";

export const rosSettings = section(
  "ROS 2 messages as they are serialised (CDR), at the broker of outputs.mqtt, for the bridge mqtt_client.",
  {
    enabled: setting(z.boolean(), {
      default: false,
      takesEffect: "restart",
      description: "Publishes ROS messages.",
    }),
    image: setting(z.boolean(), {
      default: false,
      description: "sensor_msgs/Image of 16UC1, millimetres: the largest form.",
    }),
    compressedDepth: setting(z.enum(["rvl", "png", "off"]), {
      default: "rvl",
      description: "sensor_msgs/CompressedImage as compressed_depth_image_transport reads it.",
    }),
    points: setting(z.boolean(), {
      default: false,
      description: "sensor_msgs/PointCloud2, metres: 16 bytes a pixel; needs points.element float32.",
    }),
    voxels: setting(z.boolean(), {
      default: false,
      description:
        "sensor_msgs/PointCloud2 of the middles of voxels, metres: 12 bytes each, without colours.",
    }),
    confidence: setting(z.boolean(), {
      default: true,
      description:
        "sensor_msgs/Image of mono8, confidence 0 to 255. 0 marks pixels that were filled, in depth and points too.",
    }),
    cameraInfo: setting(z.boolean(), {
      default: true,
      description: "sensor_msgs/CameraInfo of the rectified left camera, with each frame.",
    }),
    right: setting(z.boolean(), {
      default: false,
      description:
        "sensor_msgs/Image of mono8 and CameraInfo of the rectified right image, frame_id right_rectified.",
    }),
    registered: setting(z.boolean(), {
      default: false,
      takesEffect: "restart",
      description:
        "Depth (16UC1) and confidence (mono8) as sensor_msgs/Image in the image of registration.camera, with its CameraInfo.",
    }),
    frameId: setting(z.string().regex(/^[A-Za-z0-9_/-]{1,100}$/), {
      default: "left_rectified",
      expects: "letters, digits, _, - and /",
      description: "The frame_id in each header; points of points.frame robot are in stereo_head.",
    }),
    rateHz: rateSetting(),
  },
  "live",
);

export type RosSettings = Exact<z.infer<typeof rosSettings>>;
