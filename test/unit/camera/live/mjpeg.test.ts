// SPDX-License-Identifier: Apache-2.0
// Motion JPEG: constructed frames in the layouts that cameras send, whole, padded and damaged, and recorded photographs of two
// stereo cameras; decoded once into grey.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import sharp from "sharp";
import { type CameraFrame, V4l2Camera } from "v4l2-camera/parts";
import { beforeEach, expect, test } from "vitest";
import { openV4l2Source } from "../../../../camera/index.js";
import { type FakeVideo, fakeVideo } from "../../../../camera/v4l2/test/fake-video/fake-video.js";
import { type MotionJpeg, motionJpeg } from "../../../../camera/v4l2/test/motion-jpeg.js";
import { clocks, now, recording, rest, until, video } from "../../../doubles/cameras.js";
import { needs, needsData } from "../../../doubles/needs.js";

const [WIDTH, HEIGHT] = [64, 48];
const PATH = "/dev/fake0";
let fake: FakeVideo;

const greyAt = (x: number, y: number) => 40 + 2 * x + y;

/** A ramp with colours, as a webcam sends it unless `changes` say otherwise. */
const frame = (changes: Partial<MotionJpeg> = {}): Promise<Buffer> =>
  motionJpeg({
    width: WIDTH,
    height: HEIGHT,
    pixel: (x, y) => [greyAt(x, y), 110 + x / 4, 140 - y / 4],
    ...changes,
  });

/** Bytes of the entropy-coded part: where it begins, and the markers inside it. */
function findScan(bytes: Buffer): { start: number; markers: number[] } {
  let start = 2;
  for (let scan = false; !scan; start += 2 + bytes.readUInt16BE(start + 2)) scan = bytes[start + 1] === 0xda;
  const markers = [];
  for (let at = start; at + 1 < bytes.length; at++)
    if (bytes[at] === 0xff && bytes[at + 1] !== 0) markers.push(at);
  return { start, markers };
}

function expectRamp(data: Uint8Array): void {
  let worst = 0;
  for (let y = 0; y < HEIGHT; y++) {
    for (let x = 0; x < WIDTH; x++) worst = Math.max(worst, Math.abs(data[y * WIDTH + x]! - greyAt(x, y)));
  }
  expect(worst).toBeLessThan(5);
}

const jpegFormats = (width: number, height: number) => [{ fourcc: "MJPG", width, height, ratesHz: [30] }];

async function openCamera(width = WIDTH, height = HEIGHT) {
  fake.plugIn({ path: PATH, formats: jpegFormats(width, height) });
  const options = { path: PATH, fourcc: "MJPG", width, height, system: fake.system };
  const camera = await V4l2Camera.open(video, options);
  const frames: CameraFrame[] = [];
  camera.start({ onFrame: (frame) => frames.push(frame), onFault: () => {} });
  await until(() => fake.state(PATH).streaming, "stream");
  let sequence = 0;
  const deliver = async (bytes: Uint8Array) => {
    // On a busy machine the camera's thread may still hold every buffer.
    await until(() => fake.state(PATH).queued > 0, "a free buffer");
    expect(fake.deliver(PATH, { timestampNs: 1n, sequence: sequence++, bytes })).toBe(true);
  };
  return { camera, frames, deliver };
}

