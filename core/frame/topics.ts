// SPDX-License-Identifier: Apache-2.0
// Topic names: <base>/<device>/<leaf>. The two parts that users choose are checked here and nowhere else.
import { DepthwattError } from "../errors.js";
import { isRegistered, type RegisteredStream, type StreamName } from "./frame-format.js";

export interface Topics {
  /** Retained JSON, also the last will. */
  state: string;
  info: string;
  cameraInfo: string;
  /** JSON, once a second, not retained. */
  metrics: string;
  /** A small picture, a whole JPEG or PNG file, not retained. */
  preview: string;
  /** JSON, the nearest distance in each zone, not retained. */
  zones: string;
  /** Retained JSON, also the last will: alarms of zones. */
  alarms: string;
  /** JSON, the nearest distance by angle, not retained. */
  scan: string;
  /** JSON, figures of quality, not retained. */
  quality: string;
  /** JSON, what other programs detect: to the device. */
  detections: string;
  /** JSON, the distances of detections, not retained. */
  distances: string;
  /** JSON, the plane of the floor, not retained. */
  floor: string;
  /** JSON, free, occupied and unknown cells of the floor, not retained. */
  grid: string;
  /** The cells of the grid as bytes, not retained. */
  cells: string;
  /** Above the topics of ROS messages. */
  ros: string;
  /** @param camera only for a registered stream: the name of the other camera */
  stream(name: StreamName, camera?: string): string;
}

/** Returns the end of a registered stream's topic. @param camera + for every camera */
export function registeredLeaf(name: RegisteredStream, camera: string): string {
  return name === "registered" ? `registered/${camera}` : `registered/${camera}/confidence`;
}

const MAX_PART_BYTES = 200;

function refusePart(key: string, value: string, expected: string): never {
  throw new DepthwattError("CONFIG_INVALID", `${key}: expected ${expected}, got ${JSON.stringify(value)}`, {
    hint: "Use letters, digits, '-' and '_', such as 'robot-1'.",
    context: { key, value },
  });
}

// MQTT 5 section 1.5.4 forbids NUL and advises against the other control characters; in a name that arrives they could
// control the terminal that lists it.
const BAD_CHARACTER = /[+#\p{Cc}]/u;

function checkPart(key: string, value: string): void {
  if (value === "") refusePart(key, value, "at least one character");
  const bad = BAD_CHARACTER.exec(value);
  if (bad)
    refusePart(key, value, `no wildcard and no control character, but there is ${JSON.stringify(bad[0])}`);
  if (value.startsWith("$")) refusePart(key, value, "no leading '$', which brokers keep for themselves");
  if (/\p{Surrogate}/u.test(value)) refusePart(key, value, "well-formed Unicode");
  if (new TextEncoder().encode(value).length > MAX_PART_BYTES) {
    refusePart(key, value, `at most ${MAX_PART_BYTES} bytes of UTF-8`);
  }
}

/** One level, such as a device name: no '/', '+', '#', leading '$', control characters; not empty. */
export function checkDeviceName(value: string, key = "device"): void {
  checkPart(key, value);
  if (value.includes("/")) refusePart(key, value, "a single topic level, without '/'");
}

/** One or more levels such as "site/hall-2"; no empty level. */
export function checkBaseTopic(value: string, key = "base"): void {
  checkPart(key, value);
  if (value.split("/").includes(""))
    refusePart(key, value, "no empty level (no leading, trailing or double '/')");
}

/** @throws DepthwattError CONFIG_INVALID naming the key `base` or `device` */
export function makeTopics(base: string, device: string): Topics {
  checkBaseTopic(base);
  checkDeviceName(device);
  const prefix = `${base}/${device}`;
  return {
    state: `${prefix}/state`,
    info: `${prefix}/info`,
    cameraInfo: `${prefix}/camera_info`,
    metrics: `${prefix}/metrics`,
    preview: `${prefix}/preview`,
    zones: `${prefix}/zones`,
    alarms: `${prefix}/alarms`,
    scan: `${prefix}/scan`,
    quality: `${prefix}/quality`,
    detections: `${prefix}/detections`,
    distances: `${prefix}/distances`,
    floor: `${prefix}/floor`,
    grid: `${prefix}/grid`,
    cells: `${prefix}/cells`,
    ros: `${prefix}/ros`,
    stream: (name, camera) =>
      isRegistered(name) ? `${prefix}/${registeredLeaf(name, camera ?? "+")}` : `${prefix}/${name}`,
  };
}

/** Splits a received topic; undefined where it is not <base>/<device>/<leaf> or a registered stream, or no publisher may have such a name. */
export function splitTopic(base: string, topic: string): { device: string; leaf: string } | undefined {
  if (!topic.startsWith(`${base}/`)) return undefined;
  const [device, leaf, ...rest] = topic.slice(base.length + 1).split("/");
  if (!device || !leaf) return undefined;
  if (leaf === "registered" && rest[0]) {
    if (rest.length > 2 || (rest.length === 2 && rest[1] !== "confidence")) return undefined;
  } else if (rest.length > 0) return undefined;
  // In UTF-16 units, which are never more than the bytes of UTF-8.
  return device.length > MAX_PART_BYTES || BAD_CHARACTER.test(device)
    ? undefined
    : { device, leaf: rest.length === 2 ? "registeredConfidence" : leaf };
}
