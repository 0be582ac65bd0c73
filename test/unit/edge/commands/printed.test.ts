// SPDX-License-Identifier: Apache-2.0
// Whole texts that commands print: cameras, boards, fleets, calibrations, streams, targets, energy.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { captureFormatFrom, type FramePair, type ListedDevice } from "../../../../camera/index.js";
import { DepthwattError } from "../../../../core/index.js";
import { loadBoards } from "../../../../edge/boards/index.js";
import { runCommandLine } from "../../../../edge/cli/program.js";
import { printBoards } from "../../../../edge/commands/boards/command.js";
import { guidanceLine, isLive } from "../../../../edge/commands/calibrate/live-run.js";
import { printResult } from "../../../../edge/commands/calibrate/print-result.js";
import { print, take } from "../../../../edge/commands/check-calibration/command.js";
import { report as printConsumed } from "../../../../edge/commands/consume/command.js";
import { show } from "../../../../edge/commands/fleet/command.js";
import type { FleetDevice } from "../../../../edge/commands/fleet/fleet.js";
import { printDevices } from "../../../../edge/commands/list-devices/command.js";
import { measuredArea, print as printMeasured } from "../../../../edge/commands/measure/command.js";
import { buildBoardTree, REFERENCE_BOARDS } from "../../../doubles/board-trees.js";
import { ScriptedSource } from "../../../doubles/run-script.js";

/** Returns the lines that `action` writes to a stream. */
async function linesOf(stream: NodeJS.WriteStream, action: () => unknown): Promise<string[]> {
  let written = "";
  const write = vi.spyOn(stream, "write").mockImplementation((text) => {
    written += text;
    return true;
  });
  try {
    await action();
  } finally {
    write.mockRestore();
  }
  return written.split("\n").slice(0, -1);
}
const printed = (action: () => unknown) => linesOf(process.stdout, action);

const size = (
  [minWidth, minHeight]: [number, number],
  [maxWidth, maxHeight] = [minWidth, minHeight],
  ratesHz: number[] = [],
  rateRange = false,
) => ({ minWidth, maxWidth, stepWidth: 1, minHeight, maxHeight, stepHeight: 1, ratesHz, rateRange });
const format = (fourcc: string, ...sizes: ReturnType<typeof size>[]) => ({
  fourcc,
  description: fourcc,
  compressed: false,
  emulated: false,
  sizes,
});
const control = (name: string, kind: "integer" | "boolean" | "menu" | "button", more: object = {}) => ({
  id: 1,
  name,
  kind,
  wide: false,
  readable: true,
  writable: true,
  inactive: false,
  minimum: -3,
  maximum: 9,
  step: 1,
  initial: 0,
  menu: [],
  ...more,
});
const CAMERA: ListedDevice = {
  path: "/dev/video0",
  description: {
    path: "/dev/video0",
    driver: "uvcvideo",
    card: "Porch camera",
    bus: "usb-1",
    captures: true,
    streams: true,
    multiPlanar: false,
    formats: [
      format(
        "GREY",
        size([640, 480], undefined, [30, 14.985]),
        size([32, 480], [640, 480], [60, 5, 20.004], true),
        size([640, 24], [640, 480]),
      ),
      format("Y16 "),
      format("XYZ9", size([8, 8])),
    ],
    controls: [
      control("White Balance, Automatic", "boolean"),
      control("Power Line", "menu", {
        menu: [
          { value: 0, name: "off" },
          { value: 2, name: "60 Hz" },
        ],
      }),
      control("Mode", "menu", { menu: [{ value: 1, name: "day" }] }),
      control("Reset", "button", { writable: false, inactive: true }),
      control("Gain", "integer", { inactive: true }),
      control("Focus", "integer", { step: 2, writable: false }),
    ],
  },
};
const OTHERS: ListedDevice[] = [
  { path: "/dev/video1", description: { ...CAMERA.description!, captures: false } },
  {
    path: "/dev/video2",
    problem: new DepthwattError("SOURCE_UNREADABLE", "it is busy", { hint: "close it" }),
  },
  { path: "/dev/video3", problem: "no answer" },
  {
    path: "/dev/video4",
    description: { ...CAMERA.description!, multiPlanar: true, formats: [format("GREY")], controls: [] },
  },
];