needs("toolchain", "turbojpeg").suite("Motion JPEG", () => {
  beforeEach(() => {
    fake = fakeVideo();
  });

  test("the constructed frames are JPEG to another decoder, where they bring their tables", async () => {
    const bytes = await frame({ withoutTables: false, restartInterval: 5 });
    const { data, info } = await sharp(bytes).raw().toBuffer({ resolveWithObject: true });
    expect(info).toMatchObject({ width: WIDTH, height: HEIGHT, channels: 3 });
    const luma = (i: number) => 0.299 * data[3 * i]! + 0.587 * data[3 * i + 1]! + 0.114 * data[3 * i + 2]!;
    expectRamp(Uint8Array.from({ length: WIDTH * HEIGHT }, (_, i) => luma(i)));
  });

  test.each<[string, Partial<MotionJpeg>]>([
    ["4:2:2 without tables, AVI1 segment: a Logitech C270's layout", {}],
    ["4:2:2 with restart markers", { restartInterval: 4 }],
    ["a restart marker after each unit, numbers going round", { restartInterval: 1 }],
    ["4:2:0", { chroma: { across: 2, down: 2 } }],
    ["4:4:4", { chroma: { across: 1, down: 1 } }],
    ["4:4:0, chroma halved downwards", { chroma: { across: 1, down: 2 } }],
    ["tables in the file", { withoutTables: false, firstSegment: "JFIF" }],
    ["neither tables nor a first segment", { firstSegment: "none" }],
  ])("becomes the grey that was encoded: %s", async (_, changes) => {
    const { camera, frames, deliver } = await openCamera();
    await deliver(await frame(changes));
    await until(() => frames.length === 1 || camera.native.statistics().decodeFailed > 0, "an image");
    expect(camera.native.statistics()).toMatchObject({ decodeFailed: 0, decodeRepaired: 0 });
    expect(frames[0]!.bytesUsed).toBe(WIDTH * HEIGHT);
    expectRamp(frames[0]!.data);
    // The JPEG's own buffer went back at once.
    expect(fake.state(PATH).queued).toBe(8);
    camera.release(frames[0]!);
    await camera.close();
  });

  test("padding behind the image is no part of it, zeros or what was in the buffer before", async () => {
    const { camera, frames, deliver } = await openCamera();
    const whole = await frame({ restartInterval: 4 });
    const stale = Buffer.alloc(5000, 0xa7);
    for (const padding of [
      Buffer.alloc(3),
      Buffer.alloc(700),
      Buffer.alloc(20_000),
      stale,
      Buffer.from([0xff]),
    ])
      await deliver(Buffer.concat([whole, padding]));
    await until(() => frames.length === 5, "five images");
    for (const { data } of frames) expectRamp(data);
    expect(camera.native.statistics()).toMatchObject({ decodeFailed: 0 });
    for (const image of frames) camera.release(image);
    await camera.close();
  });

  test("stray bytes before a marker, which webcams send, cost a warning and no image", async () => {
    const { camera, frames, deliver } = await openCamera();
    const whole = await frame({ restartInterval: 4 });
    const { markers } = findScan(whole);
    for (const at of [markers[2]!, markers.at(-1)!])
      await deliver(
        Buffer.concat([whole.subarray(0, at), Buffer.from([1, 2, 3]), whole.subarray(at), Buffer.alloc(64)]),
      );
    await until(() => frames.length === 2, "two images");
    for (const { data } of frames) expectRamp(data);
    expect(camera.native.statistics()).toMatchObject({ decodeFailed: 0, decodeRepaired: 2 });
    for (const image of frames) camera.release(image);
    await camera.close();
  });

  test("an image that lacks a part is dropped and counted, however its end looks", async () => {
    const { camera, frames, deliver } = await openCamera();
    const plain = await frame();
    const restarts = await frame({ restartInterval: 4 });
    const { start, markers } = findScan(restarts);
    const middle = Math.floor((start + restarts.length) / 2);
    const end = Buffer.from([0xff, 0xd9]);
    const lacking: [string, Uint8Array][] = [
      ["cut in the scan", plain.subarray(0, Math.floor(plain.length * 0.7))],
      [
        "cut, then zeros up to the buffer's size",
        Buffer.concat([plain.subarray(0, plain.length / 2), Buffer.alloc(4000)]),
      ],
      ["only the closing marker is missing", plain.subarray(0, plain.length - 2)],
      ["cut, and closed by the camera", Buffer.concat([plain.subarray(0, plain.length / 2), end])],
      ["cut between restart markers, and closed", Buffer.concat([restarts.subarray(0, middle), end])],
      [
        "one restart interval is missing",
        Buffer.concat([restarts.subarray(0, markers[1]), restarts.subarray(markers[2])]),
      ],
      ["cut in the tables", plain.subarray(0, 60)],
      ["only a beginning", plain.subarray(0, 2)],
      ["no JPEG", Buffer.from("this is no picture at all")],
      ["another size", await frame({ width: 32, height: 24 })],
      ["a frame header that is cut off", plain.subarray(0, findScan(plain).start - 25)],
      [
        "a scan without a frame header",
        Buffer.concat([plain.subarray(0, 2), plain.subarray(findScan(plain).start - 14)]),
      ],
    ];
    for (const [what, bytes] of lacking) {
      const { decodeFailed } = camera.native.statistics();
      await deliver(bytes);
      await until(() => camera.native.statistics().decodeFailed > decodeFailed || frames.length > 0, what);
      expect(frames, what).toHaveLength(0);
    }
    await deliver(plain);
    await until(() => frames.length === 1, "the good one");
    expect(frames[0]!.sequence).toBe(lacking.length);
    expect(camera.native.statistics()).toMatchObject({ decodeFailed: lacking.length, frames: 1 });
    await until(() => fake.state(PATH).queued === 8, "every buffer is back");
    camera.release(frames[0]!);
    await camera.close();
  });

  test("a reader that keeps every image costs images, counted, and not the stream", async () => {
    const { camera, frames, deliver } = await openCamera();
    const whole = await frame();
    for (let i = 0; i < 14; i++) {
      await deliver(whole);
      await rest(5);
    }
    await until(() => camera.native.statistics().noFreeBuffer === 4, "four dropped");
    expect(frames).toHaveLength(10);
    for (const frame of frames.splice(0)) camera.release(frame);
    await deliver(whole);
    await until(() => frames.length === 1, "continues");
    camera.release(frames[0]!);
    await camera.close();
  });

  test("random damage never ends the process", async () => {
    const { camera, frames, deliver } = await openCamera();
    const whole = await frame();
    for (let i = 0; i < 200; i++) {
      const damaged = Uint8Array.from(whole);
      for (let n = 0; n < 1 + (i % 8); n++)
        damaged[(i * 7919 + n * 104729) % damaged.length] = (i * 31 + n * 17) & 0xff;
      await deliver(damaged);
      await rest(0);
      for (const frame of frames.splice(0)) camera.release(frame);
    }
    await rest(50);
    for (const frame of frames.splice(0)) camera.release(frame);
    const { frames: taken, decodeFailed, noFreeBuffer } = camera.native.statistics();
    expect(taken + decodeFailed + noFreeBuffer).toBeGreaterThan(150);
    await camera.close();
  });

  test("a side-by-side JPEG camera gives both images as grey", async () => {
    fake.plugIn({ path: PATH, formats: jpegFormats(WIDTH, HEIGHT) });
    const source = await openV4l2Source(
      { sideBySide: PATH, width: WIDTH / 2, height: HEIGHT },
      { video, clocks, system: fake.system },
    );
    expect(source.description).toMatchObject({
      leftFormat: "GREY",
      leftStrideBytes: WIDTH,
      width: WIDTH / 2,
    });
    const { held, events } = recording(true);
    source.start(events);
    await until(() => fake.state(PATH).streaming, "stream");
    fake.deliver(PATH, { timestampNs: now(), sequence: 0, bytes: await frame() });
    await until(() => held.length === 1, "a pair");
    expect(Math.abs(held[0]!.left.data[10]! - greyAt(10, 0))).toBeLessThan(4);
    expect(Math.abs(held[0]!.right.data[10]! - greyAt(WIDTH / 2 + 10, 0))).toBeLessThan(4);
    held[0]!.release();
    await source.stop();
  });
});

