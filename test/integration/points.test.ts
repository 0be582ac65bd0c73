// SPDX-License-Identifier: Apache-2.0
// Tests points end to end: PLY files that another program opens, the stream over a real broker, and the message without
// a calibration.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { encodePng, readGreyImage, readPfm } from "../../camera/index.js";
import { connectConsumer, type ReceivedFrame } from "../../clients/javascript/src/index.js";
import { writeBeside } from "../../core/index.js";
import { until } from "../doubles/frames.js";
import { startMosquitto } from "../doubles/mosquitto.js";
import { needs, PYTHON } from "../doubles/needs.js";
import { type Ran, runProgram, startProgram } from "../doubles/program.js";

const folder = mkdtempSync(join(tmpdir(), "depthwatt-points-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const place = (name: string) => join(folder, name);
const WIDTH = 160;
const HEIGHT = 120;
const [left, right] = [place("scene/left/000000.png"), place("scene/right/000000.png")];
const calibration = place("scene/calibration.json");
const QUIET = ["--set", "board=none", "--set", "match.numDisparities=32"];

interface Camera {
  focalPixels: number;
  baselineMetres: number;
  cx: number;
  cy: number;
}

beforeAll(async () => {
  const size = ["--width", String(WIDTH), "--height", String(HEIGHT)];
  const made = await runProgram(["scene", "--frames", "1", "--out", place("scene"), ...size]);
  expect(made.code, made.stderr).toBe(0);
}, 60_000);

async function match(out: string, ...more: string[]): Promise<Ran> {
  const ran = await runProgram([
    "match",
    left,
    right,
    "--calibration",
    calibration,
    ...QUIET,
    ...more,
    "-o",
    out,
  ]);
  expect(ran.code, ran.stderr).toBe(0);
  return ran;
}

/** Focal length, baseline and principal point, as Q of the calibrated, rectified pair has them. */
async function rectifiedCamera(): Promise<Camera> {
  const { rectify, parseStereoCalibration } = await import("../../camera/index.js");
  const { calibration: stereo } = parseStereoCalibration(
    readFileSync(calibration, "utf8"),
    "calibration.json",
  );
  const { focalPixels, baselineMetres, cx, cy } = rectify(stereo, { crop: 0 });
  return { focalPixels, baselineMetres, cx, cy };
}

const READ_PLY = `
import json, sys
from vtkmodules.vtkIOPLY import vtkPLYReader
reader = vtkPLYReader()
reader.SetFileName(sys.argv[1])
reader.Update()
cloud = reader.GetOutput()
colours = cloud.GetPointData().GetArray("RGB")
count = cloud.GetNumberOfPoints()
print(json.dumps({"places": [cloud.GetPoint(i) for i in range(count)], "colours": [colours.GetTuple(i) for i in range(count)]}))
`;

function readByVtk(file: string): { places: number[][]; colours: number[][] } {
  const text = execFileSync(PYTHON, ["-c", READ_PLY, file], { encoding: "utf8", maxBuffer: 1 << 28 });
  return JSON.parse(text) as { places: number[][]; colours: number[][] };
}

needs("vtk").suite("a PLY file opened by VTK", () => {
  test("is the disparity map in space, with the picture's grey", async () => {
    expect((await match(place("cloud.ply"))).stdout).toContain(`wrote ${place("cloud.ply")}\n`);
    await match(place("map.pfm"), "--set", "refine.minConfidence=0.001");
    const camera = await rectifiedCamera();
    const { data } = await readPfm(place("map.pfm"));
    const grey = await readGreyImage(left);
    const { places, colours } = readByVtk(place("cloud.ply"));
    const expected = [...data].flatMap((disparity, i) =>
      disparity > 0 && disparity < 1e6 ? [[disparity, i]] : [],
    );
    expect(places.length).toBe(expected.length);
    expect(places.length).toBeGreaterThan((WIDTH * HEIGHT) / 2);
    for (const [at, [disparity, i]] of expected.entries()) {
      const z = (camera.focalPixels * camera.baselineMetres) / disparity!;
      const [x, y] = [i! % WIDTH, Math.floor(i! / WIDTH)];
      const [px, py, pz] = places[at]!;
      expect(pz).toBeCloseTo(z, 3);
      expect(px! / pz!).toBeCloseTo((x - camera.cx) / camera.focalPixels, 5);
      expect(py! / pz!).toBeCloseTo((y - camera.cy) / camera.focalPixels, 5);
      // The scene is rectified already, so that the picture is the left image.
      expect(Math.abs(colours[at]![0]! - grey.data[i!]!)).toBeLessThanOrEqual(1);
      expect(new Set(colours[at]).size).toBe(1);
    }
    await match(place("filled.ply"), "--filled");
    await match(place("filled.pfm"));
    const filled = await readPfm(place("filled.pfm"));
    expect(readByVtk(place("filled.ply")).places.length).toBe(filled.data.filter((one) => one < 1e6).length);
    expect(filled.data.filter((one) => one < 1e6).length).toBeGreaterThan(places.length);
  });

  test("in the robot's frame, in millimetres and in colours", async () => {
    for (const [name, file] of Object.entries({ left, right })) {
      const { data, width, height } = await readGreyImage(file);
      const rgb = new Uint8Array(3 * width * height);
      for (let i = 0; i < data.length; ++i) rgb.set([data[i]!, 255 - data[i]!, data[i]! >> 1], 3 * i);
      await writeBeside(place(`${name}.png`), await encodePng({ data: rgb, width, height }));
    }
    const pair = [place("left.png"), place("right.png"), "--calibration", calibration, ...QUIET];
    const robot = ["points.frame=robot", "points.element=int16", "points.colour=rgb"].flatMap((one) => [
      "--set",
      one,
    ]);
    for (const words of [
      [...robot, "-o", place("robot.ply")],
      ["--set", "points.colour=rgb", "-o", place("camera.ply")],
    ]) {
      const ran = await runProgram(["match", ...pair, ...words]);
      expect(ran.code, ran.stderr).toBe(0);
    }
    const { baselineMetres } = await rectifiedCamera();
    const inRobot = readByVtk(place("robot.ply"));
    const inCamera = readByVtk(place("camera.ply"));
    const near = inCamera.places.flatMap(([x, y, z], i) =>
      [x!, y!, z!].every((value) => Math.abs(value) < 32) ? [[z!, baselineMetres / 2 - x!, -y!, i]] : [],
    );
    expect(near.length).toBeGreaterThan(1000);
    expect(inRobot.places.length).toBeGreaterThanOrEqual(near.length);
    const keys = new Set(inRobot.places.map((point) => point.join()));
    // Halves of a millimetre may fall to either side of what a float32 says.
    const missing = near.filter(
      ([x, y, z]) => ![x, y, z].every((v) => v !== undefined) || !nearKey(keys, [x!, y!, z!]),
    );
    expect(missing.length).toBe(0);
    for (const [red, green, blue] of inRobot.colours) {
      expect(Math.abs(255 - red! - green!)).toBeLessThanOrEqual(1);
      expect(Math.abs(blue! - red! / 2)).toBeLessThanOrEqual(1);
    }
  });
});

function nearKey(keys: ReadonlySet<string>, metres: readonly number[]): boolean {
  const [xs, ys, zs] = metres.map((value) => {
    const whole = Math.floor(1000 * value + 0.5);
    return [whole, whole - 1, whole + 1];
  });
  return xs!.some((x) => ys!.some((y) => zs!.some((z) => keys.has([x, y, z].join()))));
}

test("without a calibration there are no points, and that is reported", async () => {
  const one = await runProgram(["match", left, right, ...QUIET, "-o", place("none.ply")]);
  expect(one.code).toBe(2);
  expect(one.stderr).toMatch(
    /points need the focal length, the baseline and the principal point of a calibration/,
  );
  const run = [
    "run",
    "--left",
    place("scene/left"),
    "--right",
    place("scene/right"),
    "--frames",
    "1",
    ...QUIET,
  ];
  const quiet = ["--set", "outputs.viewer.enabled=false", "--set", "outputs.mqtt.points.enabled=true"];
  const two = await runProgram([...run, ...quiet]);
  expect(two.code, two.stderr).toBe(2);
  expect(two.stderr).toMatch(/points need .*\nhint: Give a calibration/);
  const grey = await runProgram([
    ...["match", left, right, "--calibration", calibration, ...QUIET],
    ...["--set", "points.colour=rgb", "-o", place("none.ply")],
  ]);
  expect(grey.stderr).toMatch(
    /points\.colour: expected grey, because the left image \(GREY\) has no colours, got rgb/,
  );
  const recorded = ["--set", "points.element=int16", "--set", "outputs.mcap.points=true"];
  const three = await runProgram(["record", place("x.mcap"), "--frames", "1", ...QUIET, ...recorded]);
  expect(three.code).toBe(2);
  expect(three.stderr).toMatch(
    /points\.element .*expected float32, because a recording has points in metres/,
  );
}, 60_000);

needs("mosquitto").suite("the stream of points through Mosquitto", () => {
  test.each([
    ["camera", "float32"],
    ["robot", "int16"],
  ] as const)(
    "%s, %s: one point for each pixel, as in the depth",
    async (frame, element) => {
      const mosquitto = await startMosquitto({});
      const consumer = connectConsumer(mosquitto.url, { streams: ["depth", "points"] });
      const frames: ReceivedFrame[] = [];
      consumer.on("frame", (one) => frames.push(one));
      const invalid: unknown[] = [];
      consumer.on("invalid", (one) => invalid.push(one));
      await consumer.firstAttempt;
      const settings = [
        ...["outputs.viewer.enabled=false", "outputs.mqtt.points.enabled=true"],
        ...[`points.frame=${frame}`, `points.element=${element}`, "outputs.mqtt.depth.encoding=raw"],
        ...["source.synthetic.width=160", "source.synthetic.height=120"],
      ].flatMap((one) => ["--set", one]);
      const words = [
        "run",
        "--broker",
        mosquitto.url,
        "--rate",
        "5",
        "--frames",
        "25",
        "--device",
        "p",
        "--json",
      ];
      const saver = startProgram([
        ...[
          "consume",
          mosquitto.url,
          "--stream",
          "points",
          "--frames",
          "1",
          "--timeout",
          "40",
          "--save",
          place(`saved-${frame}`),
        ],
      ]);
      try {
        const ran = await runProgram([...words, ...QUIET, ...settings]);
        expect(ran.code, ran.stderr).toBe(0);
        await until(
          "a pair of both streams",
          () => frames.filter(({ stream }) => stream === "points").length >= 4,
        );
        const cloud = frames.filter(({ stream }) => stream === "points").at(-1)!;
        const { header } = cloud;
        const map = frames.find(
          (one) => one.stream === "depth" && one.header.leftTimestampNs === header.leftTimestampNs,
        )!;
        expect(invalid).toEqual([]);
        expect(header).toMatchObject({
          encoding: "raw",
          width: WIDTH,
          height: HEIGHT,
          quantity: "pointMetres",
          element: element === "float32" ? "f32" : "i16",
          points: { frame, colour: "grey" },
          invalidRule: element === "float32" ? "nan" : "lowest",
        });
        expect(header.bodyBytes).toBe(WIDTH * HEIGHT * (element === "float32" ? 16 : 8));
        const { positions, colours } = cloud.points();
        const metres = map.values();
        let compared = 0;
        for (let i = 0; i < metres.length; ++i) {
          const ahead = positions[3 * i + (frame === "camera" ? 2 : 0)]!;
          if (Number.isNaN(ahead) || Number.isNaN(metres[i]!)) continue;
          expect(Math.abs(ahead - metres[i]!)).toBeLessThan(0.00051);
          compared++;
        }
        expect(compared).toBeGreaterThan(1000);
        expect(colours.length).toBe(3 * WIDTH * HEIGHT);
        expect(() => cloud.values()).toThrow(/points: use points\(\)/);
        expect(() => map.points()).toThrow(/expected points, found depth/);
        const saved = await saver.ended;
        expect(saved.code, saved.stderr).toBe(0);
        const file = readdirSync(place(`saved-${frame}`)).find((name) => name.endsWith(".ply"))!;
        expect(
          readFileSync(join(place(`saved-${frame}`), file))
            .subarray(0, 3)
            .toString(),
        ).toBe("ply");
      } finally {
        saver.child.kill();
        await consumer.close();
        await mosquitto.stop();
      }
    },
    60_000,
  );
});