test("list-devices: formats, sizes, rates and, if asked, controls", async () => {
  const text = await printed(() => printDevices([CAMERA, ...OTHERS], {}));
  const compact = (lines: readonly string[]) => lines.map((line) => line.replace(/(?<=\S) {2,}/g, "  "));
  expect(captureFormatFrom("Y16 ")).toBe("Y16");
  expect(compact(text)).toEqual([
    "/dev/video0  Porch camera  (uvcvideo, usb-1)",
    "  GREY  GREY  640x480  30, 14.98 Hz",
    `${" ".repeat(14)}32x480 to 640x480  5 to 60 Hz`,
    `${" ".repeat(14)}640x24 to 640x480`,
    "  Y16  Y16  any",
    "  and 1 formats that depthwatt does not read (--all shows them)",
    "/dev/video2  it is busy",
    "  hint: close it",
    "/dev/video3  no answer",
    "/dev/video4  Porch camera  (uvcvideo, usb-1, multi-planar)",
    "  GREY  GREY  any",
  ]);
  expect(compact(await printed(() => printDevices([CAMERA], { all: true }))).slice(4)).toEqual([
    "  Y16  Y16  any",
    "  XYZ9  not read by depthwatt  8x8",
    "  white_balance_automatic  0 or 1",
    "  power_line  0 off, 2 60 Hz",
    "  mode  1 day",
    "  reset  a button  read only, inactive",
    "  gain  -3 to 9  inactive",
    "  focus  -3 to 9 in steps of 2  read only",
  ]);
  const none = () => printDevices([OTHERS[0]!], {});
  expect(await printed(none)).toEqual([]);
  expect(await linesOf(process.stderr, none)).toEqual(["no cameras: there is no /dev/video* that captures"]);
});

test("list-devices --json: what each camera says, or why it cannot be asked", async () => {
  const [line] = await printed(() => printDevices([CAMERA, ...OTHERS], { json: true }));
  const { cameras, readable } = JSON.parse(line!);
  expect(readable).toContain("GREY");
  const { formats, ...rest } = CAMERA.description!;
  expect(cameras.slice(0, 3)).toEqual([
    {
      available: true,
      ...rest,
      formats: formats.map((one, i) => ({ ...one, format: ["GREY", "Y16", null][i] })),
    },
    { available: false, path: "/dev/video2", reason: "it is busy" },
    { available: false, path: "/dev/video3", reason: "no answer" },
  ]);
  expect(cameras).toHaveLength(4);
});

test("boards: the detected board with its sensors, predictions and advice, and every known one", async () => {
  const { nano } = REFERENCE_BOARDS;
  using tree = buildBoardTree(nano!);
  const text = await printed(() => printBoards({}, { root: tree.root, architecture: "arm64" }));
  const [head, rest] = [text.slice(0, 6), text.slice(6)];
  expect(head).toEqual([
    "Board: NVIDIA Jetson Nano (4 GB)",
    "  because  the device tree says nvidia,p3450-0000",
    "  model    NVIDIA Jetson Nano Developer Kit",
    "  L4T      32.7.4 (JetPack 4.6.1 to 4.6.6, CUDA 10.2)",
    "  ina      POM_5V_IN, POM_5V_GPU, POM_5V_CPU",
    "           total: POM_5V_IN",
  ]);
  const after = rest.slice(rest.indexOf("  predicted, for each match.sgm.search:"));
  expect(after.slice(0, 9)).toEqual([
    "  predicted, for each match.sgm.search:",
    "    640x480   128 disparities  full: 23.2 fps, up to 10 W, 0.431 J  coarseToFine: 44.7 fps, up to 10 W, 0.224 J",
    "    1280x720  128 disparities  full: 7.73 fps, up to 10 W, 1.29 J   coarseToFine: 14.8 fps, up to 10 W, 0.676 J",
    "    1280x720  256 disparities  full: 4.02 fps, up to 10 W, 2.49 J   coarseToFine: 15.8 fps, up to 10 W, 0.633 J",
    "  expected:",
    "    MAXN  10 W mode  640x480  64 disparities  4 paths  30 fps  predicted",
    "    5W    5 W mode   320x240  64 disparities  4 paths  90 fps  predicted",
    "",
    "board            GPU     SMs  GB/s   total power",
  ]);
  expect(after.slice(9, -1)).toHaveLength(loadBoards().length);
  expect(after).toContain(
    "agx-orin-32gb    sm_87   14   204.8  VDD_GPU_SOC + VDD_CPU_CV + VIN_SYS_5V0 + VDDQ_VDD2_1V8AO  NVIDIA Jetson AGX Orin 32GB",
  );
  expect(after).toContain(
    "generic-nvml     native  ?    ?      ?                                                         computer with an NVIDIA GPU",
  );
  expect(after.at(-1)).toContain("? = not known");
});