needs("toolchain", "turbojpeg").suite("Motion JPEG in colours", () => {
  test("RGB8 as another decoder of the same library family makes it, side by side", async () => {
    fake = fakeVideo();
    fake.plugIn({ path: PATH, formats: jpegFormats(WIDTH, HEIGHT) });
    const source = await openV4l2Source(
      { sideBySide: PATH, width: WIDTH / 2, height: HEIGHT, colours: true },
      { video, clocks, system: fake.system },
    );
    expect(source.description).toMatchObject({ leftFormat: "RGB8", leftStrideBytes: 3 * WIDTH });
    const { held, events } = recording(true);
    source.start(events);
    await until(() => fake.state(PATH).streaming, "stream");
    fake.deliver(PATH, { timestampNs: now(), sequence: 0, bytes: await frame() });
    await until(() => held.length === 1, "a pair");
    const expected = await sharp(await frame({ withoutTables: false }))
      .raw()
      .toBuffer();
    const sides = [held[0]!.left, held[0]!.right];
    for (const [side, { data, strideBytes }] of sides.entries()) {
      for (const [x, y] of [
        [0, 0],
        [10, 3],
        [WIDTH / 2 - 1, HEIGHT - 1],
      ] as const) {
        for (let c = 0; c < 3; c++) {
          const other = expected[3 * (y * WIDTH + (side * WIDTH) / 2 + x) + c]!;
          expect(Math.abs(data[y * strideBytes + 3 * x + c]! - other), `${side} ${x} ${y} ${c}`).toBeLessThan(
            4,
          );
        }
      }
    }
    held[0]!.release();
    await source.stop();
  });
});

