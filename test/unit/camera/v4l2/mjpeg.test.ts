// SPDX-License-Identifier: Apache-2.0
// Motion JPEG: the bytes that cameras send, whole, without tables, padded, cut short; decoded once into grey.
import sharp from "sharp";
import { beforeEach, expect, test } from "vitest";
import { type CameraFrame, V4l2Camera } from "../../../../camera/capture/v4l2/camera.js";
import { openV4l2Source } from "../../../../camera/index.js";
import { clocks, now, recording, rest, until, video } from "../../../doubles/fake-video/cameras.js";
import { type FakeVideo, fakeVideo } from "../../../doubles/fake-video/fake-video.js";
import { needs } from "../../../doubles/needs.js";

const [WIDTH, HEIGHT] = [64, 48];
const PATH = "/dev/fake0";
let fake: FakeVideo;

const greyAt = (x: number, y: number) => 40 + 2 * x + y;

/** A ramp as colour JPEG with 4:2:2 chroma, as webcams send it; the tables are the standard ones. */
async function jpeg(width = WIDTH, height = HEIGHT): Promise<Uint8Array> {
  const pixels = Buffer.alloc(width * height * 3);
  for (let i = 0; i < width * height; i++)
    pixels.fill(greyAt(i % width, Math.floor(i / width)), 3 * i, 3 * i + 3);
  const image = sharp(pixels, { raw: { width, height, channels: 3 } });
  return image.jpeg({ quality: 95, optimiseCoding: false, chromaSubsampling: "4:2:0" }).toBuffer();
}

/** Leaves out the Huffman tables (marker ff c4), as many cameras do. */
function withoutTables(bytes: Uint8Array): Uint8Array {
  const parts: Uint8Array[] = [bytes.subarray(0, 2)];
  for (let at = 2; ; ) {
    const length = 2 + (bytes[at + 2]! << 8) + bytes[at + 3]!;
    if (bytes[at + 1] === 0xda) return Buffer.concat([...parts, bytes.subarray(at)]);
    if (bytes[at + 1] !== 0xc4) parts.push(bytes.subarray(at, at + length));
    at += length;
  }
}

const formats = [{ fourcc: "MJPG", width: WIDTH, height: HEIGHT, ratesHz: [30] }];

async function openCamera() {
  fake.plugIn({ path: PATH, formats });
  const options = { path: PATH, fourcc: "MJPG", width: WIDTH, height: HEIGHT, system: fake.system };
  const camera = await V4l2Camera.open(video, options);
  const frames: CameraFrame[] = [];
  camera.start({ onFrame: (frame) => frames.push(frame), onFault: () => {} });
  await until(() => fake.state(PATH).streaming, "stream");
  let sequence = 0;
  const deliver = (bytes: Uint8Array) => fake.deliver(PATH, { timestampNs: 1n, sequence: sequence++, bytes });
  return { camera, frames, deliver };
}

needs("toolchain", "turbojpeg").suite("Motion JPEG", () => {
  beforeEach(() => {
    fake = fakeVideo();
  });

  test("whole images, images without tables and padded ones become grey; the JPEG's buffer goes back at once", async () => {
    const { camera, frames, deliver } = await openCamera();
    const whole = await jpeg();
    expect(withoutTables(whole).length).toBeLessThan(whole.length - 300);
    for (const bytes of [whole, withoutTables(whole), Buffer.concat([whole, Buffer.alloc(700)])])
      deliver(bytes);
    await until(() => frames.length === 3, "three images");
    for (const { data, bytesUsed } of frames) {
      expect(bytesUsed).toBe(WIDTH * HEIGHT);
      for (let y = 0; y < HEIGHT; y += 5) {
        for (let x = 0; x < WIDTH; x += 5)
          expect(Math.abs(data[y * WIDTH + x]! - greyAt(x, y))).toBeLessThan(4);
      }
    }
    expect(fake.state(PATH).queued).toBe(8);
    for (const frame of frames) camera.release(frame);
    await camera.close();
  });

  test("what is no JPEG, cut short or of another size is dropped and counted", async () => {
    const { camera, frames, deliver } = await openCamera();
    const whole = await jpeg();
    deliver(Buffer.from("this is no picture at all"));
    deliver(whole.subarray(0, whole.length / 2));
    deliver(await jpeg(32, 24));
    deliver(new Uint8Array([0xff, 0xd8]));
    deliver(whole);
    await until(() => frames.length === 1, "the good one");
    expect(frames[0]!.sequence).toBe(4);
    expect(camera.native.statistics()).toMatchObject({ decodeFailed: 4, frames: 1 });
    await rest(20);
    expect(fake.state(PATH).queued).toBe(8);
    camera.release(frames[0]!);
    await camera.close();
  });

  test("a reader that keeps every image costs images, counted, and not the stream", async () => {
    const { camera, frames, deliver } = await openCamera();
    const whole = await jpeg();
    for (let i = 0; i < 14; i++) {
      deliver(whole);
      await rest(5);
    }
    await until(() => camera.native.statistics().noFreeBuffer === 4, "four dropped");
    expect(frames).toHaveLength(10);
    for (const frame of frames.splice(0)) camera.release(frame);
    deliver(whole);
    await until(() => frames.length === 1, "goes on");
    camera.release(frames[0]!);
    await camera.close();
  });

  test("random damage never ends the process", async () => {
    const { camera, frames, deliver } = await openCamera();
    const whole = await jpeg();
    for (let i = 0; i < 200; i++) {
      const damaged = Uint8Array.from(whole);
      for (let n = 0; n < 1 + (i % 8); n++)
        damaged[(i * 7919 + n * 104729) % damaged.length] = (i * 31 + n * 17) & 0xff;
      deliver(damaged);
      await rest(0);
      for (const frame of frames.splice(0)) camera.release(frame);
    }
    await rest(50);
    for (const frame of frames.splice(0)) camera.release(frame);
    const { frames: taken, decodeFailed, noFreeBuffer } = camera.native.statistics();
    expect(taken + decodeFailed + noFreeBuffer).toBeGreaterThan(150);
    await camera.close();
  });

  test("a side-by-side JPEG camera gives both eyes as grey", async () => {
    fake.plugIn({ path: PATH, formats });
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
    fake.deliver(PATH, { timestampNs: now(), sequence: 0, bytes: await jpeg() });
    await until(() => held.length === 1, "a pair");
    expect(Math.abs(held[0]!.left.data[10]! - greyAt(10, 0))).toBeLessThan(4);
    expect(Math.abs(held[0]!.right.data[10]! - greyAt(WIDTH / 2 + 10, 0))).toBeLessThan(4);
    held[0]!.release();
    await source.stop();
  });
});