test("boards: a guess, a release that is not in the table, a board without a limit and a machine without a board", async () => {
  const { tx2 } = REFERENCE_BOARDS;
  using known = buildBoardTree(tx2!);
  const text = await printed(() => printBoards({}, { root: known.root, architecture: "arm64" }));
  expect(text).toContain("    640x480   128 disparities  full: 60.1 fps  coarseToFine: 117 fps");
  expect(text).toContain("    MAXN             1024x440  128 disparities  4 paths  35.1 fps  published");
  using guessed = buildBoardTree({
    ...tx2!,
    compatible: ["someone,board", "nvidia,tegra186"],
    release: tx2!.release.replace(/R32 .*?, REVISION: [\d.]+/, "R99 (release), REVISION: 1.2"),
  });
  const guess = await printed(() => printBoards({}, { root: guessed.root, architecture: "arm64" }));
  expect(guess.slice(1, 4)).toEqual([
    '  because  only the chip nvidia,tegra186 and the model "quill" is known (a guess)',
    "  model    quill",
    expect.stringMatching(/^ {2}L4T {6}99\.1\.2: L4T 99 is not known/),
  ]);
  using none = buildBoardTree({ ...tx2!, compatible: ["someone,board"], files: {} });
  const unknown = await printed(() => printBoards({}, { root: none.root, architecture: "arm64" }));
  expect(unknown[0]).toBe("Board: unknown");
  expect(unknown.some((line) => /predicted|expected:/.test(line))).toBe(false);
});

test("boards --json: the evidence, sensors and predictions", async () => {
  using tree = buildBoardTree(REFERENCE_BOARDS.nano!);
  const [line] = await printed(() => printBoards({ json: true }, { root: tree.root, architecture: "arm64" }));
  const { detected, boards } = JSON.parse(line!);
  expect(detected).toMatchObject({
    name: "nano",
    title: "NVIDIA Jetson Nano (4 GB)",
    level: "board",
    reason: "the device tree says nvidia,p3450-0000",
    model: "NVIDIA Jetson Nano Developer Kit",
    compatible: ["nvidia,p3450-0000", "nvidia,jetson-nano", "nvidia,tegra210"],
    l4t: { version: "32.7.4" },
    modes: ["MAXN", "5W"],
  });
  const [ina, rapl] = detected.sensors;
  expect(ina).toMatchObject({ name: "ina", available: true, total: { rails: ["POM_5V_IN"] } });
  expect(ina.rails[0]).toEqual({
    label: "POM_5V_IN",
    kind: "power",
    sourcePath: expect.stringContaining(tree.root),
    updateIntervalMs: null,
    step: null,
  });
  expect(rapl).toMatchObject({ name: "rapl", available: false });
  const of = (name: string) => boards.find((board: { name: string }) => board.name === name);
  const unknown = { available: false, reason: "the power limit of the module is not known" };
  expect(of("nano").predicted[0]).toEqual({
    width: 640,
    height: 480,
    numDisparities: 128,
    full: { fps: 23.2, maxWatts: 10, maxJoulesPerFrame: 0.431 },
    coarseToFine: { fps: 44.7, maxWatts: 10, maxJoulesPerFrame: 0.224 },
  });
  expect(of("tx2").predicted[0].full).toEqual({ fps: 60.1, maxWatts: unknown, maxJoulesPerFrame: unknown });
  expect(of("generic-x86").predicted).toEqual([]);
  using none = buildBoardTree({ ...REFERENCE_BOARDS.nano!, compatible: ["someone,board"] });
  const [other] = await printed(() =>
    printBoards({ json: true }, { root: none.root, architecture: "arm64" }),
  );
  expect(JSON.parse(other!).detected).toMatchObject({ name: null, title: null });
});

