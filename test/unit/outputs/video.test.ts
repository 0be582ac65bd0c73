// SPDX-License-Identifier: Apache-2.0
// Motion JPEG over real sockets: both pictures as a browser reads them, nothing without viewers, viewers that do not read.
import { once } from "node:events";
import { get, type IncomingMessage } from "node:http";
import sharp from "sharp";
import { afterEach, expect, test } from "vitest";
import { colourDisparity, DISPARITY_COLOURS } from "../../../camera/index.js";
import type { ComputedFrame } from "../../../edge/contracts/computed-frame.js";
import type { FrameLease, OutputContext } from "../../../edge/contracts/output.js";
import { HttpServer } from "../../../edge/http/index.js";
import type { VideoSettings } from "../../../edge/outputs/video/settings.js";
import { openVideoOutput } from "../../../edge/outputs/video/video-output.js";
import { until } from "../../doubles/frames.js";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function serve(searched = () => ({ min: -2, max: 62 })) {
  const server = new HttpServer({ address: "127.0.0.1", port: 0 });
  cleanups.push(() => server.close());
  await server.listen();
  const output = await openVideoOutput({
    http: async () => ({ server, gate: undefined }),
    searched,
  } as unknown as OutputContext<VideoSettings>);
  cleanups.push(() => output.close());
  let sent = 0;
  const offer = (frame: ComputedFrame) => {
    let released = false;
    const lease = {
      frame,
      sent: () => {
        sent++;
      },
      release: () => {
        released = true;
      },
    };
    output.frame(lease as unknown as FrameLease);
    expect(released).toBe(true);
  };
  return { output, url: `${server.url}/video`, offer, sent: () => sent };
}

/** Invalid at the left, then disparities from below the range to above it; grey grows downwards. */
function makeFrame(width: number, height: number, change = 0): ComputedFrame {
  const disparityQ4 = Int16Array.from({ length: width * height }, (_, i) => {
    const x = i % width;
    return x < width / 4 ? -32_768 : 16 * (Math.floor((80 * x) / width) - 10);
  });
  const left = Uint8Array.from({ length: width * height }, (_, i) => Math.floor(i / width) + change);
  return { slot: { disparityQ4, left }, encodings: {}, width, height } as unknown as ComputedFrame;
}

/** Reads the parts of a response in the way of a browser. */
class Parts {
  readonly jpegs: Buffer[] = [];
  #waiting = Buffer.alloc(0);

