// SPDX-License-Identifier: Apache-2.0
// Fuzz targets of the readers in TypeScript: good inputs, damaged by chance. Each answers with a value or a coded error, soon.
// FUZZ_SECONDS: for how long each. DEPTHWATT_SEED repeats a failure.
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  decodeGreyImage,
  encodeJpeg,
  encodePfm,
  encodePgm,
  encodePng,
  rectify,
  type StereoCalibration,
  sceneCalibration,
  stringifyCalibration,
  stringifyKalibr,
  stringifyOpenCv,
  stringifyRos,
} from "../../camera/index.js";
import { FRAME_HEADROOM_BYTES } from "../../core/frame/frame-format.js";
import { writeFrame } from "../../core/frame/payload.js";
import { isDepthwattError } from "../../core/index.js";
import { openRecording } from "../../edge/mcap/recording.js";
import { cpuMsSince } from "../doubles/cpu-time.js";
import { makeFrame } from "../doubles/frames.js";
import { reportFuzz } from "../doubles/fuzz-report.js";
import { runProgram } from "../doubles/program.js";
import { changes, damaged } from "./damage.js";
import {
  readCalibration,
  readDetections,
  readFrame,
  readNetpbm,
  readSharedFrames,
  readStream,
} from "./reading.js";

const seconds = Number(process.env.FUZZ_SECONDS ?? 10);
const seed = Number(process.env.DEPTHWATT_SEED ?? Date.now()) | 0;
const folder = mkdtempSync(join(tmpdir(), "depthwatt-fuzz-readers-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
/** Far above what a damaged input of some kilobytes can justify, on any machine. */
const SLOW_MS = 20_000;
const time = 60_000 + 3000 * seconds;

/** Calls `read` with damaged forms of the good inputs until the time is over. */
async function fuzz(
  name: string,
  good: readonly Uint8Array[],
  read: (bytes: Uint8Array) => unknown,
  triesASecond = 300,
): Promise<void> {
  const counted = { answered: 0, refused: 0 };
  // Valid input is read: a target that refuses everything would find nothing.
  for (const bytes of good) await read(Uint8Array.from(bytes));
  const attempt = fc.asyncProperty(fc.nat(good.length - 1), changes, async (which, steps) => {
    const before = process.cpuUsage();
    try {
      await read(damaged(good[which]!, steps));
      counted.answered++;
    } catch (error) {
      if (!isDepthwattError(error)) throw error;
      expect(error.code).not.toBe("INTERNAL");
      counted.refused++;
    }
    expect(cpuMsSince(before)).toBeLessThan(SLOW_MS);
  });
  await fc.assert(attempt, {
    seed,
    // With a seed, a faster machine tries nothing that this one has not; but where a report is made, time alone counts.
    numRuns: process.env.FUZZ_REPORT === undefined ? triesASecond * seconds : Number.MAX_SAFE_INTEGER,
    interruptAfterTimeLimit: 1000 * seconds,
    markInterruptAsFailure: false,
  });
  expect(counted.refused).toBeGreaterThan(0);
  reportFuzz(name, { executions: counted.answered + counted.refused, ...counted, seed });
}

test("frames: every encoding, with a CRC that is right again", { timeout: time }, async () => {
  const picture = makeFrame(1, {}, [16, 8]);
  const png = await encodePng({ data: picture.pixels, width: 16, height: 8 });
  const message = (encoding: "rvl" | "raw" | "png" | "compressedDepth", body: Uint8Array) => {
    const buffer = new Uint8Array(FRAME_HEADROOM_BYTES + body.length);
    buffer.set(body, FRAME_HEADROOM_BYTES);
    const frame = { ...picture.frame, encoding };
    const identity = { frameNumber: 1, runId: 2, clockDomain: 3 };
    return Uint8Array.from(writeFrame(buffer, FRAME_HEADROOM_BYTES, body.length, frame, identity));
  };
  const rvl = picture.buffer.slice(FRAME_HEADROOM_BYTES, FRAME_HEADROOM_BYTES + picture.bodyBytes);
  const corpus = join(import.meta.dirname, "corpus/frame");
  const points = readdirSync(corpus)
    .filter((name) => name.startsWith("points"))
    .map((name) => new Uint8Array(readFileSync(join(corpus, name))));
  expect(points.length).toBeGreaterThan(1);
  const good = [
    ...points,
    message("rvl", rvl),
    message("raw", new Uint8Array(picture.pixels.buffer)),
    message("png", png),
    message("compressedDepth", rvl),
  ];
  await fuzz("frames", good, readFrame);
});

/** The output of OpenCV's FileStorage for a file that ends in .xml. */
function openCvXml(calibration: StereoCalibration): string {
  const yaml = stringifyOpenCv(calibration);
  const matrices = [
    ...yaml.matchAll(
      /^(\w+): !!opencv-matrix\n\s*rows: (\d+)\n\s*cols: (\d+)\n\s*dt: (\w)\n\s*data: \[([^\]]+)\]/gm,
    ),
  ];
  const nodes = matrices.map(
    ([, name, rows, cols, type, data]) =>
      `<${name} type_id="opencv-matrix">\n  <rows>${rows}</rows>\n  <cols>${cols}</cols>\n  <dt>${type}</dt>\n  <data>${data!.replaceAll(",", " ")}</data></${name}>`,
  );
  const [, width, height] = /image_width: (\d+)[\s\S]*image_height: (\d+)/.exec(yaml) ?? [];
  const size = `<image_width>${width}</image_width>\n<image_height>${height}</image_height>`;
  return `<?xml version="1.0"?>\n<opencv_storage>\n${size}\n${nodes.join("\n")}\n</opencv_storage>\n`;
}

test("calibrations: JSON, OpenCV as YAML and XML, ROS and Kalibr", { timeout: time }, async () => {
  const calibration = sceneCalibration({ width: 320 });
  const ros = stringifyRos(calibration);
  const texts = [
    stringifyCalibration(calibration),
    stringifyOpenCv(calibration),
    stringifyKalibr(calibration),
    ros.left,
    openCvXml(calibration),
  ];
  const right = join(folder, "right.yaml");
  writeFileSync(right, ros.right);
  await fuzz(
    "calibrations",
    texts.map((text) => new TextEncoder().encode(text)),
    (bytes) => readCalibration(bytes, folder, right),
    50,
  );
});

test("pictures: PGM, PPM, PFM, PNG, JPEG", { timeout: time }, async () => {
  const [width, height] = [13, 9];
  const grey = Uint8Array.from({ length: width * height }, (_, i) => (i * 7) & 255);
  const float = Float32Array.from(grey);
  const rgb = Uint8Array.from({ length: 3 * width * height }, (_, i) => (i * 5) & 255);
  const ppm = Buffer.concat([Buffer.from(`P6\n${width} ${height}\n255\n`), rgb]);
  const good = [
    encodePgm({ data: grey, width, height }),
    new Uint8Array(ppm),
    encodePfm({ data: float, width, height }),
    await encodePng({ data: grey, width, height }),
    await encodeJpeg({ data: grey, width, height }),
  ];
  await fuzz("pictures", good, async (bytes) => {
    if (!readNetpbm(bytes)) await decodeGreyImage(bytes, "fuzz.png");
  });
});

test("streams of commands: YUV4MPEG2 and pairs with disparity, cut into pieces anywhere", {
  timeout: time,
}, async () => {
  const picture = Buffer.alloc(16 * 16 * 1.5, 100);
  const frame = Buffer.concat([Buffer.from("FRAME\n"), picture]);
  const stream = (head: string, one = frame) =>
    new Uint8Array(Buffer.concat([Buffer.from(`${head}\n`), one, one, one]));
  const pair = Buffer.concat([
    Buffer.from("FRAME XTIME=81234567890123 XSEQ=42\n"),
    Buffer.alloc(5 * 256, 100),
  ]);
  const good = [
    stream("YUV4MPEG2 W16 H16 F30:1 Ip A1:1 C420jpeg"),
    stream("YUV4MPEG2 W16 H16 F30000:1001 C420mpeg2 XYSCSS=420MPEG2"),
    stream("DEPTHWATT-PAIRS W16 H16 F30:1", pair),
    stream("YUV4MPEG2 W16 H16 Cmono XCLOCK=monotonic XMEMORY=/ring", Buffer.from("FRAME XSEQ=1 XFRAME=1\n")),
  ];
  await fuzz("streams", good, readStream);
});

test("shared frames: a helper's memory", { timeout: time }, async () => {
  const ring = Buffer.alloc(4096 + 4 * 512);
  ring.write("DWRG\u0001", "latin1");
  ring.writeUInt32LE(4, 8);
  ring.writeBigUInt64LE(512n, 16);
  for (let number = 1; number <= 4; number++) {
    const slot = 4096 + (number - 1) * 512;
    ring.writeBigUInt64LE(2n * BigInt(number), slot);
    ring.writeUInt32LE(64, slot + 16);
    ring.writeUInt32LE(256, slot + 20);
  }
  await fuzz("shared frames", [new Uint8Array(ring)], (bytes) => readSharedFrames(bytes, folder));
});

let recording: Uint8Array;
beforeAll(async () => {
  const file = join(folder, "good.mcap");
  const size = ["source.synthetic.width=64", "source.synthetic.height=48", "match.numDisparities=16"];
  const set = [...size, "board=none", "power.sensor=none"].flatMap((one) => ["--set", one]);
  const ran = await runProgram(["record", file, "--broker", "none", "--frames", "4", "--inputs", ...set]);
  expect(ran.code, ran.stderr).toBe(0);
  recording = new Uint8Array(readFileSync(file));
}, 60_000);

test("detections: depthwatt's, Frigate's and Home Assistant's", { timeout: time }, async () => {
  const polygon = [
    [0, 0],
    [64, 0],
    [32, 48],
  ];
  const messages = [
    { id: 1, image: "raw", imageSize: [64, 48], detections: [{ id: 7, label: "cup", box: [6, 4, 32, 24] }] },
    { leftTimestampNs: "1", imageSize: [64, 48], detections: [{ polygon }] },
    {
      type: "update",
      after: { id: "1.5-k3", camera: "porch", frame_time: 1.5, label: "cat", box: [64, 48, 320, 240] },
    },
    { timeMs: 1, matches: { person: [{ score: 91.2, box: [0.1, 0.2, 0.5, 0.4] }], cat: [] } },
  ];
  const calibration = sceneCalibration({ width: 64, height: 48 });
  const rig = { calibration, rectification: rectify(calibration) } as Parameters<typeof readDetections>[1];
  await fuzz(
    "detections",
    messages.map((message) => new TextEncoder().encode(JSON.stringify(message))),
    (bytes) => readDetections(bytes, rig),
  );
});

test("recordings: MCAP", { timeout: time }, async () => {
  const file = join(folder, "fuzz.mcap");
  const read = async (bytes: Uint8Array) => {
    writeFileSync(file, bytes);
    const opened = await openRecording(file);
    try {
      await opened.attachment("calibration.json");
    } finally {
      await opened.close();
    }
  };
  await fuzz("recordings", [recording], read, 40);
});