const device = (more: Partial<FleetDevice>): FleetDevice => ({
  device: "a",
  state: "online",
  reason: "runs",
  version: null,
  board: null,
  backend: null,
  algorithm: null,
  fps: null,
  watts: null,
  powerReason: null,
  fpsPerWatt: null,
  joulesPerFrame: null,
  temperatureCelsius: null,
  metricsAgeSeconds: null,
  warnings: [],
  ...more,
});

test("fleet: the table, the count of further messages, and JSON", async () => {
  const devices = [
    device({ state: "unknown" }),
    device({
      device: "porch\u001b",
      fps: 29.97,
      watts: 8.25,
      fpsPerWatt: 3.633,
      version: "1.2.3",
      board: "nano",
      backend: "cuda",
      warnings: ["no frames", "one camera is late"],
    }),
  ];
  const fleet = { devices: () => devices, overlooked: 0 };
  expect(await printed(() => show(fleet, false))).toEqual([
    "DEVICE       STATE    FPS   W    FPS/W  VERSION  BOARD  BACKEND  WARNINGS",
    "a            unknown  -     -    -      -        -      -",
    "porch\\u001b  online   30.0  8.3  3.63   1.2.3    nano   cuda     no frames; one camera is late",
    "2 devices: 1 unknown, 1 online; 30.0 fps together, 8.3 W of 1",
  ]);
  expect((await printed(() => show({ ...fleet, overlooked: 3 }, undefined))).at(-1)).toBe(
    "messages of further devices: 3",
  );
  const [line] = await printed(() => show({ ...fleet, overlooked: 3 }, true));
  expect(JSON.parse(line!)).toEqual({ devices, overlooked: 3 });
});

const FIGURES = {
  rows: { mean: -0.001, p95: 1.256, overWidth: 0.5, overHeight: -0.25 },
  rotationDegrees: {
    total: 0.2,
    pitch: 0.1234,
    yaw: { available: false as const, reason: "too uncertain" },
    roll: -0.0001,
  },
  deviationDegrees: { pitch: 0.0123, yaw: { available: false as const, reason: "unknown" }, roll: 0.002 },
  scalePercent: 0.0126,
  focalPixels: 1.25,
  features: 321,
  residualRows: 0.456,
};

test("check-calibration: the alignment and the verdict", async () => {
  expect(await printed(() => print({ pairs: 1, figures: FIGURES, problem: undefined }, true))).toEqual([
    "rows   0.00 in the mean, 95 % within 1.26; over the width 0.50, over the height -0.25",
    "pitch  0.123 degrees +- 0.012",
    "yaw    unavailable: too uncertain",
    "roll   0.000 degrees +- 0.002",
    "scale  0.013 %, focal lengths differ by 1.3 px",
    "from   321 features, 0.46 rows about the fit",
    "ok     the images lie as the calibration says (1 pair)",
  ]);
  const problem = { code: "RIG_MOVED" as const, text: "it is turned", hint: "calibrate" };
  expect(await printed(() => print({ pairs: 2, figures: undefined, problem }, false))).toEqual([
    "BAD    RIG_MOVED: it is turned",
    "hint   calibrate",
  ]);
  expect(await printed(() => print({ pairs: 2, figures: undefined, problem: undefined }, false))).toEqual([
    "ok     the images lie as rectified images should (2 pairs)",
  ]);
});

test("check-calibration takes as many pairs as asked for, or those until the end, and releases each", async () => {
  const image = new Uint8Array(16);
  const open = () => new ScriptedSource(0, { width: 4, height: 4 }, () => ({ left: image, right: image }));
  const looked: FramePair[] = [];
  const source = open();
  const taken = take(source, 2, (pair) => void looked.push(pair));
  let isDone = false;
  void taken.then(() => {
    isDone = true;
  });
  source.deliver();
  await Promise.resolve();
  await Promise.resolve();
  expect(isDone).toBe(false);
  source.deliver();
  source.deliver();
  await taken;
  expect([looked.length, source.released]).toEqual([2, 3]);
  const short = open();
  const ended = take(short, 5, (pair) => void looked.push(pair));
  short.deliver();
  const notes = await linesOf(process.stderr, () => {
    short.events!.onDegraded("one camera is late");
    short.events!.onDegraded(undefined);
    short.events!.onWarning?.("a warning");
    short.events!.onEnd();
  });
  await ended;
  expect(notes).toEqual(["warning: one camera is late", "a warning"]);
  expect(looked).toHaveLength(3);
  const failing = open();
  const failed = take(failing, 5, () => {
    throw new Error("of the look");
  });
  failing.deliver();
  await expect(failed).rejects.toThrow("of the look");
  expect(failing.released).toBe(1);
});