  constructor(readonly response: IncomingMessage) {
    response.on("data", (chunk: Buffer) => {
      this.#waiting = Buffer.concat([this.#waiting, chunk]);
      for (;;) {
        const head = /^--picture\r\nContent-Type: image\/jpeg\r\nContent-Length: (\d+)\r\n\r\n/.exec(
          this.#waiting.toString("latin1", 0, 200),
        );
        if (head === null) return;
        const end = head[0].length + Number(head[1]) + 2;
        if (this.#waiting.length < end) return;
        this.jpegs.push(this.#waiting.subarray(head[0].length, end - 2));
        this.#waiting = this.#waiting.subarray(end);
      }
    });
  }
}

async function watch(url: string): Promise<Parts> {
  const request = get(url);
  cleanups.push(() => request.destroy());
  const [response] = (await once(request, "response")) as [IncomingMessage];
  response.on("error", () => {});
  return new Parts(response);
}

/** The largest difference of two pictures: JPEG is lossy. */
async function difference(jpeg: Uint8Array, expected: Uint8Array): Promise<number> {
  const { data, info } = await sharp(jpeg).raw().toBuffer({ resolveWithObject: true });
  expect([info.width, info.height]).toEqual([64, 48]);
  expect(data.length % expected.length).toBe(0);
  const channels = data.length / expected.length;
  return expected.reduce((worst, value, i) => Math.max(worst, Math.abs(value - data[i * channels]!)), 0);
}

test("the left image in grey and the disparity in colours, as long as somebody watches", async () => {
  const { output, url, offer, sent } = await serve();
  expect(output.streams).toEqual([]);
  const left = await watch(`${url}/left.mjpeg`);
  const depth = await watch(`${url}/depth.mjpeg`);
  expect(left.response.headers["content-type"]).toBe("multipart/x-mixed-replace; boundary=picture");
  expect(output.streams).toEqual(["left", "depth"]);
  const frame = makeFrame(64, 48);
  offer(frame);
  await until("both pictures", () => left.jpegs.length === 1 && depth.jpegs.length === 1);
  expect(await difference(left.jpegs[0]!, frame.slot.left)).toBeLessThan(4);
  const data = Float32Array.from(frame.slot.disparityQ4, (value) =>
    value === -32_768 ? Number.POSITIVE_INFINITY : value / 16,
  );
  const { data: colours } = colourDisparity({ data, width: 64, height: 48 }, { min: -2, max: 62 });
  const shown = await sharp(depth.jpegs[0]!).raw().toBuffer();
  const mean = colours.reduce((sum, value, i) => sum + Math.abs(value - shown[i]!), 0) / colours.length;
  expect(mean).toBeLessThan(6);
  await until("the latency of both", () => sent() === 2);
  expect(output.counters()).toMatchObject({
    sent: 2,
    bytes: left.jpegs[0]!.length + depth.jpegs[0]!.length,
    drops: {},
    details: { viewers: { left: 1, depth: 1 } },
  });
  left.response.destroy();
  depth.response.destroy();
  await until("the end of both", () => output.streams.length === 0);
});

test("colours follow the range that is searched, at either end", async () => {
  let range = { min: -2, max: 62 };
  const { url, offer } = await serve(() => range);
  const depth = await watch(`${url}/depth.mjpeg`);
  const frame = makeFrame(64, 48);
  const data = Float32Array.from(frame.slot.disparityQ4, (value) =>
    value === -32_768 ? Number.POSITIVE_INFINITY : value / 16,
  );
  for (const [shown, next] of [
    { min: -2, max: 30 },
    { min: 20, max: 30 },
  ].entries()) {
    range = next;
    offer(frame);
    await until("the picture", () => depth.jpegs.length > shown);
    const { data: colours } = colourDisparity({ data, width: 64, height: 48 }, next);
    const pixels = await sharp(depth.jpegs[shown]!).raw().toBuffer();
    const mean = colours.reduce((sum, value, i) => sum + Math.abs(value - pixels[i]!), 0) / colours.length;
    expect(mean).toBeLessThan(8);
  }
});

test("a colour is that of its place in the searched range, and a pixel without a disparity is black", async () => {
  let range = { min: 20, max: 30 };
  const { url, offer } = await serve(() => range);
  const depth = await watch(`${url}/depth.mjpeg`);
  const colour = (index: number) => [...DISPARITY_COLOURS.subarray(3 * index, 3 * index + 3)];
  // 256 colours from one end to the other; JPEG keeps a flat picture's within two levels.
  for (const [shown, [min, max, q4, expected]] of (
    [
      [20, 30, 16 * 25, colour(128)],
      [20, 30, -32_768, [0, 0, 0]],
      [20, 30, 16 * 20, colour(0)],
      [20, 30, 16 * 30, colour(255)],
      [20, 40, 16 * 25, colour(64)],
      [0, 40, 16 * 25, colour(159)],
      [0, 40, -1, colour(0)],
      [0, 40, 16 * 50, colour(255)],
    ] as const
  ).entries()) {
    range = { min, max };
    const disparityQ4 = new Int16Array(64 * 48).fill(q4);
    offer({ slot: { disparityQ4 }, encodings: {}, width: 64, height: 48 } as unknown as ComputedFrame);
    await until("the picture", () => depth.jpegs.length > shown);
    const pixels = await sharp(depth.jpegs[shown]!).raw().toBuffer();
    const worst = pixels.reduce((max, value, i) => Math.max(max, Math.abs(value - expected[i % 3]!)), 0);
    expect([min, max, q4, worst <= 3]).toEqual([min, max, q4, true]);
  }
});

/** A viewer without a socket: the test says whether it has received what it was sent. */
function fakeViewer(method = "GET") {
  const sent: Buffer[] = [];
  const viewer = {
    sent,
    writableLength: 0,
    destroyed: 0,
    stalledMs: 0,
    onStalled: () => {},
    onClose: () => {},
    req: { method },
    on: (_: string, onClose: () => void) => (viewer.onClose = onClose),
    setHeader: () => {},
    flushHeaders: () => {},
    socket: {
      setTimeout(milliseconds: number, onStalled: () => void) {
        Object.assign(viewer, { stalledMs: milliseconds, onStalled });
      },
    },
    cork: () => {},
    uncork: () => {},
    write: (bytes: string | Uint8Array) => sent.push(Buffer.from(bytes as Uint8Array)),
    end(bytes?: Uint8Array) {
      if (bytes !== undefined) sent.push(Buffer.from(bytes));
      viewer.onClose();
    },
    destroy: () => viewer.destroyed++,
  };
  return viewer;
}

test("viewers that still have a picture to receive miss one each, and none is encoded for them alone", async () => {
  const pages = new Map<string, (request: unknown, response: unknown) => void>();
  const server = { url: "http://here", get: (path: string, page: never) => pages.set(path, page) };
  const output = await openVideoOutput({
    http: async () => ({ server, gate: undefined }),
    searched: () => ({ min: 0, max: 64 }),
  } as unknown as OutputContext<VideoSettings>);
  let sent = 0;
  const offer = () =>
    output.frame({ frame: makeFrame(64, 48), sent: () => sent++, release() {} } as unknown as FrameLease);
  const [first, second, still] = [fakeViewer(), fakeViewer(), fakeViewer()];
  for (const viewer of [first, second]) pages.get("/video/left.mjpeg")!(undefined, viewer);
  first.writableLength = 1;
  offer();
  await until("it is shown", () => output.counters().sent === 1);
  expect(output.counters().drops).toEqual({ "left.viewerBusy": 1 });
  const [head, jpeg, end] = second.sent;
  expect([String(head), String(end), second.sent.length, first.sent]).toEqual([
    `--picture\r\nContent-Type: image/jpeg\r\nContent-Length: ${jpeg!.length}\r\n\r\n`,
    "\r\n",
    3,
    [],
  ]);
  second.writableLength = 1;
  offer();
  expect(output.counters().drops).toEqual({ "left.viewerBusy": 3 });
  // A viewer that asks for a single picture gets it while others are busy.
  pages.get("/video/left.jpg")!(undefined, still);
  offer();
  await until("it is shown", () => output.counters().sent === 2);
  expect([still.sent.length, sent]).toEqual([1, 2]);
  expect(output.counters()).toEqual({
    sent: 2,
    bytes: jpeg!.length + still.sent[0]!.length,
    drops: { "left.viewerBusy": 5 },
    details: { url: "http://here/video", viewers: { left: 2, depth: 0 } },
  });
  // After half a minute without progress only one that has something to receive is disconnected.
  first.writableLength = 0;
  for (const viewer of [first, second]) viewer.onStalled();
  expect([first.stalledMs, first.destroyed, second.destroyed]).toEqual([30_000, 0, 1]);
  await output.close();
  expect([first.destroyed, still.destroyed]).toEqual([1, 0]);
});

test("a still picture is the next frame's", async () => {
  const { output, url, offer } = await serve();
  const answer = fetch(`${url}/left.jpg`);
  await until("the request", () => output.streams.length > 0);
  const frame = makeFrame(64, 48, 9);
  offer(frame);
  const response = await answer;
  expect(response.headers.get("content-type")).toBe("image/jpeg");
  expect(await difference(new Uint8Array(await response.arrayBuffer()), frame.slot.left)).toBeLessThan(4);
  expect(output.streams).toEqual([]);
});

test("a viewer that does not read misses pictures; another one gets them; too many are refused", async () => {
  const { output, url, offer } = await serve();
  const fast = await watch(`${url}/left.mjpeg`);
  const slow = await watch(`${url}/left.mjpeg`);
  slow.response.pause();
  const [width, height] = [1600, 1200];
  // JPEG makes much of noise.
  const noise = makeFrame(width, height);
  for (let i = 0; i < noise.slot.left.length; i++) noise.slot.left[i] = (i * 2_654_435_761) >>> 13;
  const drops = () => output.counters().drops["left.viewerBusy"] ?? 0;
  for (let round = 0; round < 40 && drops() < 3; round++) {
    const seen = fast.jpegs.length;
    await until("the fast viewer has it", () => {
      offer(noise);
      return fast.jpegs.length > seen;
    });
  }
  expect(drops()).toBeGreaterThanOrEqual(3);
  slow.response.destroy();
  await until("it is gone", () => (output.counters().details!.viewers as { left: number }).left === 1);

  for (let i = 0; i < 31; i++) await watch(`${url}/left.mjpeg`);
  expect((await fetch(`${url}/left.mjpeg`)).status).toBe(503);
});

test("a frame that comes while a picture is packed, or that cannot be packed, is counted; the next one is shown", async () => {
  const { output, url, offer, sent } = await serve();
  const left = await watch(`${url}/left.mjpeg`);
  const frame = makeFrame(64, 48);
  offer(frame);
  offer(frame);
  expect(output.counters().drops).toEqual({ "left.encoderBusy": 1 });
  await until("the first picture", () => left.jpegs.length === 1);
  // Fewer pixels than the size says.
  const broken = { ...makeFrame(4, 2), width: 64, height: 48 } as ComputedFrame;
  offer(broken);
  await until("it is counted", () => output.counters().drops["left.encoderFailed"] === 1);
  offer(makeFrame(64, 48, 20));
  await until("the next picture", () => left.jpegs.length === 2);
  expect(await difference(left.jpegs[1]!, makeFrame(64, 48, 20).slot.left)).toBeLessThan(4);
  expect(output.counters()).toEqual({
    sent: 2,
    bytes: left.jpegs[0]!.length + left.jpegs[1]!.length,
    drops: { "left.encoderBusy": 1, "left.encoderFailed": 1 },
    details: { url, viewers: { left: 1, depth: 0 } },
  });
  expect(sent()).toBe(2);
});

test("left has the source's colours; a request for the head alone is no viewer; the greeting names both pictures", async () => {
  const { output, url, offer } = await serve();
  expect(output.greeting!()).toEqual([["video", `${url}/left.mjpeg ${url}/depth.mjpeg`]]);
  for (const [name, type] of [
    ["left.mjpeg", "multipart/x-mixed-replace; boundary=picture"],
    ["depth.jpg", "image/jpeg"],
  ] as const) {
    const head = await fetch(`${url}/${name}`, { method: "HEAD" });
    expect([head.status, head.headers.get("content-type"), head.headers.get("cache-control")]).toEqual([
      200,
      type,
      "no-store",
    ]);
  }
  await until("both have left", () => output.streams.length === 0);
  const left = await watch(`${url}/left.mjpeg`);
  const colour = [200, 40, 90];
  const leftRgb = Uint8Array.from({ length: 3 * 64 * 48 }, (_, i) => colour[i % 3]!);
  const frame = makeFrame(64, 48);
  offer({ ...frame, slot: { ...frame.slot, leftRgb }, encodings: { leftRgb: true } } as ComputedFrame);
  await until("the picture", () => left.jpegs.length === 1);
  const { data, info } = await sharp(left.jpegs[0]!).raw().toBuffer({ resolveWithObject: true });
  expect([info.width, info.height, info.channels]).toEqual([64, 48, 3]);
  expect(data.reduce((worst, value, i) => Math.max(worst, Math.abs(value - leftRgb[i]!)), 0)).toBeLessThan(6);
  await output.close();
  await until("it is disconnected", () => left.response.destroyed);
});
