// SPDX-License-Identifier: Apache-2.0
// The files that consume --save writes: names, documents, samples, points; and what becomes of frames that cannot be saved.
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { readPfm } from "../../../../../camera/index.js";
import type { ReceivedFrame } from "../../../../../clients/javascript/src/index.js";
import { DepthwattError } from "../../../../../core/index.js";
import { FrameSaver } from "../../../../../edge/commands/consume/frame-saver.js";

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "depthwatt-saver-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

const HEADER = { width: 3, height: 2, encoding: "raw", runId: 0xab, frameNumber: 12, captureNs: 5n };
const DEPTH = {
  ...HEADER,
  stream: "depth",
  quantity: "depth",
  element: "u16",
  unitScale: 0.5,
  valueOffset: 2,
};

function frameOf(header: object, data: Uint8Array | Uint16Array | Float32Array, device = "d"): ReceivedFrame {
  const body = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  const { stream } = header as { stream: string };
  const values = () => Float32Array.from(data);
  return { device, stream, header, body, values, counts: () => data } as unknown as ReceivedFrame;
}

test("makes the folder, and writes a document that names the file and has the whole header", async () => {
  const nested = join(folder, "a/b");
  const saver = new FrameSaver(nested, "raw");
  saver.save(frameOf(DEPTH, Uint16Array.of(1, 2, 3, 4, 5, 0x106)));
  await saver.finish();
  const name = join(nested, "d-depth-000000ab-000012");
  expect([...readFileSync(`${name}.raw`)]).toEqual([1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 1]);
  expect(readFileSync(`${name}.json`, "utf8")).toBe(`{
  "file": "${name}.raw",
  "meaning": "u16 little-endian, [height][width], depth = count * 0.5 + 2",
  "device": "d",
  "width": 3,
  "height": 2,
  "encoding": "raw",
  "runId": 171,
  "frameNumber": 12,
  "captureNs": "5",
  "stream": "depth",
  "quantity": "depth",
  "element": "u16",
  "unitScale": 0.5,
  "valueOffset": 2
}
`);
});

test("a sample without a value is +inf in a PFM", async () => {
  const saver = new FrameSaver(folder, "auto");
  saver.save(frameOf({ ...DEPTH, element: "f32" }, Float32Array.of(1, Number.NaN, 0, -2, 5.5, 6)));
  await saver.finish();
  const { data, width, height } = await readPfm(join(folder, "d-depth-000000ab-000012.pfm"));
  expect([width, height, ...data]).toEqual([3, 2, 1, Number.POSITIVE_INFINITY, 0, -2, 5.5, 6]);
});

test("every point of a frame with a place is a vertex, with its grey", async () => {
  const points = { ...HEADER, stream: "points", element: "i16", points: { frame: "camera", colour: "grey" } };
  // x, y, z in millimetres and the grey, 8 bytes a point; the last one has no place: -32768.
  const words = Uint16Array.of(
    ...[1, 2, 3, 9].flatMap((z) => [10, 20, z, 7]),
    ...[0xffff, 5, 6, 8],
    ...[0x8000, 0x8000, 0x8000, 0],
  );
  const saver = new FrameSaver(folder, "auto");
  saver.save(frameOf(points, words));
  await saver.finish();
  const file = readFileSync(join(folder, "d-points-000000ab-000012.ply"));
  const text = file.toString("latin1");
  expect(text).toContain("\nelement vertex 5\n");
  const body = file.subarray(text.indexOf("end_header\n") + 11);
  expect(body).toHaveLength(5 * 9);
  expect([...body.subarray(0, 9)]).toEqual([10, 0, 20, 0, 1, 0, 7, 7, 7]);
  expect([...body.subarray(36)]).toEqual([255, 255, 5, 0, 6, 0, 8, 8, 8]);
});

test("a device's name of 200 bytes is whole in a file's name, a longer one has 180 bytes and its CRC-32", async () => {
  const saver = new FrameSaver(folder, "raw");
  // By zlib, CRC-32 of the second name is 0x0051bfa0.
  const names = ["a".repeat(200), `${"b".repeat(196)}00005`];
  for (const name of names) saver.save(frameOf(DEPTH, new Uint16Array(6), name));
  await saver.finish();
  const files = readdirSync(folder).filter((name) => name.endsWith(".raw"));
  expect(files.sort()).toEqual([
    `${names[0]}-depth-000000ab-000012.raw`,
    `${"b".repeat(180)}~0051bfa0-depth-000000ab-000012.raw`,
  ]);
});

test("a frame that cannot be unpacked is counted and reported, and the next one is saved", async () => {
  const reported: DepthwattError[] = [];
  const saver = new FrameSaver(folder, "auto", (error) => reported.push(error));
  const damaged = new DepthwattError("PAYLOAD_INVALID", "expected RVL words, found others");
  const refuse = () => {
    throw damaged;
  };
  saver.save({ ...frameOf(DEPTH, new Uint16Array(6)), counts: refuse });
  await saver.finish();
  expect([saver.saved, saver.skipped, saver.undecodable, saver.failed]).toEqual([0, 0, 1, false]);
  expect(reported).toEqual([damaged]);
  saver.save(frameOf(DEPTH, new Uint16Array(6)));
  await saver.finish();
  expect([saver.saved, saver.undecodable]).toEqual([1, 1]);
});

test("after a failure nothing more is written, and the first failure is what finish() throws", async () => {
  expect(() => new FrameSaver("/proc/depthwatt", "raw")).toThrow(/^cannot write \/proc\/depthwatt: ENOENT/);
  const inner = join(folder, "inner");
  const saver = new FrameSaver(inner, "raw");
  rmSync(inner, { recursive: true });
  writeFileSync(inner, "no folder");
  saver.save(frameOf(DEPTH, new Uint16Array(6)));
  const name = join(inner, "d-depth-000000ab-000012");
  const failure = {
    code: "OUTPUT_UNWRITABLE",
    context: { file: name },
    message: expect.stringMatching(/ENOTDIR/),
  };
  await expect(saver.finish()).rejects.toMatchObject(failure);
  expect(saver.failed).toBe(true);
  rmSync(inner);
  const again = new FrameSaver(inner, "raw");
  saver.save(frameOf(DEPTH, new Uint16Array(6)));
  await expect(saver.finish()).rejects.toMatchObject(failure);
  await again.finish();
  expect([readdirSync(inner), saver.saved]).toEqual([[], 0]);
});