const RESULT = {
  calibration: {
    left: { K: [400.126, 0, 319.46, 0, 401.5, 239.54, 0, 0, 1] },
    right: { K: [398, 0, 320, 0, 399, 240, 0, 0, 1] },
  },
  board: { pattern: "chessboard", columns: 9, rows: 6, squareMetres: 0.025 },
  pairs: [
    { name: "pair 1", used: true },
    { name: "pair 2", used: false, reason: "blurred" },
    { name: "pair 3", used: true },
  ],
  pairsUsed: 2,
  rmsPixels: 0.2126,
  leftRmsPixels: 0.2,
  rightRmsPixels: 0.2254,
  epipolarRmsPixels: 0.1555,
  baselineMetres: 0.12,
  deviations: {
    leftFocalPixels: 0.504,
    rightFocalPixels: 0.6,
    baselineMetres: 0.0001,
    rotationDegrees: 0.01234,
  },
  others: [
    {
      name: "top",
      images: 15,
      rmsPixels: 0.0523,
      deviations: { positionMetres: 0.0002, rotationDegrees: 0.02 },
    },
    { name: "rear", images: 3, rmsPixels: 0.1 },
  ],
  depthErrors: [
    { depthMetres: 1, totalMetres: 0.0041 },
    { depthMetres: 3, totalMetres: 0.037 },
  ],
  matchingErrorPixels: 0.25,
  warnings: ["few tilts"],
};

test("calibrate: the summary with every deviation, and without", async () => {
  const show = (result: object, files: string[]) =>
    printed(() => void linesOf(process.stderr, () => printResult(result as never, files)));
  expect(await show(RESULT, ["calibration.json", "left.yaml"])).toEqual([
    "left out  pair 2: blurred",
    "pairs    2 of 3 used, board 9x6 inner corners",
    "error    0.213 px rms (left 0.200, right 0.225), rows 0.155 px apart",
    "left     focal length 400.13 x 401.50 +- 0.50 px (0.13 %), centre 319.5 239.5",
    "right    focal length 398.00 x 399.00 +- 0.60 px (0.15 %), centre 320.0 240.0",
    "rig      baseline 12.0 cm +- 0.100 mm, rotation +- 0.0123 degrees",
    "top      0.052 px rms in 15 images, position +- 0.200 mm, rotation +- 0.0200 degrees",
    "rear     0.100 px rms in 3 images",
    "depth    expected error 4.10 mm at 1 m, 3.70 cm at 3 m (matching 0.25 px)",
    "written  calibration.json",
    "         left.yaml",
  ]);
  const bare = { ...RESULT, deviations: undefined, epipolarRmsPixels: undefined, others: [], pairs: [] };
  expect(await show(bare, [])).toEqual([
    "pairs  2 of 0 used, board 9x6 inner corners",
    "error  0.213 px rms (left 0.200, right 0.225), rows unknown px apart",
    "left   focal length 400.13 x 401.50, centre 319.5 239.5",
    "right  focal length 398.00 x 399.00, centre 320.0 240.0",
    "rig    baseline 12.0 cm",
    "depth  expected error 4.10 mm at 1 m, 3.70 cm at 3 m (matching 0.25 px)",
  ]);
  expect(
    await linesOf(process.stderr, () => printed(() => printResult({ ...RESULT, others: [] } as never, []))),
  ).toEqual(["warning: few tilts"]);
});

