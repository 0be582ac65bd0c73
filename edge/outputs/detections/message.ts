// SPDX-License-Identifier: Apache-2.0
// Parses messages with detections. Anybody may write to the topic, so every field is checked here.
import type { Point } from "../derived/polygon.js";
import type { DetectionFormat } from "./settings.js";

/** The time or the frame that detections belong to; "newest" if a message names none. */
export type FrameReference =
  | { kind: "newest" }
  /** Milliseconds since 1970. */
  | { kind: "time"; timeMs: number }
  /** Nanoseconds of the capture clock, as in the frame header. */
  | { kind: "timestamp"; timestampNs: bigint }
  | { kind: "sequence"; sequence: number };

export interface Detection {
  id: string | undefined;
  label: string | undefined;
  /** Corners as fractions of the detector's image, or why there are none. */
  corners: readonly Point[] | string;
  isBox: boolean;
  /** The detector lost the object with this id. */
  ended: boolean;
}

export interface DetectionMessage {
  id: string | undefined;
  reference: FrameReference;
  image: "rectified" | "raw" | undefined;
  detections: readonly Detection[];
}

export interface ParseOptions {
  format: DetectionFormat;
  /** Frigate's name of the camera; undefined: all. */
  camera: string | undefined;
  /** Size of the detector's image; undefined: boxes are fractions unless the message has a size. */
  imageSize: { width: number; height: number } | undefined;
}

/** A refused message: why, and its id where it has one. */
export interface RefusedMessage {
  reason: string;
  id: string | undefined;
}

export const MAX_MESSAGE_BYTES = 65_536;
export const MAX_DETECTIONS = 50;
const MAX_CORNERS = 64;
const MAX_TEXT = 64;
/** Corners further outside than this many images are errors, not objects at the border. */
const FARTHEST = 100;

type Fields = Record<string, unknown>;
type Size = { width: number; height: number } | undefined;

class Refusal extends Error {}

function fields(value: unknown, what: string): Fields {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Fields;
  throw new Refusal(`expected an object ${what}, got ${kindOf(value)}`);
}

const kindOf = (value: unknown): string =>
  value === null || value === undefined
    ? "nothing"
    : Array.isArray(value)
      ? `a list of ${value.length}`
      : typeof value === "string" || typeof value === "number"
        ? JSON.stringify(value).slice(0, 40)
        : `a value of type ${typeof value}`;

/** An id or a label: a short text, or a number. */
function text(value: unknown, name: string): string | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value === "number" && Number.isFinite(value)) return String(value);
  if (typeof value === "string" && value.length <= MAX_TEXT && !/\p{Cc}/u.test(value)) return value;
  throw new Refusal(`expected ${name} of at most ${MAX_TEXT} characters, got ${kindOf(value).slice(0, 20)}`);
}

function number(value: unknown, name: string): number {
  if (typeof value === "number" && Number.isFinite(value)) return value;
  throw new Refusal(`expected a number ${name}, got ${kindOf(value)}`);
}

function corner(x: unknown, y: unknown, size: Size): Point {
  const point = {
    x: number(x, "as a corner") / (size?.width ?? 1),
    y: number(y, "as a corner") / (size?.height ?? 1),
  };
  if (Math.max(Math.abs(point.x), Math.abs(point.y)) <= FARTHEST) return point;
  const hint = size === undefined ? "; boxes in pixels need imageSize" : "";
  throw new Refusal(`expected corners near the image, got one at ${x}, ${y}${hint}`);
}

function boxCorners(left: unknown, top: unknown, right: unknown, bottom: unknown, size: Size): Point[] {
  const [a, c] = [corner(left, top, size), corner(right, bottom, size)];
  if (a.x >= c.x || a.y >= c.y)
    throw new Refusal(`expected a box with an area, got ${left}, ${top} to ${right}, ${bottom}`);
  return [a, { x: c.x, y: a.y }, c, { x: a.x, y: c.y }];
}

function box(value: unknown, size: Size): Point[] {
  if (!Array.isArray(value) || value.length !== 4)
    throw new Refusal(`expected box [left, top, right, bottom], got ${kindOf(value)}`);
  return boxCorners(value[0], value[1], value[2], value[3], size);
}

function polygon(value: unknown, size: Size): Point[] {
  if (!Array.isArray(value) || value.length < 3 || value.length > MAX_CORNERS)
    throw new Refusal(`expected a polygon of 3 to ${MAX_CORNERS} corners, got ${kindOf(value)}`);
  return value.map((point) => {
    if (!Array.isArray(point) || point.length !== 2)
      throw new Refusal(`expected corners [x, y], got ${kindOf(point)}`);
    return corner(point[0], point[1], size);
  });
}

