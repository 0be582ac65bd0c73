// SPDX-License-Identifier: Apache-2.0
// Cameras whose images are in several pieces of memory (NV12M, YUV420M): each plane in place, with its own rows and bytes.
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type Camera, type CameraRequest, type Frame, open } from "../src/index.js";
import { V4l2Camera } from "../src/parts.js";
import { type FakeCamera, type FakeImage, type FakeVideo, fakeVideo } from "./fake-video/fake-video.js";
import { counted, now, readCounter, until, video } from "./fake-video/helpers.js";

const PATH = "/dev/fake0";
const NV12M = "NM12";
const YUV420M = "YM12";
const LUMA = 64 * 48;

let fake: FakeVideo;
const cameras: Camera[] = [];

function plugIn(fourcc: string, memoryPlanes: number, more: Partial<FakeCamera> = {}): void {
  const formats = [{ fourcc, width: 64, height: 48, ratesHz: [30] }];
  fake.plugIn({ path: PATH, multiPlanar: true, memoryPlanes, formats, ...more });
}

async function opened(request: CameraRequest = {}): Promise<{ camera: Camera; frames: Frame[] }> {
  const camera = await open(PATH, request, { system: fake.system, folders: { sysfs: "/nowhere" } });
  cameras.push(camera);
  const frames: Frame[] = [];
  camera.start((frame) => frames.push(frame));
  await until(() => fake.state(PATH).streaming, "stream on");
  return { camera, frames };
}

const deliver = (sequence: number, image: Partial<FakeImage>) =>
  fake.deliver(PATH, { timestampNs: now(), sequence, bytes: counted(sequence, LUMA), ...image });

beforeEach(() => {
  fake = fakeVideo();
});
afterEach(async () => {
  for (const camera of cameras.splice(0)) await camera.close();
  expect(fake.state(PATH)).toMatchObject({ opens: 0, mappings: 0 });
});

describe("an image in several memory planes", () => {
  test.each([
    [NV12M, [64, 64]],
    [YUV420M, [64, 32, 32]],
  ])("%s: every plane in place, with its stride and its bytes", async (fourcc, strides) => {
    plugIn(fourcc, strides.length);
    const { camera, frames } = await opened({ format: fourcc });
    expect(camera.format.planes.map(({ strideBytes }) => strideBytes)).toEqual(strides);
    expect(fake.state(PATH).mappings).toBe(8 * strides.length);
    const chroma = strides.slice(1).map((stride, i) => new Uint8Array(stride * 24).fill(100 + i));
    for (const sequence of [0, 1]) {
      const morePlanes = chroma.map((plane) => plane.map((value) => value + 10 * sequence));
      expect(deliver(sequence, { morePlanes })).toBe(true);
    }
    await until(() => frames.length === 2, "two frames");
    for (const [sequence, frame] of frames.entries()) {
      expect(frame.fourcc).toBe(fourcc);
      expect(frame.planes).toHaveLength(strides.length);
      expect(frame.planes.map((plane) => plane.strideBytes)).toEqual(strides);
      expect(frame.planes.map((plane) => plane.bytesUsed)).toEqual(
        strides.map((stride, i) => stride * (i === 0 ? 48 : 24)),
      );
      expect(frame.bytesUsed).toBe((LUMA * 3) / 2);
      expect(readCounter(frame.data)).toBe(sequence);
      expect(frame.data).toBe(frame.planes[0]!.data);
      for (const [i, plane] of frame.planes.slice(1).entries())
        expect(new Set(plane.data.subarray(0, plane.bytesUsed))).toEqual(new Set([100 + i + 10 * sequence]));
    }
    // The driver's own memory.
    fake.poke(PATH, 200, 7);
    expect(frames[1]!.planes[0]!.data[200]).toBe(7);
    expect(fake.state(PATH).queued).toBe(6);
    for (const frame of frames) frame.release();
    expect(fake.state(PATH).queued).toBe(8);
  });

  test("held while the camera closes: all planes stay, and go together", async () => {
    plugIn(NV12M, 2);
    const { camera, frames } = await opened();
    deliver(5, { morePlanes: [new Uint8Array(LUMA / 2).fill(9)] });
    await until(() => frames.length === 1, "a frame");
    await camera.close();
    expect(fake.state(PATH).mappings).toBe(2);
    expect([readCounter(frames[0]!.data), frames[0]!.planes[1]!.data[100]]).toEqual([5, 9]);
    frames[0]!.release();
    expect(frames[0]!.planes.map(({ data }) => data.length)).toEqual([0, 0]);
  });

  test("data that begins behind something else (data_offset), in one plane and in two", async () => {
    for (const planes of [1, 2]) {
      plugIn(planes === 1 ? "GREY" : NV12M, planes, { strideExtra: 8 });
      const { camera, frames } = await opened();
      // All rows but the last one's padding, so that something fits before them.
      const bytes = counted(3, 72 * 47);
      const morePlanes = planes === 1 ? [] : [new Uint8Array(72 * 23).fill(77)];
      expect(deliver(3, { dataOffset: 64, bytes, morePlanes })).toBe(true);
      await until(() => frames.length === 1, "a frame");
      const [frame] = frames;
      expect(readCounter(frame!.data)).toBe(3);
      expect(frame!.data).toHaveLength(72 * 48 - 64);
      expect(frame!.planes[0]!.bytesUsed).toBe(72 * 47);
      if (planes === 2) expect(frame!.planes[1]!.data.subarray(0, 72 * 23)).toEqual(morePlanes[0]);
      frame!.release();
      await camera.close();
    }
  });

  test.each(["GREY", "MJPG"])("%s that begins behind its own end is an incomplete frame", async (fourcc) => {
    plugIn(fourcc, 1);
    const { camera, frames } = await opened({ format: fourcc });
    const lies = [LUMA + 1, 2 * LUMA, 0x7fff_ffff, 0xffff_fffe];
    for (const [sequence, claimedOffset] of lies.entries()) {
      expect(deliver(sequence, { claimedOffset })).toBe(true);
      const drops = { incomplete: sequence + 1 };
      await until(() => Object.values(camera.statistics().drops).some((count) => count > sequence), "a drop");
      expect(camera.statistics().drops, `offset ${claimedOffset}`).toEqual(drops);
    }
    expect(frames).toEqual([]);
  });

  test("a plane that came with too few bytes is an incomplete frame", async () => {
    plugIn(NV12M, 2);
    const { camera, frames } = await opened();
    deliver(0, { morePlanes: [new Uint8Array(64)] });
    deliver(1, { morePlanes: [new Uint8Array(LUMA / 2)] });
    await until(() => frames.length === 1, "the whole one");
    expect(frames[0]!.sequence).toBe(1);
    expect(camera.statistics().drops).toEqual({ incomplete: 1 });
    frames[0]!.release();
  });

  test("each plane is its own DMA buffer", async () => {
    plugIn(NV12M, 2);
    const { camera } = await opened({ dmaBuffers: true });
    expect(camera.dmaBuffers).toHaveLength(16);
    expect(new Set(camera.dmaBuffers).size).toBe(16);
  });
});