test("calibrate: the line for the person who holds the board, and which flags name cameras", () => {
  const progress = {
    share: 0.629,
    pairs: 9,
    wantedPairs: 15,
    covered: { left: 0.759, right: 0.7 },
    tilts: { left: 3, right: 1, upper: 0, lower: 2 },
  };
  const look = { text: "hold it still", progress, result: RESULT, trouble: "the cameras are exchanged" };
  expect(guidanceLine(look as never)).toBe(
    "62 % | 9/15 pairs | seen in 75 % and 70 % of the images | tilts 5/8 | problem: the cameras are exchanged | " +
      "hold it still | depth error 4.10 mm at 1 m, 3.70 cm at 3 m",
  );
  expect(guidanceLine({ text: "show the board" } as never)).toBe("show the board");
  for (const [flags, expected] of [
    [{}, false],
    [{ live: true }, true],
    [{ left: "/dev/video0" }, true],
    [{ left: "a", right: "/dev/video2" }, true],
    [{ sideBySide: "/dev/video2" }, true],
    [{ left: "a.png", right: "b.png", sideBySide: "c.png" }, false],
  ] as const)
    expect(isLive(flags as never), JSON.stringify(flags)).toBe(expected);
});

test("consume: the summary of a stream", async () => {
  const summary = {
    frames: 3,
    seconds: 1.5,
    fps: 29.97,
    latencyMs: { p50: 4.04, p95: 7.56, p99: 9 },
    gaps: 2,
    crcErrors: 1,
    invalid: 4,
    publishers: 1,
    bytes: 1000,
    energy: { frames: 3, joules: 0.9, seconds: 0.1, joulesPerFrame: 0.3, joulesUncertainty: 0.01 },
  };
  expect(await printed(() => printConsumed(summary))).toEqual([
    "3 frames  30.0 fps  latency 4.0 ms (p95 7.6)  lost 2  crc errors 1  refused 4",
    "1.5 s, 1000 bytes, 333 bytes a frame",
    "0.3 J a frame (one frame +- 0.01 J), 0.9 J in 0.1 s",
  ]);
  const unknown = (reason: string) => ({ available: false as const, reason });
  const none = {
    ...summary,
    frames: 0,
    bytes: 7,
    invalid: 0,
    fps: unknown("a"),
    latencyMs: unknown("no clock"),
  };
  const energy = { ...summary.energy, joulesUncertainty: unknown("b") };
  expect(await printed(() => printConsumed({ ...none, energy }))).toEqual([
    "0 frames  - fps  latency -  lost 2  crc errors 1",
    "1.5 s, 7 bytes, 0 bytes a frame",
    "0.3 J a frame (one frame of unknown uncertainty), 0.9 J in 0.1 s",
    "latency unknown: no clock",
  ]);
  const text = await printed(() =>
    printConsumed({ ...none, frames: 1, invalid: 1, energy: unknown("no sensor") }),
  );
  expect(text).toEqual([
    "1 frames  - fps  latency -  lost 2  crc errors 1  refused 1",
    "1.5 s, 7 bytes, 7 bytes a frame",
    "energy unknown: no sensor",
    "latency unknown: no clock",
  ]);
});

test("measure: the figures of a target, and the area that is measured", async () => {
  const area = { x: 3, y: 4, width: 50, height: 40 };
  const noise = { millimetres: 1.234, percent: 0.126, subpixels: 0.0456 };
  const unknown = { available: false as const, reason: "one frame" };
  const figures = {
    frames: 30,
    fillRatePercent: 97.66,
    distanceMetres: 1.50016,
    angleDegrees: 2.25,
    error: { millimetres: -3.456, percent: -0.234 },
    spatialNoise: noise,
    temporalNoise: unknown,
  };
  expect(await printed(() => printMeasured({ figures, area }))).toEqual([
    "area            50x40 at 3, 4, 30 frames",
    "fill rate       97.7 % matched",
    "distance        1.5002 m",
    "angle           2.3 degrees",
    "error           -3.46 mm, -0.23 %",
    "spatial noise   1.23 mm, 0.13 %, 0.046 px",
    "temporal noise  unavailable: one frame",
  ]);
  const other = { ...figures, error: unknown, temporalNoise: noise };
  expect((await printed(() => printMeasured({ figures: other, area }))).slice(4)).toEqual([
    "error           unavailable: one frame",
    "spatial noise   1.23 mm, 0.13 %, 0.046 px",
    "temporal noise  1.23 mm, 0.13 %, 0.046 px",
  ]);
  const region = (x: number, y: number, width: number, height: number) =>
    measuredArea({ region: { x, y, width, height } } as never, 101, 60);
  expect(region(0, 0, 0, 0)).toEqual({ x: 30, y: 18, width: 40, height: 24 });
  expect(region(9, 8, 0, 5)).toEqual(region(0, 0, 0, 0));
  expect(region(9, 8, 5, 0)).toEqual(region(0, 0, 0, 0));
  expect(region(9, 8, 1, 1)).toEqual({ x: 9, y: 8, width: 1, height: 1 });
  expect(region(90, 50, 20, 20)).toEqual({ x: 90, y: 50, width: 11, height: 10 });
});

