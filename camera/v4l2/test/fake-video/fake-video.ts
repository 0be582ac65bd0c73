// SPDX-License-Identifier: Apache-2.0
// Cameras that live in memory: builds the driver next to this file once per change of it, and gives tests its controls.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, realpathSync, renameSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

export interface FakeControl {
  id: number;
  name: string;
  minimum: number;
  maximum: number;
  value: number;
  step?: number;
  /** enum v4l2_ctrl_type; default 1, an integer. */
  type?: number;
  /** V4L2_CTRL_FLAG_*. */
  flags?: number;
  /** Names, or with the type 9 (integer menu) whole numbers; an empty one is a hole. */
  menu?: string[];
  /** Values that S_EXT_CTRLS takes, if they differ from the range that the driver reports. */
  accepts?: [lowest: number, highest: number];
}

export interface FakeCamera {
  path: string;
  card?: string;
  bus?: string;
  driver?: string;
  multiPlanar?: boolean;
  metadataOnly?: boolean;
  /** QUERYCAP reports the capabilities of the whole device alone, as drivers before Linux 3.4 do. */
  withoutDeviceCaps?: boolean;
  formats?: {
    fourcc: string;
    width: number;
    height: number;
    ratesHz: number[];
    /** Offered only while the control "Sensor Mode" has this value. */
    sensorMode?: number;
    /** Offered as a range of sizes up to width x height, and of rates: the first is the slowest, the last the fastest. */
    range?: { minWidth: number; stepWidth: number; minHeight: number; stepHeight: number };
    description?: string;
    /** V4L2_FMT_FLAG_*; default: compressed for MJPG, else 0. */
    flags?: number;
    /** The big-endian form of the format. */
    bigEndian?: boolean;
  }[];
  controls?: FakeControl[];
  /** REQBUFS gives at most so many. */
  maxBuffers?: number;
  /** Padding at the end of each row, bytes. */
  strideExtra?: number;
  /** S_FMT always answers with this width, although the lists have others. */
  stubbornWidth?: number;
  /** S_PARM answers with the requested rate, even if another one is set; G_PARM reports the rate that is set. */
  echoesRate?: boolean;
  /** G_PARM reports that the rate cannot be set. */
  fixedRate?: boolean;
  /** DQBUF returns every queued buffer at once, with the error flag. */
  endlessErrors?: boolean;
  /** Wrong values that the driver reports: bytes of a row, of a buffer (QUERYBUF), the height, the number of buffers. */
  lies?: {
    strideBytes?: number;
    bufferBytes?: number;
    height?: number;
    buffers?: number;
    /** Bytes of each plane after the first. */
    planeBytes?: number;
    /** Bytes of an image. */
    imageBytes?: number;
  };
  /** S_FMT answers with this enum v4l2_field; default progressive. */
  field?: number;
  /** S_FMT answers with so many memory planes (multi-planar devices); chroma at half height, as in NV12M and YUV420M. */
  memoryPlanes?: number;
}

export interface FakeImage {
  timestampNs: bigint;
  sequence: number;
  /** Default: monotonic time stamp. */
  flags?: number;
  bytesUsed?: number;
  bytes?: Uint8Array;
  /** Bytes of the memory planes behind the first. */
  morePlanes?: readonly Uint8Array[];
  /** Where the data begins in every plane of a multi-planar device; what lies before is not part of `bytes`. */
  dataOffset?: number;
  /** A wrong place of the data that the driver reports. */
  claimedOffset?: number;
  /** A wrong buffer number that the driver reports. */
  claimedIndex?: number;
}

export type FakeRequest = "QBUF" | "DQBUF" | "EXPBUF" | "STREAMON" | "REQBUFS" | "S_FMT" | "QUERYCAP";

