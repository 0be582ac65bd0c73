// SPDX-License-Identifier: Apache-2.0
// Defines the messages of a recording: ROS 2 definitions for images and cameras, JSON Schema for depthwatt's own
// documents.

export interface RecordedSchema {
  name: string;
  encoding: "ros2msg" | "jsonschema";
  text: string;
}

/** How messages of a schema are written. */
export const messageEncoding = ({ encoding }: RecordedSchema) => (encoding === "ros2msg" ? "cdr" : "json");

// Some collections of definitions print ROS 1's `time`, which readers of ROS 2 refuse: these are written out.
const TIME = ["builtin_interfaces/Time", "int32 sec", "uint32 nanosec"];
const HEADER = ["std_msgs/Header", "builtin_interfaces/Time stamp", "string frame_id"];
const REGION = [
  "sensor_msgs/RegionOfInterest",
  "uint32 x_offset",
  "uint32 y_offset",
  "uint32 height",
  "uint32 width",
  "bool do_rectify",
];

function ros(name: string, fields: readonly string[], ...uses: readonly string[][]): RecordedSchema {
  const parts = uses.map(([type, ...lines]) => [`${"=".repeat(80)}\nMSG: ${type}`, ...lines].join("\n"));
  return { name, encoding: "ros2msg", text: `${[fields.join("\n"), ...parts].join("\n")}\n` };
}

export const IMAGE = ros(
  "sensor_msgs/msg/Image",
  [
    "std_msgs/Header header",
    "uint32 height",
    "uint32 width",
    "string encoding",
    "uint8 is_bigendian",
    "uint32 step",
    "uint8[] data",
  ],
  HEADER,
  TIME,
);

export const COMPRESSED_IMAGE = ros(
  "sensor_msgs/msg/CompressedImage",
  ["std_msgs/Header header", "string format", "uint8[] data"],
  HEADER,
  TIME,
);

export const POINT_CLOUD = ros(
  "sensor_msgs/msg/PointCloud2",
  [
    "std_msgs/Header header",
    "uint32 height",
    "uint32 width",
    "sensor_msgs/PointField[] fields",
    "bool is_bigendian",
    "uint32 point_step",
    "uint32 row_step",
    "uint8[] data",
    "bool is_dense",
  ],
  HEADER,
  TIME,
  ["sensor_msgs/PointField", "string name", "uint32 offset", "uint8 datatype", "uint32 count"],
);

export const CAMERA_INFO = ros(
  "sensor_msgs/msg/CameraInfo",
  [
    "std_msgs/Header header",
    "uint32 height",
    "uint32 width",
    "string distortion_model",
    "float64[] d",
    "float64[9] k",
    "float64[9] r",
    "float64[12] p",
    "uint32 binning_x",
    "uint32 binning_y",
    "sensor_msgs/RegionOfInterest roi",
  ],
  HEADER,
  TIME,
  REGION,
);

export const TRANSFORMS = ros(
  "tf2_msgs/msg/TFMessage",
  ["geometry_msgs/TransformStamped[] transforms"],
  [
    "geometry_msgs/TransformStamped",
    "std_msgs/Header header",
    "string child_frame_id",
    "geometry_msgs/Transform transform",
  ],
  HEADER,
  TIME,
  ["geometry_msgs/Transform", "geometry_msgs/Vector3 translation", "geometry_msgs/Quaternion rotation"],
  ["geometry_msgs/Vector3", "float64 x", "float64 y", "float64 z"],
  ["geometry_msgs/Quaternion", "float64 x", "float64 y", "float64 z", "float64 w"],
);

/** docs/reference/documents.md describes the documents: recordings and topics carry the same ones. */
function json(name: string, properties: Record<string, object>): RecordedSchema {
  const schema = { $schema: "https://json-schema.org/draft/2020-12/schema", title: name, type: "object" };
  return { name, encoding: "jsonschema", text: JSON.stringify({ ...schema, properties }) };
}

const NUMBER = { type: "number" };
const TEXT = { type: "string" };
const OBJECT = { type: "object" };

export const METRICS = json("depthwatt.Metrics", {
  frames: NUMBER,
  seconds: NUMBER,
  fps: NUMBER,
  backend: TEXT,
  algorithm: TEXT,
  stages: OBJECT,
  latencyMs: OBJECT,
  drops: { type: "object", additionalProperties: NUMBER },
  pairing: OBJECT,
  power: OBJECT,
  governor: OBJECT,
  outputs: OBJECT,
});

/** Energy between the captures of two successive frames; `available` false: `reason` says why there is none. */
export const FRAME_ENERGY = json("depthwatt.FrameEnergy", {
  available: { type: "boolean" },
  reason: TEXT,
  joules: NUMBER,
  joulesUncertainty: { type: ["number", "object"], description: "Expanded (k = 2)." },
  seconds: { type: "number", description: "Length of the interval." },
  ageMs: { type: "number", description: "From the end of the interval to the capture of this frame." },
});

export const STATE = json("depthwatt.State", {
  state: { enum: ["online", "degraded", "stopped"] },
  reason: TEXT,
});

export const INFO = json("depthwatt.Info", {
  version: TEXT,
  source: TEXT,
  backend: TEXT,
  parameters: OBJECT,
});

export const SETTINGS = json("depthwatt.Settings", {
  from: { type: "string", description: "Who changed them; start: those that the recording begins with." },
  values: { type: "object", description: "By dotted key." },
});

export const NOTICE = json("depthwatt.Notice", { text: TEXT });