test("energy: the table, bars and totals of a log; entries since a moment; a plot", async () => {
  const folder = mkdtempSync(join(tmpdir(), "depthwatt-energy-text-"));
  try {
    const entry = (minute: number, more: object = {}) =>
      JSON.stringify({
        time: new Date(Date.UTC(2026, 0, 31, 8, minute)).toISOString(),
        seconds: 60,
        asleepSeconds: 0,
        frames: 1800,
        fps: 30,
        matcher: "sgm",
        watts: 6,
        wattsUncertainty: 0.05,
        wattsIdle: 2.5,
        joules: 360,
        joulesPerFrame: 0.2,
        fpsPerWatt: 5,
        rails: { IN: 6 },
        mode: "15W",
        gpuMegahertz: 600,
        emcMegahertz: 2133,
        cpuMegahertz: 1500,
        temperatureCelsius: 48.6,
        throttled: false,
        ...more,
      });
    const unknown = { available: false, reason: "no sensor" };
    const write = (name: string, ...lines: string[]) => {
      writeFileSync(join(folder, name), `${lines.join("\n")}\n`);
      return join(folder, name);
    };
    const run = async (...words: string[]) => {
      let text: string[] = [];
      const notes = await linesOf(process.stderr, async () => {
        text = await printed(() => runCommandLine(["energy", ...words]));
      });
      return { text, notes };
    };
    const second = { watts: 3, joules: 180, joulesPerFrame: 0.1, matcher: "cbca", throttled: true };
    const file = write("energy.jsonl", entry(1), "{", entry(2, second));
    const plot = join(folder, "plot.svg");
    const { text, notes } = await run(file, "--plot", plot);
    expect(notes).toEqual(["1 lines are not entries and were skipped"]);
    expect(text).toEqual([
      "until (UTC)          fps   W     J/frame  fps/W  °C  throttled  mode",
      "2026-01-31 08:01:00  30.0  6.00  0.2000   5.00   49  no         15W",
      "2026-01-31 08:02:00  30.0  3.00  0.1000   10.00  49  yes        15W",
      "",
      "W        █▅",
      "J/frame  █▅",
      "",
      "2 entries, 3600 frames in 120 s, 540.0 J, 0.1500 J a frame",
      "matcher: sgm; cbca",
    ]);
    expect(readFileSync(plot, "utf8")).toContain("<svg");
    const since = await run(file, "--since", "2026-01-31T08:02:00Z", "--json");
    const { total, records } = JSON.parse(since.text[0]!);
    expect([total.frames, records.length, records[0].time]).toEqual([1800, 1, "2026-01-31T08:02:00.000Z"]);
    const bare = { watts: unknown, joules: unknown, joulesPerFrame: unknown, fpsPerWatt: unknown };
    const without = write("bare.jsonl", entry(1, bare));
    expect((await run(without)).text.slice(1)).toEqual([
      "2026-01-31 08:01:00  30.0  -  -        -      49  no         15W",
      "",
      "1 entries, 1800 frames in 60 s, joules unavailable",
      "matcher: sgm",
    ]);
    const errors = async (...words: string[]) => (await run(...words)).notes.join("\n");
    expect(await errors(without, "--plot", plot)).toContain("expected watts to plot");
    expect(await errors(file, "--plot", folder)).toContain(`cannot write ${folder}`);
    const late = await errors(file, "--since", "2026-02-01T08:00:00Z");
    expect(late).toContain(`found none in ${file}`);
    expect(late).toContain("Give an earlier --since.");
    expect(await errors(write("empty.jsonl", "{"))).toContain("log.energyIntervalSeconds");
  } finally {
    rmSync(folder, { recursive: true });
  }
});