interface FakeApi {
  readonly system: unknown;
  add(camera: FakeCamera): void;
  /** Fills the oldest queued buffer; false where there is none. */
  deliver(path: string, image: FakeImage): boolean;
  /** The next `times` calls of this kind fail with this errno. */
  fail(path: string, request: FakeRequest, errno: number, times: number): void;
  openError(path: string, errno: number): void;
  fatal(path: string, on: boolean): void;
  unplug(path: string): void;
  plug(path: string): void;
  /** Writes a byte into the memory of the newest filled buffer, behind everybody's back. */
  poke(path: string, offset: number, value: number): void;
  /** Value of a control now. */
  control(path: string, id: number): number;
  /** Changes a control as another program does, or the camera itself. */
  change(path: string, id: number, value: number): void;
  /** A thread delivers so many images at this rate. */
  run(path: string, rateHz: number, frames: number): void;
  state(path: string): {
    queued: number;
    streaming: boolean;
    opens: number;
    mappings: number;
    streamOns: number;
    /** Numerator and denominator of the interval of the last S_PARM, seconds; 0 and 0 without one. */
    requestedInterval: [number, number];
    /** CLOCK_MONOTONIC when the stream was last switched on. */
    streamOnNs: number;
  };
}

const folder = dirname(fileURLToPath(import.meta.url));
const root = join(folder, "../..");

/**
 * Path of the module, compiled where the sources changed since; two test files at once make two files and the last
 * rename wins.
 */
export function fakeVideoModule(): string {
  const sources = readdirSync(folder).filter((name) => name.endsWith(".cc") || name.endsWith(".h"));
  const sanitize = process.env.V4L2_CAMERA_SANITIZE ?? "";
  const hash = createHash("sha256").update(`${process.version} ${sanitize}`);
  for (const name of sources) hash.update(readFileSync(join(folder, name)));
  hash.update(readFileSync(join(root, "native/system.h")));
  const out = join(root, "build/test-doubles");
  const target = join(out, `fake_video-${hash.digest("hex").slice(0, 12)}.node`);
  if (existsSync(target)) return target;
  mkdirSync(out, { recursive: true });
  const config = readFileSync(join(root, "build/config.gypi"), "utf8");
  const nodedir =
    /"nodedir": "([^"]+)"/.exec(config)?.[1] ?? dirname(dirname(realpathSync(process.execPath)));
  const partial = `${target}.${process.pid}`;
  const words = [
    "-shared",
    "-fPIC",
    "-std=c++17",
    "-O0",
    "-fexceptions",
    "-DNAPI_VERSION=8",
    "-DNAPI_CPP_EXCEPTIONS",
    ...(sanitize === "" ? [] : [`-fsanitize=${sanitize}`]),
  ];
  const includes = [
    join(nodedir, "include/node"),
    dirname(createRequire(import.meta.url).resolve("node-addon-api")),
  ].map((path) => `-I${path}`);
  const files = sources.filter((name) => name.endsWith(".cc")).map((name) => join(folder, name));
  const made = spawnSync(
    process.env.CXX ?? "g++",
    [...words, ...includes, ...files, "-o", partial, "-pthread"],
    // A sanitizer's library is for this process, not for the compiler.
    { encoding: "utf8", env: { ...process.env, LD_PRELOAD: "" } },
  );
  if (made.status !== 0) throw new Error(`the driver in memory did not build:\n${made.stderr}`);
  renameSync(partial, target);
  return target;
}

export type FakeVideo = FakeApi & {
  /** Adds a camera whose missing facts are those of a plain webcam. */
  plugIn(camera: FakeCamera): void;
};

let module: { create(): FakeApi } | undefined;

export function fakeVideo(): FakeVideo {
  module ??= createRequire(import.meta.url)(fakeVideoModule()) as { create(): FakeApi };
  const api = module.create();
  return Object.assign(api, {
    plugIn: (camera: FakeCamera) =>
      api.add({
        card: "Fake Camera",
        bus: `usb-fake-${camera.path}`,
        driver: "fake",
        formats: [{ fourcc: "GREY", width: 64, height: 48, ratesHz: [30, 60] }],
        controls: [],
        ...camera,
      }),
  });
}