/** Makes a detection; a wrong shape is the answer of this detection alone. */
function detection(named: Fields, isBox: boolean, corners: () => Point[], ended = false): Detection {
  let [id, label]: (string | undefined)[] = [];
  try {
    id = text(named.id, "an id");
    label = text(named.label, "a label");
    return { id, label, corners: corners(), isBox, ended };
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return { id, label, corners: error.message, isBox, ended: false };
  }
}

function list(value: unknown, what: string): readonly unknown[] {
  if (Array.isArray(value) && value.length <= MAX_DETECTIONS) return value;
  throw new Refusal(`expected ${what} of at most ${MAX_DETECTIONS} detections, got ${kindOf(value)}`);
}

const LARGEST_INT64 = 2n ** 63n - 1n;

function reference({ timeMs, leftTimestampNs, leftSequence }: Fields): FrameReference {
  if (leftSequence !== undefined)
    return { kind: "sequence", sequence: number(leftSequence, "as leftSequence") };
  if (leftTimestampNs !== undefined) {
    const isText = typeof leftTimestampNs === "string" && /^\d{1,19}$/.test(leftTimestampNs);
    const timestampNs = isText ? BigInt(leftTimestampNs) : -1n;
    if (timestampNs < 0n || timestampNs > LARGEST_INT64)
      throw new Refusal(`expected leftTimestampNs as digits in quotes, got ${kindOf(leftTimestampNs)}`);
    return { kind: "timestamp", timestampNs };
  }
  return timeMs === undefined
    ? { kind: "newest" }
    : { kind: "time", timeMs: number(timeMs, "as timeMs, milliseconds since 1970") };
}

function ownImage(image: unknown): DetectionMessage["image"] {
  if (image === undefined || image === "rectified" || image === "raw") return image;
  throw new Refusal(`expected image "rectified" or "raw", got ${kindOf(image)}`);
}

function ownSize(value: unknown): Size {
  if (value === undefined) return undefined;
  const [width, height, more] = Array.isArray(value) ? value : [];
  if (more === undefined && width >= 1 && height >= 1)
    return { width: number(width, "as width"), height: number(height, "as height") };
  throw new Refusal(`expected imageSize [width, height], got ${kindOf(value)}`);
}

function parseOwn(message: Fields, options: ParseOptions): DetectionMessage {
  const size = ownSize(message.imageSize) ?? options.imageSize;
  return {
    id: undefined,
    reference: reference(message),
    image: ownImage(message.image),
    detections: list(message.detections, "detections: a list").map((each) => {
      const named = typeof each === "object" && each !== null ? (each as Fields) : {};
      const isBox = named.polygon === undefined;
      return detection(named, isBox, () => (isBox ? box(named.box, size) : polygon(named.polygon, size)));
    }),
  };
}

/** frigate/events: {type, before, after}; `after` has camera, id, label, frame_time in seconds, box in pixels. */
function parseFrigate(message: Fields, options: ParseOptions): DetectionMessage | undefined {
  const after = fields(message.after, "after");
  if (options.camera !== undefined && after.camera !== options.camera) return undefined;
  const timeMs = 1000 * number(after.frame_time, "as frame_time, seconds since 1970");
  const corners = () => box(after.box, options.imageSize);
  return {
    id: undefined,
    reference: { kind: "time", timeMs },
    image: undefined,
    detections: [detection(after, true, corners, message.type === "end")],
  };
}

/** Attributes of an image processing entity: matches {label: [{score, box: [top, left, bottom, right]}]}, fractions. */
function parseHomeAssistant(message: Fields, options: ParseOptions): DetectionMessage {
  const detections: Detection[] = [];
  for (const [label, matches] of Object.entries(fields(message.matches, "matches")))
    for (const match of list(matches, "matches of a label: a list")) {
      const found = typeof match === "object" && match !== null ? (match as Fields) : {};
      const [top, left, bottom, right] = Array.isArray(found.box) ? found.box : [];
      const corners = () => boxCorners(left, top, right, bottom, options.imageSize);
      detections.push(detection({ label, id: found.id }, true, corners));
      list(detections, "matches: lists");
    }
  return { id: undefined, reference: reference(message), image: ownImage(message.image), detections };
}

/** @returns undefined for a message of another camera */
export function parseMessage(
  json: string,
  options: ParseOptions,
): DetectionMessage | RefusedMessage | undefined {
  let id: string | undefined;
  try {
    const size = Buffer.byteLength(json);
    if (size > MAX_MESSAGE_BYTES)
      throw new Refusal(`expected at most ${MAX_MESSAGE_BYTES} bytes, got ${size}`);
    const message = fields(parseJson(json), "as message");
    id = text(message.id, "an id");
    const parsed =
      options.format === "frigate"
        ? parseFrigate(message, options)
        : options.format === "homeAssistant"
          ? parseHomeAssistant(message, options)
          : parseOwn(message, options);
    return parsed && { ...parsed, id };
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return { reason: error.message, id };
  }
}

function parseJson(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    throw new Refusal("expected JSON, got something else");
  }
}
