// SPDX-License-Identifier: Apache-2.0
// Poses of ROS frames from the messages of /tf_static, as `ros2 topic echo` prints them.
import { describe, isRecord, type ParsedFile, type Place, readNumber, refusal } from "./draft.js";
import type { Matrix3 } from "./matrix.js";
import { composeMotions, IDENTITY_MOTION, invertMotion, type Motion } from "./motion.js";

/** x_parent = R x_child + T. */
interface FrameTransform extends Place, Motion {
  readonly parent: string;
  readonly child: string;
}

/** Returns whether a file holds a tf2_msgs/TFMessage or a geometry_msgs/TransformStamped. */
export function isRosTransforms({ root }: ParsedFile): boolean {
  return Array.isArray(root.transforms) || (isRecord(root.transform) && "child_frame_id" in root);
}

/** ROS 1 accepted names that begin with a slash. */
const frameName = (name: string): string => name.replace(/^\//, "");

function text(value: unknown, place: Place): string {
  if (typeof value === "string" && value !== "") return frameName(value);
  throw refusal({ ...place, expected: "the name of a frame", found: describe(value) });
}

function rotationFrom(x: number, y: number, z: number, w: number, place: Place): Matrix3 {
  const norm = Math.hypot(x, y, z, w);
  if (!(Math.abs(norm - 1) < 1e-3)) {
    throw refusal({ ...place, expected: "a quaternion of length 1", found: `one of ${norm.toPrecision(6)}` });
  }
  const [a, b, c, d] = [w / norm, x / norm, y / norm, z / norm];
  // biome-ignore format: one row of the matrix per line
  return [
    1 - 2 * (c * c + d * d), 2 * (b * c - a * d), 2 * (b * d + a * c),
    2 * (b * c + a * d), 1 - 2 * (b * b + d * d), 2 * (c * d - a * b),
    2 * (b * d - a * c), 2 * (c * d + a * b), 1 - 2 * (b * b + c * c),
  ];
}

function readTransform(file: string, key: string, stamped: unknown): FrameTransform {
  const record = (value: unknown, name: string): Record<string, unknown> => {
    if (isRecord(value)) return value;
    throw refusal({ file, key: `${key}${name}`, expected: "a mapping", found: describe(value) });
  };
  const top = record(stamped, "");
  const { translation, rotation } = record(top.transform, ".transform");
  const numbers = (value: unknown, name: string, axes: readonly string[]): number[] => {
    const place = `.transform.${name}`;
    return axes.map((axis) =>
      readNumber(record(value, place)[axis], { file, key: `${key}${place}.${axis}` }),
    );
  };
  const [x, y, z] = numbers(translation, "translation", ["x", "y", "z"]) as [number, number, number];
  const [qx, qy, qz, qw] = numbers(rotation, "rotation", ["x", "y", "z", "w"]) as [
    number,
    number,
    number,
    number,
  ];
  return {
    file,
    key: `${key}.transform`,
    parent: text(record(top.header, ".header").frame_id, { file, key: `${key}.header.frame_id` }),
    child: text(top.child_frame_id, { file, key: `${key}.child_frame_id` }),
    R: rotationFrom(qx, qy, qz, qw, { file, key: `${key}.transform.rotation` }),
    T: [x, y, z],
  };
}

/** The tree of frames of all files. */
export class FrameTree {
  readonly #transforms: readonly FrameTransform[];

  /** @throws DepthwattError CALIBRATION_INVALID for a message that is incomplete */
  constructor(files: readonly ParsedFile[]) {
    this.#transforms = files.flatMap(({ file, root }) =>
      Array.isArray(root.transforms)
        ? root.transforms.map((stamped, i) => readTransform(file, `transforms[${i}]`, stamped))
        : [readTransform(file, root.child_frame_id as string, root)],
    );
  }

  get names(): string[] {
    return [...new Set(this.#transforms.flatMap(({ parent, child }) => [parent, child]))];
  }

  /** Returns the motion x_to = R x_from + T and the last transform on the way; undefined if none connects the frames. */
  between(from: string, to: string): (Motion & Place) | undefined {
    const [start, end] = [frameName(from), frameName(to)];
    const reached = new Map<string, Motion & Place>([[start, { ...IDENTITY_MOTION, file: "", key: "" }]]);
    for (const [frame, motion] of reached) {
      for (const transform of this.#transforms) {
        const { parent, child, file, key } = transform;
        const next = frame === child ? parent : frame === parent ? child : undefined;
        if (next === undefined || reached.has(next)) continue;
        const step = frame === child ? transform : invertMotion(transform);
        reached.set(next, { ...composeMotions(step, motion), file, key });
      }
    }
    return reached.get(end);
  }
}