describe("refused", () => {
  const refused = (request: CameraRequest = {}) =>
    expect(open(PATH, request, { system: fake.system, folders: { sysfs: "/nowhere" } })).rejects;

  test("planes of which the driver gives less than their rows", async () => {
    plugIn(NV12M, 2, { lies: { planeBytes: 100 } });
    await refused().toMatchObject({
      code: "DEVICE_UNSUITABLE",
      message: `${PATH}: expected buffers for 64x48 in rows of 64 bytes, the driver gives 100 bytes.`,
    });
  });

  // Rows of the chroma planes of an image of 48 rows; 0: unknown to this package.
  test.each([
    ["NM12", 2, 24],
    ["NM21", 2, 24],
    ["YM12", 3, 24],
    ["YM21", 3, 24],
    ["NM16", 2, 48],
    ["NM61", 2, 48],
    ["YM16", 3, 48],
    ["YM61", 3, 48],
    ["YM24", 3, 48],
    ["YM42", 3, 48],
    ["ABCD", 2, 0],
  ])("%s: %i planes need all of %i rows but the last one's padding", async (fourcc, planes, rows) => {
    plugIn(fourcc, planes, { lies: { planeBytes: 65536 } });
    const { camera } = await opened({ format: fourcc });
    const { strideBytes } = camera.format.planes[1]!;
    await camera.close();
    const least = Math.max(strideBytes * (rows - 1), 1);
    plugIn(fourcc, planes, { lies: { planeBytes: least } });
    await (await opened({ format: fourcc })).camera.close();
    if (rows === 0) return;
    plugIn(fourcc, planes, { lies: { planeBytes: least - 1 } });
    await expect(
      open(PATH, { format: fourcc }, { system: fake.system, folders: { sysfs: "/nowhere" } }),
    ).rejects.toThrow(`in rows of ${strideBytes} bytes, the driver gives ${least - 1} bytes.`);
  });

  test.each([0, 5, 8])("%i memory planes", async (planes) => {
    plugIn(NV12M, planes);
    await refused().toMatchObject({ code: "DEVICE_UNSUITABLE", message: /in 1 to 4 memory planes/ });
  });

  test("several planes in the process's own memory", async () => {
    plugIn(NV12M, 2);
    await refused({ memory: "userptr" }).toMatchObject({
      code: "DEVICE_UNSUITABLE",
      message: /expected NM12 in one memory plane, the driver gives 2 separate planes/,
    });
  });

  test("several planes where the program did not ask for them", async () => {
    plugIn(NV12M, 2);
    await expect(V4l2Camera.open(video, { path: PATH, system: fake.system })).rejects.toMatchObject({
      code: "DEVICE_UNSUITABLE",
      message: /in one memory plane/,
    });
  });
});