/** Decodes with another decoder. */
async function decodeGrey(bytes: Buffer): Promise<{ data: Buffer; width: number; height: number }> {
  const { data, info } = await sharp(bytes).grayscale().raw().toBuffer({ resolveWithObject: true });
  expect(info.channels).toBe(1);
  return { data, width: info.width, height: info.height };
}

needs("toolchain", "turbojpeg").suite("Motion JPEG, recorded", () => {
  beforeEach(() => {
    fake = fakeVideo();
  });

  needsData("calib/opencv_chessboard").suite("grey, of a pair of cameras", (folder) => {
    const names = readdirSync(folder).filter((name) => /^(left|right)\d+\.jpg$/.test(name));

    test("every photograph becomes the grey of another decoder, to the bit", async () => {
      expect(names.length).toBeGreaterThan(20);
      const { camera, frames, deliver } = await openCamera(640, 480);
      for (const name of names) {
        const bytes = readFileSync(join(folder, name));
        await deliver(bytes);
        await until(() => frames.length === 1 || camera.native.statistics().decodeFailed > 0, name);
        const image = frames.pop()!;
        expect(Buffer.compare(Buffer.from(image.data), (await decodeGrey(bytes)).data), name).toBe(0);
        camera.release(image);
      }
      expect(camera.native.statistics()).toMatchObject({ decodeFailed: 0, decodeRepaired: 0 });
      await camera.close();
    });

    test("one cut anywhere in its pixels is dropped and counted", async () => {
      const { camera, frames, deliver } = await openCamera(640, 480);
      const bytes = readFileSync(join(folder, names[0]!));
      const { start } = findScan(bytes);
      const cuts = [0.05, 0.3, 0.6, 0.9].map((part) => Math.floor(start + part * (bytes.length - start)));
      for (const cut of cuts) await deliver(bytes.subarray(0, cut));
      await until(() => camera.native.statistics().decodeFailed === cuts.length, "every cut counted");
      expect(frames).toEqual([]);
      await camera.close();
    });
  });

  needsData("midd_2006_aloe/Aloe/left.jpg").suite(
    "in colour, with Exif and sizes that are no multiple of 16",
    (file) => {
      test("becomes the luma that another decoder's colours have, within rounding", async () => {
        const bytes = readFileSync(file);
        const { data: colours, info } = await sharp(bytes).raw().toBuffer({ resolveWithObject: true });
        const { camera, frames, deliver } = await openCamera(info.width, info.height);
        await deliver(bytes);
        await until(() => frames.length === 1 || camera.native.statistics().decodeFailed > 0, "an image");
        const { data } = frames[0]!;
        expect(data.length).toBe(info.width * info.height);
        let worst = 0;
        let sum = 0;
        for (let i = 0; i < data.length; i++) {
          const luma = 0.299 * colours[3 * i]! + 0.587 * colours[3 * i + 1]! + 0.114 * colours[3 * i + 2]!;
          sum += Math.abs(data[i]! - luma);
          worst = Math.max(worst, Math.abs(data[i]! - luma));
        }
        // Colours are cut off at 0 and 255, the luma is not: single pixels differ by more than rounding.
        expect(sum / data.length).toBeLessThan(0.6);
        expect(worst).toBeLessThan(40);
        camera.release(frames[0]!);
        await camera.close();
      });
    },
  );
});
