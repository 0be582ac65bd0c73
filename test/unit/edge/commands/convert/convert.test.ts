// SPDX-License-Identifier: Apache-2.0
// Tests conversions there and back: the same pixels, the same times; interrupted ones continue; losses are reported.
import {
  closeSync,
  copyFileSync,
  existsSync,
  lstatSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { parse } from "yaml";
import { decodePfm, loadStereoCalibration, readGreyImage, writeScene } from "../../../../../camera/index.js";
import { DepthwattError } from "../../../../../core/index.js";
import { runCommandLine } from "../../../../../edge/cli/program.js";
import { Counting } from "../../../../../edge/commands/convert/conversion.js";
import { flattened, toCsv } from "../../../../../edge/commands/convert/csv.js";
import { sensorYaml } from "../../../../../edge/commands/convert/euroc.js";
import { encodePly, toPly } from "../../../../../edge/commands/convert/ply.js";
import { countLoss, toFolders, topicFolder } from "../../../../../edge/commands/convert/to-folders.js";
import { toRecording } from "../../../../../edge/commands/convert/to-recording.js";
import { loadNative } from "../../../../../edge/contracts/native.js";
import { openRecording } from "../../../../../edge/mcap/recording.js";
import { runInProcess } from "../../../../doubles/command-line.js";
import { lastJson, runProgram } from "../../../../doubles/program.js";

const folder = mkdtempSync(join(tmpdir(), "depthwatt-convert-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const place = (...names: string[]) => join(folder, ...names);
const FRAMES = 12;
const deaf = { onProgress: () => {}, onSkip: () => {}, onWarning: () => {} };
const recording = place("recorded.mcap");

async function withRecording<T>(
  file: string,
  use: (opened: Awaited<ReturnType<typeof openRecording>>) => Promise<T>,
) {
  const opened = await openRecording(file);
  try {
    return await use(opened);
  } finally {
    await opened.close();
  }
}

/** Every message as topic, time and bytes. */
const contents = (file: string) =>
  withRecording(file, async (opened) => {
    const all: string[] = [];
    for await (const { channelId, logTime, data } of opened.messages())
      all.push(`${opened.channels.get(channelId)!.topic} ${logTime} ${Buffer.from(data).toString("base64")}`);
    return all.sort();
  });

beforeAll(async () => {
  await writeScene(loadNative(), {
    folder: place("scene"),
    frames: FRAMES,
    width: 96,
    height: 64,
    truth: "none",
    view: "raw",
  });
  const small = [
    "source.synthetic.width=96",
    "source.synthetic.height=64",
    "board=none",
    "match.numDisparities=16",
  ];
  const set = [
    ...small,
    "outputs.viewer.enabled=false",
    "outputs.mcap.disparity=true",
    "outputs.metricsIntervalMs=100",
  ];
  const words = ["record", recording, "--inputs", "--frames", String(FRAMES), "--rate", "20", "--json"];
  const { code, stderr } = await runProgram([...words, ...set.flatMap((one) => ["--set", one])]);
  expect(code, stderr).toBe(0);
  await withRecording(recording, (opened) => toFolders(opened, place("kept"), "folder", deaf));
}, 60_000);

test("a recording to folders and back: the same images, depths, disparities and times", async () => {
  const out = place("folders");
  const counts = await withRecording(recording, (opened) => toFolders(opened, out, "folder", deaf));
  expect(counts).toMatchObject({ written: 5 * FRAMES, kept: 0, skipped: {} });
  for (const name of ["left", "right", "left_rectified", "depth", "disparity"])
    expect(readdirSync(join(out, name)), name).toHaveLength(FRAMES);
  const again = await withRecording(recording, (opened) => toFolders(opened, out, "folder", deaf));
  expect(again).toMatchObject({ written: 0, kept: 5 * FRAMES });

  const back = place("back.mcap");
  expect(await toRecording(out, back, { rateHz: 30 }, deaf)).toMatchObject({
    written: 4 * FRAMES,
    skipped: {},
  });
  // Where both have the topic: pixels and capture times are the same.
  const pixels = (file: string) =>
    withRecording(file, async (opened) => {
      const found: string[] = [];
      for await (const { channelId, data } of opened.messages()) {
        const topic = opened.channels.get(channelId)!.topic;
        const name = /(left|right)\/image_raw$|(depth|disparity)\/image_rect$/.exec(topic)?.[0];
        if (name)
          found.push(
            `${name} ${Buffer.from(data.subarray(4, 12)).toString("hex")} ${Buffer.from(data.subarray(-96 * 64)).toString("base64")}`,
          );
      }
      return found.sort();
    });
  expect(await pixels(back)).toEqual(await pixels(recording));
  const attached = await withRecording(back, (opened) => opened.attachment("calibration.json"));
  expect(Buffer.from(attached!)).toEqual(readFileSync(join(out, "calibration.json")));
});

test("a recording that is cut off anywhere while it is made is gone on with, to the same messages", async () => {
  const whole = place("whole.mcap");
  await toRecording(place("scene"), whole, { rateHz: 10 }, deaf);
  const expected = await contents(whole);
  expect(expected).toHaveLength(2 * FRAMES);
  const bytes = statSync(whole).size;
  for (const share of [0, 0.02, 0.3, 0.6, 0.9, 0.999]) {
    const out = place(`resumed-${share}.mcap`);
    copyFileSync(whole, `${out}.part`);
    truncateSync(`${out}.part`, Math.floor(bytes * share));
    const { written, kept } = await toRecording(place("scene"), out, { rateHz: 10 }, deaf);
    expect(written + kept).toBe(2 * FRAMES);
    expect(await contents(out), String(share)).toEqual(expected);
    expect(await withRecording(out, async ({ loss }) => loss.index)).toBeUndefined();
    expect(existsSync(`${out}.part`)).toBe(false);
  }
});

test("what was interrupted is not gone on with of other pictures, other times or another calibration", async () => {
  const [image] = readdirSync(place("scene/left")).sort();
  const path = place("scene/left", image!);
  const before = readFileSync(path);
  const cut = place("cut-off.mcap");
  await toRecording(place("scene"), cut, { rateHz: 10 }, deaf);
  const resume = async (name: string, options: Parameters<typeof toRecording>[2]) => {
    const out = place(name);
    copyFileSync(cut, `${out}.part`);
    const { kept, written } = await toRecording(place("scene"), out, options, deaf);
    const fresh = place(`fresh-${name}`);
    await toRecording(place("scene"), fresh, options, deaf);
    expect(await contents(out)).toEqual(await contents(fresh));
    const attached = (file: string) => withRecording(file, (opened) => opened.attachment("calibration.json"));
    expect(await attached(out)).toEqual(await attached(fresh));
    return { kept, written };
  };
  const anew = { kept: 0, written: 2 * FRAMES };
  expect(await resume("same.mcap", { rateHz: 10 })).toEqual({ kept: 2 * FRAMES, written: 0 });
  expect(await resume("times.mcap", { rateHz: 20 })).toEqual(anew);
  const other = place("other-calibration.json");
  const wider = JSON.parse(readFileSync(place("scene/calibration.json"), "utf8"));
  wider.translationMetres[0] *= 2;
  writeFileSync(other, JSON.stringify(wider));
  expect(await resume("calibration.mcap", { rateHz: 10, calibration: other })).toEqual(anew);
  copyFileSync(place("scene/right", image!), path);
  expect(await resume("pictures.mcap", { rateHz: 10 })).toEqual(anew);
  writeFileSync(path, before);
});

test("a second conversion to one output is refused while the first is at it, and leaves its file alone", async () => {
  const out = place("twice.mcap");
  const cut = place("twice-before.mcap");
  await toRecording(place("scene"), cut, { rateHz: 10 }, deaf);
  truncateSync(cut, Math.floor(statSync(cut).size / 2));
  copyFileSync(cut, `${out}.part`);
  const held = openSync(`${out}.part`, "r+");
  expect(loadNative().lockFile(held)).toBe(true);
  const refused = await runProgram(["convert", place("scene"), out, "--rate", "10"]);
  expect(refused.stderr).toContain("one conversion at a time");
  expect(refused.code).toBe(3);
  expect(readFileSync(`${out}.part`)).toEqual(readFileSync(cut));
  // As the system does at the end of a process that was killed.
  closeSync(held);
  const { code, stderr } = await runInProcess(["convert", place("scene"), out, "--rate", "10"]);
  expect(code, stderr).toBe(0);
  expect(existsSync(`${out}.part`)).toBe(false);
});

test("EuRoC and back", async () => {
  const out = place("euroc");
  await withRecording(recording, (opened) => toFolders(opened, out, "euroc", deaf));
  const list = readFileSync(join(out, "mav0/cam0/data.csv"), "utf8").trim().split("\n");
  expect(list[0]).toBe("#timestamp [ns],filename");
  expect(list).toHaveLength(1 + FRAMES);
  expect(existsSync(join(out, "mav0/cam0/data", list[1]!.split(",")[1]!))).toBe(true);
  const { calibration } = loadStereoCalibration(join(out, "calibration.json"));
  const yaml = parse(readFileSync(join(out, "mav0/cam1/sensor.yaml"), "utf8")) as {
    T_BS: { data: number[] };
    intrinsics: number[];
    distortion_coefficients: number[];
    rate_hz: number;
  };
  const spanNs = await withRecording(recording, async ({ startNs, endNs }) => endNs! - startNs!);
  expect(yaml.rate_hz).toBeCloseTo((1e9 * (FRAMES - 1)) / Number(spanNs), 1);
  const { K, distortion } = calibration.right;
  expect(yaml.intrinsics).toEqual([K[0], K[4], K[2], K[5]]);
  expect(yaml.distortion_coefficients).toEqual([...distortion.coefficients.slice(0, 4)]);
  // T_BS takes the right camera's centre to its place next to the left one: x_right = R x + T is 0 there.
  const centre = [yaml.T_BS.data[3]!, yaml.T_BS.data[7]!, yaml.T_BS.data[11]!];
  for (let row = 0; row < 3; row++) {
    const R = calibration.R.slice(3 * row, 3 * row + 3);
    const value = R.reduce((sum, r, i) => sum + r * centre[i]!, 0) + calibration.T[row]!;
    expect(value).toBeCloseTo(0, 12);
  }
  const back = place("euroc.mcap");
  expect(await toRecording(out, back, { rateHz: 30 }, deaf)).toMatchObject({
    written: 2 * FRAMES,
    skipped: {},
  });
});

test("PLY: a point for each pixel with depth, where camera_info puts it", async () => {
  const out = place("clouds");
  expect(await withRecording(recording, (opened) => toPly(opened, out, deaf))).toMatchObject({
    written: FRAMES,
    skipped: {},
  });
  const [name] = readdirSync(out).sort();
  const file = readFileSync(join(out, name!));
  const end = file.indexOf("end_header\n") + 11;
  const head = file.subarray(0, end).toString();
  expect(head).toMatch(/^ply\nformat binary_little_endian 1\.0\nelement vertex \d+\n/);
  const points = Number(/vertex (\d+)/.exec(head)![1]);
  expect(file.length).toBe(end + 13 * points);
  const depth = await readGreyImage(place("kept/depth", name!.replace("ply", "png")));
  expect(points).toBe(depth.data.filter((value) => value > 0).length);
  const first = depth.data.findIndex((value) => value > 0);
  expect(file.readFloatLE(end + 8)).toBeCloseTo(depth.data[first]! / 1000, 6);
  const { default: sharp } = await import("sharp");
  const grey = await sharp(place("kept/left_rectified", name!.replace("ply", "png")))
    .toColourspace("b-w")
    .raw()
    .toBuffer();
  expect(file[end + 12]).toBe(grey[first]);
});

test("CSV: a row for each metrics, a column for each number", async () => {
  const out = place("metrics.csv");
  const { written } = await withRecording(recording, (opened) => toCsv(opened, out, deaf));
  const lines = readFileSync(out, "utf8").trim().split("\n");
  expect(lines).toHaveLength(1 + written);
  const columns = lines[0]!.split(",");
  expect(columns).toEqual(
    expect.arrayContaining(["timeNs", "frames", "stages.match.p50Ms", "outputs.mcap.sent"]),
  );
  expect(flattened({ a: { b: 1, c: null, d: [1] }, e: "x,y" })).toEqual({ "a.b": 1, e: "x,y" });
});

test("CSV: names and texts are quoted, and no cell is a formula", async () => {
  const channels = new Map([[1, { id: 1, schemaId: 2 }]]);
  const metrics = { 'a\n,b"': 1, "=1+1": -2, text: "@cmd|' /C calc'!A0", plain: "x" };
  const data = new TextEncoder().encode(JSON.stringify(metrics));
  const out = place("hostile.csv");
  const opened = {
    channels,
    schemas: new Map([[2, { name: "depthwatt.Metrics" }]]),
    loss: { messages: new Map(), chunks: 0, bytes: 0 },
    messages: async function* () {
      yield { channelId: 1, logTime: 7n, data };
    },
  };
  await toCsv(opened as never, out, deaf);
  expect(readFileSync(out, "utf8")).toBe(`timeNs,"a\n,b""",'=1+1,text,plain\n7,1,-2,'@cmd|' /C calc'!A0,x\n`);
});

test("CSV of a recording without figures is refused, and no empty table is left", async () => {
  const bare = place("bare.mcap");
  await toRecording(place("scene"), bare, { rateHz: 30 }, deaf);
  const out = place("bare.csv");
  await expect(withRecording(bare, (opened) => toCsv(opened, out, deaf))).rejects.toMatchObject({
    code: "SOURCE_EMPTY",
    message: expect.stringContaining("bare.mcap: expected figures"),
  });
  expect(existsSync(out)).toBe(false);
});

test("a wrong calibration leaves nothing behind", async () => {
  const out = place("no-such-calibration.mcap");
  const options = { calibration: place("nowhere.json"), rateHz: 30 };
  await expect(toRecording(place("scene"), out, options, deaf)).rejects.toMatchObject({
    code: "CALIBRATION_UNREADABLE",
  });
  expect([out, `${out}.part`].filter((path) => existsSync(path))).toEqual([]);
});

test("a link that leads nowhere is not replaced by a file", async () => {
  const link = place("link.mcap");
  symlinkSync("not-there.mcap", link);
  const { code, stderr } = await runInProcess(["convert", place("scene"), link]);
  expect(code).toBe(2);
  expect(stderr).toMatch(/expected a new file to write, and .*link\.mcap is there already/);
  expect(lstatSync(link).isSymbolicLink()).toBe(true);
});

test("a name of one point cloud is refused: there is one for each frame", async () => {
  const { code, stderr } = await runInProcess(["convert", recording, place("cloud.ply")]);
  expect(code).toBe(2);
  expect(stderr).toMatch(/expected --to ply and a folder, got a single file/);
  expect(existsSync(place("cloud.ply"))).toBe(false);
});

test("a preview: an animated WebP, or a strip of pictures", async () => {
  const { default: sharp } = await import("sharp");
  for (const name of ["preview.webp", "preview.png"]) {
    const { code, stderr } = await runInProcess(["convert", recording, place(name)]);
    expect(code, stderr).toBe(0);
  }
  const webp = await sharp(place("preview.webp"), { animated: true }).metadata();
  expect(webp).toMatchObject({ format: "webp", pages: FRAMES, width: 96, pageHeight: 64 });
  const strip = await sharp(place("preview.png")).raw().toBuffer({ resolveWithObject: true });
  expect(strip.info).toMatchObject({ height: 64, channels: 3 });
  const pictures = strip.info.width / 96;
  expect(pictures).toBeGreaterThanOrEqual(4);
  expect(Number.isInteger(pictures)).toBe(true);
  // The pictures are pages of the animation, which is lossy: the first one, then later ones.
  const pages = await sharp(place("preview.webp"), { animated: true }).removeAlpha().raw().toBuffer();
  const difference = (picture: number, page: number) => {
    let sum = 0;
    for (let y = 0; y < 64; y++)
      for (let i = 0; i < 3 * 96; i++) {
        const shown = strip.data[(y * pictures + picture) * 3 * 96 + i]!;
        sum += Math.abs(shown - pages[(page * 64 + y) * 3 * 96 + i]!);
      }
    return sum / (3 * 96 * 64);
  };
  const found = Array.from({ length: pictures }, (_, picture) => {
    const all = Array.from({ length: FRAMES }, (_, page) => difference(picture, page));
    expect(Math.min(...all), `picture ${picture}`).toBeLessThan(12);
    return all.indexOf(Math.min(...all));
  });
  expect(found[0]).toBe(0);
  expect(found).toEqual([...new Set(found)].sort((a, b) => a - b));
});

test("unreadable images are skipped, reported and counted, and set the exit code; no bar is drawn into a pipe", async () => {
  const bytes = readFileSync(recording);
  const damaged = place("damaged.mcap");
  writeFileSync(damaged, bytes.subarray(0, Math.floor(bytes.length * 0.8)));
  const ran = await runProgram(["convert", damaged, place("from-damaged"), "--json"]);
  expect(ran.code).toBe(6);
  expect(lastJson(ran)).toMatchObject({ format: "folder", skipped: { cut: 1 } });
  expect(ran.stderr).toMatch(/skipped: \d+ bytes that belong to no whole record/);
  expect(ran.stderr).not.toMatch(/\r|\[#/);
  const [image] = readdirSync(place("scene/left"));
  const before = readFileSync(place("scene/left", image!));
  writeFileSync(place("scene/left", image!), "no picture");
  const partly = await runInProcess(["convert", place("scene"), place("partly.mcap"), "--json"]);
  writeFileSync(place("scene/left", image!), before);
  expect(partly.code).toBe(6);
  expect(lastJson(partly)).toMatchObject({ written: 2 * FRAMES - 1, skipped: { unreadable: 1 } });
  const wrong = await runInProcess(["convert", recording, place("x.mcap")]);
  expect(wrong.code).toBe(2);
  expect(wrong.stderr).toMatch(/a recording is converted to something else/);
  writeFileSync(place("taken.csv"), "");
  expect((await runInProcess(["convert", recording, place("taken.csv")])).code).toBe(2);
});

test("PFM of a converted disparity is the recorded one", async () => {
  const [name] = readdirSync(place("kept/disparity"));
  const { data } = decodePfm(readFileSync(place("kept/disparity", name!)), name!);
  for (const value of data) expect(Number.isFinite(value) ? (16 * value) % 1 : 0).toBe(0);
});

test("sensor.yaml has the camera's pose, lens and rate, each in its place", () => {
  // A quarter turn about z: x_right = R x_left + T.
  const camera = (first: number, model: string, coefficients: number[]) => ({
    K: [first, 0, first + 2, 0, first + 1, first + 3, 0, 0, 1],
    distortion: { model, coefficients },
  });
  const calibration = {
    imageSize: { width: 640, height: 400 },
    left: camera(100, "none", []),
    right: camera(200, "plumb_bob", [1, 2, 3, 4, 5]),
    R: [0, -1, 0, 1, 0, 0, 0, 0, 1],
    T: [10, 20, 30],
  } as never;
  const text = (...lines: string[]) =>
    `sensor_type: camera\nT_BS:\n  cols: 4\n  rows: 4\n${lines.join("\n")}\n`;
  expect(sensorYaml(calibration, "cam0", undefined)).toBe(
    text(
      "  data: [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1]",
      "resolution: [640, 400]",
      "camera_model: pinhole",
      "intrinsics: [100, 101, 102, 103]",
      "distortion_model: none",
      "distortion_coefficients: [0, 0, 0, 0]",
    ),
  );
  expect(sensorYaml(calibration, "cam1", 20)).toBe(
    text(
      "  data: [0, 1, 0, -20, -1, 0, 0, 10, 0, 0, 1, -30, 0, 0, 0, 1]",
      "rate_hz: 20",
      "resolution: [640, 400]",
      "camera_model: pinhole",
      "intrinsics: [200, 201, 202, 203]",
      "distortion_model: radial-tangential",
      "distortion_coefficients: [1, 2, 3, 4]",
    ),
  );
});

test("a cloud has the pixels with depth alone, with their grey values where there is an image", () => {
  const map = {
    width: 3,
    height: 2,
    millimetres: Uint16Array.of(0, 500, 0, 2000, 0, 1000),
    stampNs: 1n,
    frameId: "left",
  };
  const pinhole = { focalPixels: 4, cx: 1, cy: 0.5 };
  const points = (file: Uint8Array, pointBytes: number) => {
    const start = Buffer.from(file).indexOf("end_header\n") + "end_header\n".length;
    const view = new DataView(file.buffer, start);
    return Array.from({ length: view.byteLength / pointBytes }, (_, point) => [
      ...[0, 4, 8].map((at) => view.getFloat32(point * pointBytes + at, true)),
      ...(pointBytes > 12 ? [view.getUint8(point * pointBytes + 12)] : []),
    ]);
  };
  const places = [
    [0, -0.0625, 0.5],
    [-0.5, 0.25, 2],
    [0.25, 0.125, 1],
  ];
  expect(points(encodePly(map, pinhole), 12)).toEqual(places);
  const grey = Uint8Array.of(1, 2, 3, 4, 5, 6);
  expect(points(encodePly(map, pinhole, grey), 13)).toEqual(
    places.map((place, i) => [...place, [2, 4, 6][i]]),
  );
  const head = (file: Uint8Array) => Buffer.from(file).toString("latin1").split("end_header")[0];
  expect(head(encodePly(map, pinhole))).toContain("element vertex 3\n");
  expect(head(encodePly(map, pinhole))).not.toContain("intensity");
  expect(head(encodePly(map, pinhole, grey))).toContain("property uchar intensity\n");
});

test.each([
  ["/robot/left/image_raw", "left"],
  ["left/image_color/compressed", "left"],
  ["/left/image", "left"],
  ["/bright/image_raw", "bright_image_raw"],
  ["/robot/right/image_raw/compressed", "right"],
  ["/left/image_rect", "left_rectified"],
  ["/left/image_rect/compressed", "left_image_rect_compressed"],
  ["/depth/image_rect/compressedDepth", "depth"],
  ["/a/disparity/image_rect", "disparity"],
  ["/a/confidence/image_rect", "confidence"],
  ["/rgb-1//image", "rgb_1_image"],
])("images of %s are in the folder %s", (topic, name) => {
  expect(topicFolder(topic)).toBe(name);
});

test("a conversion counts each file once, reports each loss and warns once of a topic", () => {
  const events: unknown[] = [];
  const counting = new Counting(
    {
      onProgress: (done, total) => events.push([done, total]),
      onSkip: (text) => events.push(text),
      onWarning: (text) => events.push(`warning: ${text}`),
    },
    9,
  );
  counting.wrote();
  counting.keeps();
  counting.skipUnreadable(new DepthwattError("SOURCE_UNREADABLE", "no image"), "/left: ");
  for (const topic of ["/left", "/left", "/right"]) counting.warnOfLogTime(topic);
  const loss = (messages: number[], chunks: number, bytes: number) =>
    ({ loss: { messages: new Map(messages.entries()), chunks, bytes, reason: "a checksum" } }) as never;
  countLoss(loss([], 0, 0), counting);
  countLoss(loss([2, 3], 2, 0), counting);
  countLoss(loss([], 1, 7), counting);
  expect(events).toEqual([
    [1, 9],
    [2, 9],
    "/left: no image",
    [3, 9],
    "warning: /left: capture times are 0, so the times of recording are used",
    "warning: /right: capture times are 0, so the times of recording are used",
    "2 damaged chunks: a checksum",
    [4, 9],
    "1 damaged chunks: a checksum",
    [5, 9],
    "7 bytes that belong to no whole record",
    [6, 9],
  ]);
  expect(counting).toMatchObject({ written: 1, kept: 1, skipped: { unreadable: 1, damaged: 6, cut: 1 } });
  for (const error of [new Error("of the disk"), new DepthwattError("IMAGE_LIBRARY_MISSING", "no sharp")])
    expect(() => counting.skipUnreadable(error)).toThrow(error);
});

test("CSV: lines that are no JSON are counted, and a table of them alone is empty", async () => {
  const message = (text: string) => ({ channelId: 1, logTime: 7n, data: new TextEncoder().encode(text) });
  const opened = (messages: unknown[], counts?: Map<number, bigint>) => ({
    channels: new Map([
      [3, { id: 3, schemaId: 4 }],
      [1, { id: 1, schemaId: 2 }],
    ]),
    schemas: new Map([
      [2, { name: "depthwatt.Metrics" }],
      [4, { name: "other" }],
    ]),
    loss: { messages: new Map(), chunks: 0, bytes: 0 },
    counts,
    messages: async function* ({ channels }: { channels: Set<number> }) {
      expect([...channels]).toEqual([1]);
      yield* messages;
    },
  });
  const progress: unknown[] = [];
  const events = { ...deaf, onProgress: (...step: unknown[]) => progress.push(step) };
  const out = place("broken.csv");
  const counts = new Map([[1, 3n]]);
  const lines = ['{"a":true,"b":"it"}', "{", '{"c":{"d":null},"a":1}'].map(message);
  expect(await toCsv(opened(lines, counts) as never, out, events)).toMatchObject({
    written: 2,
    skipped: { unreadable: 1 },
  });
  expect(readFileSync(out, "utf8")).toBe("timeNs,a,b\n7,true,it\n7,1,\n");
  expect(progress).toEqual([1, 2, 3].map((done) => [done, 3]));
  await toCsv(opened([message("{")]) as never, out, deaf);
  expect(readFileSync(out, "utf8")).toBe("\n");
  await expect(toCsv(opened([]) as never, out, deaf)).rejects.toMatchObject({ code: "SOURCE_EMPTY" });
});

test.each([
  [["scene", ""], /got an empty name/],
  [["none", "a.mcap"], /expected a recording or a folder at .*none, found nothing/],
  [["scene", "a.csv"], /a folder is converted to a recording, got --to csv/],
  [["scene", "a"], /a folder is converted to a recording, got --to folder/],
  [["recorded.mcap", "a.MCAP"], /a recording is converted to something else, got --to mcap/],
  [["recorded.mcap", "a.csv", "--to", "mcap"], /got --to mcap/],
  [["recorded.mcap", "a.PLY"], /expected --to ply and a folder/],
  [["recorded.mcap", "a.csv", "--rate", "10"], /expected --rate only with --to mcap, got it with --to csv/],
  [["recorded.mcap", "a", "--calibration", "x"], /expected --calibration only with --to mcap/],
  [["recorded.mcap", "recorded.mcap", "--to", "strip"], /expected a new file to write/],
  [["recorded.mcap", "scene/calibration.json", "--to", "webp"], /expected a new file to write/],
  [["scene", "a.mcap", "--rate", "0.009"], /--rate/],
  [["scene", "a.mcap", "--rate", "1000.1"], /--rate/],
])("convert %j is refused", async (words, message) => {
  let errors = "";
  const write = vi.spyOn(process.stderr, "write").mockImplementation((text) => {
    errors += text;
    return true;
  });
  const [from, out, ...flags] = words;
  const code = await runCommandLine(["convert", place(from!), out === "" ? "" : place(out!), ...flags]);
  write.mockRestore();
  expect(code).not.toBe(0);
  expect(errors).toMatch(message);
});
