// SPDX-License-Identifier: Apache-2.0
// Recordings by the program itself: read by a reader that is not ours, computed again bit for bit, and what a bad disk does to a run.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import sharp from "sharp";
import { afterAll, beforeAll, expect, test } from "vitest";
import { parseStereoCalibration, sceneCalibration } from "../../camera/index.js";
import type { RunFigures } from "../../edge/run/figures.js";
import { mountDisk, testThatMounts } from "../doubles/mounts.js";
import { needs } from "../doubles/needs.js";
import { lastJson, PROGRAM, runProgram } from "../doubles/program.js";
import { findTopic, readIndependently } from "../doubles/recordings.js";

const folder = mkdtempSync(join(tmpdir(), "depthwatt-record-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const place = (name: string) => join(folder, name);

const SMALL = [
  "--set",
  "source.synthetic.width=160",
  "--set",
  "source.synthetic.height=120",
  "--set",
  "board=none",
];
const QUIET = ["--set", "outputs.viewer.enabled=false", "--set", "match.numDisparities=32", "--json"];
const record = async (words: string[]) => {
  const ran = await runProgram(["record", ...words, ...SMALL, ...QUIET]);
  expect(ran.code, ran.stderr).toBe(0);
  return lastJson<RunFigures & Record<string, unknown>>(ran);
};

needs("zstandard").suite("a recording read by a reader that is not ours", () => {
  const first = place("first.mcap");
  let figures: RunFigures;
  beforeAll(async () => {
    figures = await record([first, "--inputs", "--frames", "20", "--set", "outputs.mcap.confidence=true"]);
  }, 60_000);

  test("the profile, the topics, and every frame in each", () => {
    const read = readIndependently(first);
    expect(read.profile).toBe("ros2");
    for (const ending of ["left/image_raw", "right/image_raw", "left/image_rect", "confidence/image_rect"])
      expect(findTopic(read, ending)).toMatchObject({ count: 20, width: 160, height: 120, pixels: "mono8" });
    expect(findTopic(read, "depth/image_rect")).toMatchObject({ count: 20, pixels: "16UC1", step: 320 });
    expect(findTopic(read, "depth/image_rect").stamps).toEqual(findTopic(read, "left/image_raw").stamps);
    expect(new Set(findTopic(read, "depth/image_rect").hashes).size).toBe(20);
    expect(figures.outputs.mcap).toMatchObject({ sent: 20, problem: null });
    // ROS 2 takes letters, digits and underscores, and a type's whole text.
    for (const topic of Object.keys(read.topics)) expect(topic).toMatch(/^(\/[A-Za-z_][A-Za-z0-9_]*)+$/);
    expect(read.schemas["sensor_msgs/msg/Image"]!.data).toMatch(
      /^std_msgs\/Header header\nuint32 height\n[\s\S]*\n={80}\nMSG: std_msgs\/Header\n[\s\S]*\n={80}\nMSG: builtin_interfaces\/Time\nint32 sec\nuint32 nanosec\n$/,
    );
  });

  test("points are a PointCloud2 that is in the frame that was asked for", async () => {
    const set = (...words: string[]) => words.flatMap((one) => ["--set", one]);
    const clouds = [];
    for (const frame of ["camera", "robot"]) {
      const file = place(`points-${frame}.mcap`);
      // Slow enough that both runs compute the same three frames, on a busy machine too.
      const slow = set("source.synthetic.rateHz=4");
      await record([
        file,
        "--frames",
        "3",
        ...slow,
        ...set("outputs.mcap.points=true", `points.frame=${frame}`),
      ]);
      const read = readIndependently(file);
      const topic = findTopic(read, "/points");
      expect(topic).toMatchObject({
        schema: "sensor_msgs/msg/PointCloud2",
        count: 3,
        width: 160,
        height: 120,
      });
      expect(topic.fields).toEqual(
        ["x", "y", "z", "rgb"].map((name, at) => ({ name, offset: 4 * at, type: 7, count: 1 })),
      );
      expect(topic).toMatchObject({ step: 16, dense: 0 });
      expect(topic.stamps).toEqual(findTopic(read, "depth/image_rect").stamps);
      expect(new Set(topic.hashes).size).toBe(3);
      expect(read.schemas["sensor_msgs/msg/PointCloud2"]!.data).toMatch(
        /\nMSG: sensor_msgs\/PointField\nstring name\n/,
      );
      clouds.push({ frame: topic.frame, places: topic.places! });
    }
    const [camera, robot] = clouds as [(typeof clouds)[0], (typeof clouds)[0]];
    expect([camera.frame, robot.frame]).toEqual(["left_rectified", "stereo_head"]);
    const baseline = Math.hypot(...sceneCalibration({ width: 160, height: 120 }).T);
    for (const [i, [x, y, z]] of camera.places.entries()) {
      const [ahead, left, up] = robot.places[i]!;
      expect(ahead).toBe(z);
      expect(left).toBeCloseTo(baseline / 2 - x!, 4);
      expect(up).toBeCloseTo(-y!, 6);
    }
  }, 60_000);

  test("cameras and calibration are those of the scene", () => {
    const read = readIndependently(first);
    const calibration = sceneCalibration({ width: 160, height: 120 });
    const left = findTopic(read, "left/camera_info");
    expect(left.k).toEqual([...calibration.left.K]);
    expect(left.d).toEqual([...calibration.left.distortion.coefficients]);
    const right = findTopic(read, "right/camera_info");
    const baseline = Math.hypot(...calibration.T);
    expect(right.p![3]! / -right.p![0]!).toBeCloseTo(baseline, 9);
    const transforms = findTopic(read, "/tf");
    expect(transforms).toMatchObject({ count: 20, schema: "tf2_msgs/msg/TFMessage", stamps: left.stamps });
    expect(transforms.transforms!.right!.place[0]).toBeCloseTo(baseline, 9);
    const attached = parseStereoCalibration(read.attachments["calibration.json"]!, "attached");
    expect(attached.calibration.hash).toBe(calibration.hash);
  });

  test("metrics, state, info and settings are JSON with a schema", () => {
    const read = readIndependently(first);
    for (const [ending, schema] of Object.entries({
      metrics: "Metrics",
      state: "State",
      info: "Info",
      settings: "Settings",
    })) {
      const topic = findTopic(read, `/${ending}`);
      expect(topic).toMatchObject({ schema: `depthwatt.${schema}`, encoding: "json" });
      const { data, encoding } = read.schemas[topic.schema]!;
      expect(encoding).toBe("jsonschema");
      expect(JSON.parse(data)).toMatchObject({ type: "object", title: topic.schema });
    }
    expect(findTopic(read, "/metrics").newest).toMatchObject({ frames: 20 });
    expect(findTopic(read, "/settings").newest).toMatchObject({ from: "start" });
  });

  test("computed again, depth is the same bit for bit", async () => {
    const again = place("again.mcap");
    const figures = await record([again, "--source", first, "--set", "source.mcap.speed=max"]);
    expect(figures).toMatchObject({ frames: 20, drops: {} });
    const [before, after] = [readIndependently(first), readIndependently(again)];
    for (const ending of ["depth/image_rect", "left/image_rect"]) {
      expect(findTopic(after, ending).hashes).toEqual(findTopic(before, ending).hashes);
      expect(findTopic(after, ending).stamps).toEqual(findTopic(before, ending).stamps);
    }
  });

  test("compressedDepth, without compression of chunks, in several files", async () => {
    const words = [
      "outputs.mcap.depth=compressedDepth",
      "outputs.mcap.compression=none",
      "outputs.mcap.rotateSeconds=1",
    ];
    const pattern = place("night-{time}.mcap");
    await record([pattern, "--frames", "60", "--rate", "20", ...words.flatMap((word) => ["--set", word])]);
    const files = readdirSync(folder)
      .filter((name) => name.startsWith("night-"))
      .sort();
    expect(files.length).toBeGreaterThanOrEqual(2);
    for (const name of files) expect(name).toMatch(/^night-\d{8}T\d{6}Z-000\d\.mcap$/);
    const reads = files.map((name) => readIndependently(place(name)));
    const depths = reads.map((read) => findTopic(read, "depth/image_rect/compressedDepth"));
    expect(depths.reduce((sum, { count }) => sum + count, 0)).toBe(60);
    expect(depths[0]).toMatchObject({
      schema: "sensor_msgs/msg/CompressedImage",
      pixels: "16UC1; compressedDepth rvl",
    });
    for (const read of reads) expect(read.attachments["calibration.json"]).toBeDefined();
  });
});

needs("zstandard").suite("a recording in colours", () => {
  test("left/image_rect and the captured images are rgb8, each pixel as it was captured", async () => {
    const [width, height] = [96, 64];
    const pixels = Buffer.from(
      Uint8Array.from({ length: 3 * width * height }, (_, i) => (i * 37 + (i >> 7)) & 255),
    );
    for (const side of ["left", "right"]) {
      mkdirSync(place(`colours/${side}`), { recursive: true });
      for (let index = 0; index < 3; index++)
        await sharp(pixels, { raw: { width, height, channels: 3 } })
          .png()
          .toFile(place(`colours/${side}/${index}.png`));
    }
    const words = ["--left", place("colours/left"), "--right", place("colours/right"), "--inputs", ...QUIET];
    const set = ["board=none", "outputs.mcap.leftColours=true"].flatMap((one) => ["--set", one]);
    const ran = await runProgram(["record", place("colours.mcap"), ...words, ...set]);
    expect(ran.code, ran.stderr).toBe(0);
    const read = readIndependently(place("colours.mcap"));
    const hash = createHash("sha256").update(pixels).digest("hex");
    for (const ending of ["left/image_rect", "left/image_raw", "right/image_raw"])
      expect(findTopic(read, ending), ending).toMatchObject({
        count: 3,
        width,
        height,
        pixels: "rgb8",
        step: 3 * width,
        hashes: [hash, hash, hash],
      });
  });
});

test("a file that is there is not written over", async () => {
  const { code, stderr } = await runProgram(["record", "package.json"]);
  expect(code).toBe(2);
  expect(stderr).toMatch(/expected a new file to record to/);
});

test("a run whose recording's name is taken says that it takes another", async () => {
  const taken = place("taken.mcap");
  writeFileSync(taken, "somebody's");
  const words = ["run", "--frames", "2", "--broker", "none", "--set", `outputs.mcap.file=${taken}`];
  const { code, stdout } = await runProgram([...words, ...SMALL, ...QUIET.slice(0, -1)]);
  expect(code).toBe(0);
  expect(stdout).toMatch(/^recording +next to .*taken\.mcap, which exists: NAME-0002 or higher$/m);
  expect(readFileSync(taken, "utf8")).toBe("somebody's");
  expect(existsSync(place("taken-0002.mcap"))).toBe(true);
});

test("a folder that is not there is reported before the first frame", async () => {
  const { code, stderr } = await runProgram(["record", place("none/out.mcap"), ...SMALL, ...QUIET]);
  expect(code).toBe(3);
  expect(stderr).toMatch(/cannot record to .*: expected a folder at/);
});

testThatMounts(
  "a disk of 2 MB that gets full: every frame is computed, frames that are not recorded are counted, the file is whole",
  async () => {
    const mount = place("small");
    mkdirSync(mount);
    const unmount = mountDisk(mount, "2m");
    try {
      const file = join(mount, "out.mcap");
      const words = [
        "record",
        file,
        "--frames",
        "90",
        "--rate",
        "45",
        "--set",
        "outputs.mcap.keepFreePercent=0",
      ];
      const noise = ["--set", "outputs.mcap.compression=none"];
      const ran = await runProgram([...words, ...noise, ...SMALL, ...QUIET]);
      const figures = lastJson<RunFigures>(ran);
      expect(figures.frames).toBe(90);
      const { sent } = figures.outputs.mcap as { sent: number };
      expect(sent).toBeGreaterThan(0);
      expect(sent + (figures.drops["mcap.diskFull"] ?? 0)).toBe(90);
      expect(ran.code).toBe(3);
      expect(ran.stderr).toMatch(/ENOSPC[\s\S]*Free some space/);
      if (needs("zstandard").met)
        expect(findTopic(readIndependently(file, true), "left/image_rect").count).toBe(sent);
    } finally {
      unmount();
    }
  },
);

test("frames that are lost when the recording closes are an error", () => {
  const words = ["record", place("limited.mcap"), "--frames", "2", ...SMALL, ...QUIET];
  // 10 KiB in a file. Two frames are written when the recording closes.
  const script = 'ulimit -f 10; exec "$0" "$@"';
  const { status, stdout, stderr } = spawnSync(
    "bash",
    ["-c", script, process.execPath, PROGRAM, ...words, "--set", "outputs.mcap.flushMs=1000"],
    { encoding: "utf8" },
  );
  expect(status, stderr).toBe(3);
  expect(stderr).toMatch(/^error: cannot write to .*limited\.mcap: EFBIG/m);
  expect(lastJson<RunFigures>({ code: status, stdout, stderr }).drops["mcap.writeFailed"]).toBe(2);
});

test("frames that a slow disk has no room for are dropped under the recording's name, and all are computed", async () => {
  // No frame of this size fits into what may wait.
  const large = [
    "source.synthetic.width=640",
    "source.synthetic.height=480",
    "outputs.mcap.maxPendingBytes=1048576",
  ];
  const set = [...large, "board=none"].flatMap((setting) => ["--set", setting]);
  const ran = await runProgram(["record", place("busy.mcap"), "--inputs", "--frames", "5", ...set, ...QUIET]);
  const figures = lastJson<RunFigures>(ran);
  expect(figures.frames).toBe(5);
  expect(figures.drops["mcap.diskBusy"]).toBe(5);
  expect(figures.outputs.mcap).toMatchObject({ sent: 0 });
});

test("--help, config and a run without a recording load none of its libraries", async () => {
  const loaded = async (words: string[]) => {
    const list = place(`loaded-${words[0]}`);
    const hooks = new URL("../doubles/loaded-modules.mjs", import.meta.url).href;
    const { code, stderr } = await runProgram(words, {
      NODE_OPTIONS: `--import ${hooks}`,
      LOADED_MODULES: list,
    });
    expect(code, stderr).toBe(0);
    return existsSync(list) ? [...new Set(readFileSync(list, "utf8").trim().split("\n"))] : [];
  };
  const libraries = [
    "@mcap/core",
    "@foxglove/cdr",
    "@foxglove/wasm-zstd",
    "@foxglove/wasm-lz4",
    "nats",
    "sharp",
  ];
  const found = await Promise.all([
    loaded(["--help"]),
    loaded(["config", "--print"]),
    loaded(["run", "--frames", "2", "--broker", "none", ...SMALL, ...QUIET]),
  ]);
  for (const packages of found) {
    expect(packages.filter((name) => libraries.includes(name))).toEqual([]);
  }
  // The witness sees them where they are needed.
  expect(await loaded(["record", place("witness.mcap"), "--frames", "2", ...SMALL, ...QUIET])).toContain(
    "@mcap/core",
  );
  expect(statSync(place("witness.mcap")).size).toBeGreaterThan(1000);
});
