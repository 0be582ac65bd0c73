// SPDX-License-Identifier: Apache-2.0
// depthwatt calibrate as its users run it: what it writes, what it refuses and with which sentence.
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import sharp from "sharp";
import { afterAll, beforeAll, expect, test } from "vitest";
import { rotationMatrix } from "../../camera/calibration/matrix.js";
import {
  type Board,
  type CalibrationResult,
  encodePng,
  loadStereoCalibration,
  rectify,
  registrationView,
  type StereoCalibration,
} from "../../camera/index.js";
import { boardPicture } from "../doubles/board-pictures.js";
import { createPoses, createRig } from "../doubles/calibration-rig.js";
import { fillDisk, mountDisk, testThatMounts } from "../doubles/mounts.js";
import { lastJson, runProgram } from "../doubles/program.js";
import { Random } from "../doubles/random.js";

const SIZE = { width: 400, height: 300 };
const BOARD: Board = { pattern: "chessboard", columns: 8, rows: 5, squareMetres: 0.03 };
const PAIRS = 12;
type Side = "left" | "right";
type Picture = { data: Uint8Array; width: number; height: number };

let folder: string;
let rig: StereoCalibration;
const pictures: Record<Side, Picture[]> = { left: [], right: [] };
/** The right camera's image of pair 2 when the board continues moving: 6 and 5 mm further. */
let movedOn: Picture;

/** A folder with left/ and right/, each picture as `change` makes it. */
async function stills(
  name: string,
  change: (side: Side, at: number) => Promise<Uint8Array> | Uint8Array | undefined,
): Promise<string> {
  const place = join(folder, name);
  for (const side of ["left", "right"] as const) {
    mkdirSync(join(place, side), { recursive: true });
    for (let at = 0; at < PAIRS; at++) {
      const bytes = await change(side, at);
      if (bytes !== undefined) writeFileSync(join(place, side, `${String(at).padStart(2, "0")}.png`), bytes);
    }
  }
  return place;
}

testThatMounts("a full disk: exit 3, the cause, and no file or half of one", async () => {
  const disk = join(folder, "disk");
  mkdirSync(disk);
  const unmount = mountDisk(disk, "64k");
  try {
    fillDisk(disk);
    const sides = ["--left", join(folder, "good/left"), "--right", join(folder, "good/right")];
    for (const output of [
      ["-o", join(disk, "rig.json")],
      ["-o", join(folder, "full.json"), "--report", join(disk, "report.html")],
    ]) {
      const { code, stderr } = await runProgram(["calibrate", ...sides, "--square", "30mm", ...output]);
      expect(code, stderr).toBe(3);
      expect(stderr).toMatch(/^error: .*(ENOSPC|no space)/im);
      expect(readdirSync(disk)).toEqual(["ballast"]);
    }
  } finally {
    unmount();
  }
});

const plain = (side: Side, at: number) => encodePng(pictures[side][at]!);
const reworked = (
  side: Side,
  at: number,
  work: (image: ReturnType<typeof sharp>) => ReturnType<typeof sharp>,
) => {
  const { data, width, height } = pictures[side][at]!;
  return work(sharp(data, { raw: { width, height, channels: 1 } }))
    .png()
    .toBuffer();
};

function calibrate(place: string, ...words: string[]) {
  const sides = ["--left", join(place, "left"), "--right", join(place, "right")];
  return runProgram(["calibrate", ...sides, "-o", join(place, "rig.json"), ...words]);
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "depthwatt-calibrate-"));
  rig = createRig("radtan", SIZE);
  const random = new Random(9);
  for (const pose of createPoses(rig, BOARD, PAIRS, random, 0.6)) {
    for (const side of ["left", "right"] as const)
      pictures[side].push(boardPicture(rig, BOARD, pose, side, { noise: 2, random }));
  }
  const [pose] = createPoses(rig, BOARD, PAIRS, new Random(9), 0.6).slice(2);
  const t = [pose!.t[0] + 0.006, pose!.t[1] + 0.005, pose!.t[2]] as const;
  movedOn = boardPicture(rig, BOARD, { ...pose!, t }, "right", { noise: 2, random });
  await stills("good", plain);
}, 120_000);

afterAll(() => rmSync(folder, { recursive: true, force: true }));

test("all forms are written, read back as the same numbers, and nothing is overwritten without --force", async () => {
  const place = await stills("forms", plain);
  const forms = {
    own: join(place, "rig.json"),
    opencv: join(place, "rig.yaml"),
    ros: join(place, "ros"),
    kalibr: join(place, "camchain.yaml"),
  };
  const words = [
    "--square",
    "30mm",
    "--no-k3",
    "--opencv",
    forms.opencv,
    "--ros",
    forms.ros,
    "--kalibr",
    forms.kalibr,
  ];
  const report = join(place, "report.html");
  const first = await calibrate(place, ...words, "--report", report, "--json");
  expect(first.code, first.stderr).toBe(0);
  const reported = lastJson<{ pairsUsed: number; rmsPixels: number; board: Board; files: string[] }>(first);
  expect(reported.pairsUsed).toBe(PAIRS);
  expect(reported.rmsPixels).toBeLessThan(0.15);
  expect(reported.board).toMatchObject({ columns: 8, rows: 5 });
  expect(reported.files).toHaveLength(6);
  const numbers = (file: string) => {
    const { left, right, R, T } = loadStereoCalibration(file, { imageSize: SIZE }).calibration;
    const four = (side: typeof left) => [...side.distortion.coefficients.slice(0, 4)];
    return [...left.K, ...four(left), ...right.K, ...four(right), ...R, ...T];
  };
  const own = numbers(forms.own);
  for (const [name, file] of Object.entries(forms)) {
    const read = numbers(name === "ros" ? `${file}/left.yaml,${file}/right.yaml` : file);
    expect(read).toHaveLength(own.length);
    // ROS reports rotation and baseline through rectification and projection matrices.
    for (const [at, value] of read.entries())
      expect(Math.abs(value - own[at]!), `${name}, number ${at}`).toBeLessThanOrEqual(
        1e-9 * (1 + Math.abs(value)),
      );
  }
  const page = readFileSync(report, "utf8");
  for (const part of [
    "Rectified pair",
    "Expected depth error",
    "Errors of each pair",
    "Pairs left out",
    "Coverage",
  ])
    expect(page).toContain(`<h2>${part}</h2>`);
  // Three bars a pair (both reprojection errors, rows), both rectified images under 15 lines, corners of both, three distances.
  expect(page.match(/<rect class="s[012]"/g)).toHaveLength(3 * PAIRS);
  expect(page.match(/<image [^>]*data:image\/jpeg/g)).toHaveLength(2);
  expect(page.match(/<line class="row[01]"/g)).toHaveLength(15);
  expect(page.match(/<path class="points"/g)).toHaveLength(2);
  for (const metres of [1, 3, 10]) expect(page).toContain(`<td>${metres} m</td>`);

  const before = readFileSync(forms.own, "utf8");
  const again = await calibrate(place, "--square", "60mm");
  expect(again.code).not.toBe(0);
  expect(again.stderr).toMatch(/rig\.json: expected no such file/);
  expect(again.stderr).toContain("--force");
  expect(readFileSync(forms.own, "utf8")).toBe(before);
  const forced = await calibrate(place, "--square", "60mm", "--force");
  expect(forced.code, forced.stderr).toBe(0);
  expect(readFileSync(forms.own, "utf8")).not.toBe(before);
}, 90_000);

test("a third camera is calibrated with the pair, and depth can be registered into its image", async () => {
  const place = join(folder, "good");
  mkdirSync(join(place, "rgb"), { recursive: true });
  const size = { width: 480, height: 360 };
  const third: StereoCalibration = {
    ...createRig("radtan", size),
    R: rotationMatrix([0.02, -0.03, 0.01]),
    T: [0.03, 0.04, -0.01],
  };
  const random = new Random(31);
  for (const [at, pose] of createPoses(rig, BOARD, PAIRS, new Random(9), 0.6).entries()) {
    // One image is missing.
    if (at === 3) continue;
    const picture = boardPicture(third, BOARD, pose, "right", { noise: 2, random });
    writeFileSync(join(place, "rgb", `${String(at).padStart(2, "0")}.png`), await encodePng(picture));
  }
  const output = join(place, "three.json");
  const report = join(place, "three.html");
  const sides = ["--left", join(place, "left"), "--right", join(place, "right")];
  const words = ["calibrate", ...sides, "--square", "30mm", "--other", `rgb=${join(place, "rgb")}`];
  const made = await runProgram([...words, "-o", output, "--report", report, "--json"]);
  expect(made.code, made.stderr).toBe(0);
  const { others } = lastJson<Pick<CalibrationResult, "others">>(made);
  expect(others).toMatchObject([{ name: "rgb", deviations: { positionMetres: expect.any(Number) } }]);
  expect(others[0]!.images).toBeGreaterThan(6);
  expect(others[0]!.rmsPixels).toBeLessThan(0.2);
  const { calibration } = loadStereoCalibration(output);
  const [rgb] = calibration.others!;
  expect(rgb).toMatchObject({ name: "rgb", imageSize: size });
  const apart = Math.hypot(...rgb!.T.map((value, axis) => value - third.T[axis]!));
  expect(apart).toBeLessThan(4 * Math.sqrt(3) * others[0]!.deviations!.positionMetres);
  expect(Math.abs(rgb!.K[0] - third.right.K[0])).toBeLessThan(4 * others[0]!.deviations!.focalPixels);
  expect(registrationView(calibration, rectify(calibration), "rgb")).toMatchObject(size);
  expect(readFileSync(report, "utf8")).toContain("camera rgb");

  expect(made.stderr).not.toContain("further cameras");
  const camchain = join(place, "camchain.yaml");
  const text = await runProgram([...words, "-o", output, "--force", "--no-k3", "--kalibr", camchain]);
  expect(text.stderr).toContain(
    `note: further cameras are in ${output} only; these files have the pair: ${camchain}\n`,
  );
  expect(text.stdout).toMatch(/^rgb +0\.\d+ px rms in \d+ images, position \+- /m);
}, 90_000);

test.each([
  [["--source", "calm.mcap", "--other", "a=x"], /expected --other with --left and --right, got --source/],
  [["--source", "v4l2"], /expected --source to be a recording \(\.mcap\), got "v4l2"/],
])("%j is refused without a recording", async (words, message) => {
  const output = ["-o", join(folder, "refused.json")];
  const { code, stderr } = await runProgram(["calibrate", "--square", "30mm", ...words, ...output]);
  expect([code, stderr]).toEqual([2, expect.stringMatching(message)]);
});

test.each([
  [["--other", "rgb"], /expected --other to be NAME=IMAGES/],
  [["--other", "left=x"], /its own name, got left twice/],
  [["--other", "a=x", "--other", "a=y"], /its own name, got a twice/],
  [["--other", "rgb:wide=x"], /camera rgb: expected a lens of radtan, rational, fisheye, got wide/],
  [["--other", "rgb=nowhere"], /nowhere/],
])("%j is refused", async (words, message) => {
  const place = join(folder, "good");
  const sides = ["--left", join(place, "left"), "--right", join(place, "right")];
  const output = ["-o", join(folder, "refused.json")];
  const { code, stderr } = await runProgram(["calibrate", ...sides, "--square", "30mm", ...words, ...output]);
  expect(code).not.toBe(0);
  expect(stderr).toMatch(message);
});

test.each<[string, (at: number) => Promise<Uint8Array> | Uint8Array | undefined, RegExp, RegExp]>([
  [
    "other-sizes",
    (at) => (at === 6 ? reworked("right", at, (image) => image.resize(200, 150)) : plain("right", at)),
    /\(rgb\): expected 400x300 as in .* \(rgb\), found 200x150/,
    /remove the others/,
  ],
  [
    "other-sees-no-board",
    (at) => noise(at + 1),
    /camera rgb: expected the board in its images of at least 5 used pairs, found 0 of 12/,
    /this camera see all of it/,
  ],
  [
    "other-has-four-images",
    (at) => (at < 4 ? plain("right", at) : undefined),
    /camera rgb: expected .* of at least 5 used pairs, found 4 of 12/,
    /same number or time/,
  ],
])(
  "%s: a further camera is refused by name, and nothing is written",
  async (name, picture, message, hint) => {
    const place = join(folder, name);
    mkdirSync(place);
    for (let at = 0; at < PAIRS; at++) {
      const bytes = await picture(at);
      if (bytes !== undefined) writeFileSync(join(place, `${String(at).padStart(2, "0")}.png`), bytes);
    }
    const output = join(folder, `${name}.json`);
    const words = ["--square", "30mm", "--board", "8x5", "--other", `rgb=${place}`, "-o", output];
    const { code, stderr } = await calibrate(join(folder, "good"), ...words);
    expect(stderr).toMatch(message);
    expect(stderr).toMatch(new RegExp(`hint: .*${hint.source}`));
    expect(code).toBeGreaterThan(1);
    expect(existsSync(output)).toBe(false);
  },
  60_000,
);

test("images that hold both sides give the same rig", async () => {
  const place = join(folder, "side-by-side");
  mkdirSync(place);
  for (let at = 0; at < PAIRS; at++) {
    const [left, right] = [pictures.left[at]!, pictures.right[at]!];
    const both = new Uint8Array(2 * SIZE.width * SIZE.height);
    for (let y = 0; y < SIZE.height; y++) {
      both.set(left.data.subarray(y * SIZE.width, (y + 1) * SIZE.width), 2 * y * SIZE.width);
      both.set(right.data.subarray(y * SIZE.width, (y + 1) * SIZE.width), (2 * y + 1) * SIZE.width);
    }
    const image = { data: both, width: 2 * SIZE.width, height: SIZE.height };
    writeFileSync(join(place, `${String(at).padStart(2, "0")}.png`), await encodePng(image));
  }
  const words = [
    "calibrate",
    "--side-by-side",
    place,
    "--square",
    "30mm",
    "-o",
    join(place, "rig.json"),
    "--json",
  ];
  const ran = await runProgram(words);
  expect(ran.code, ran.stderr).toBe(0);
  expect(lastJson<{ pairsUsed: number }>(ran).pairsUsed).toBe(PAIRS);
  const { calibration } = loadStereoCalibration(join(place, "rig.json"), { imageSize: SIZE });
  expect(Math.abs(calibration.left.K[0] / rig.left.K[0] - 1)).toBeLessThan(0.005);
}, 60_000);

test("a recording gives the rig of its images; --interval leaves pairs out", async () => {
  const recording = join(folder, "good.mcap");
  const made = await runProgram(["convert", join(folder, "good"), recording, "--rate", "1"]);
  expect(made.code, made.stderr).toBe(0);
  const calibrated = async (output: string, ...words: string[]) => {
    const rest = ["--square", "30mm", "-o", join(folder, output), "--json", ...words];
    const ran = await runProgram(["calibrate", "--source", recording, ...rest]);
    expect(ran.code, ran.stderr).toBe(0);
    return lastJson<{ pairs: { name: string }[]; pairsUsed: number; calibration: StereoCalibration }>(ran);
  };
  const all = await calibrated("recorded.json");
  expect(all.pairsUsed).toBe(PAIRS);
  expect(all.pairs.map(({ name }) => name)).toEqual(
    Array.from({ length: PAIRS }, (_, at) => `${at.toFixed(2)} s`),
  );
  const ofImages = await calibrate(join(folder, "good"), "--square", "30mm", "--force", "--json");
  const { calibration } = lastJson<{ calibration: StereoCalibration }>(ofImages);
  expect(all.calibration.left).toEqual(calibration.left);
  expect(all.calibration.right).toEqual(calibration.right);
  expect(all.calibration.T).toEqual(calibration.T);
  const some = await calibrated("some.json", "--interval", "1.5");
  expect(some.pairs).toHaveLength(PAIRS / 2);
}, 90_000);

test("pairs that do not fit are left out, each with its cause", async () => {
  // Not in the order of the causes, so that no place stands for one.
  const rotated = (side: Side, at: number) => reworked(side, at, (image) => image.rotate(180));
  const place = await stills("some-wrong", (side, at) => {
    // The board moved between the cameras: the right one saw it some centimetres further.
    if (at === 2 && side === "right") return encodePng(movedOn);
    if (at === 4 && side === "left") return reworked(side, at, (image) => image.blur(2.2));
    if (at === 6 && side === "right")
      return encodePng({ data: new Uint8Array(SIZE.width * SIZE.height).fill(90), ...SIZE });
    if (at === 7 && side === "right") return rotated(side, at);
    if (at === 9) return plain(side, 8);
    return plain(side, at);
  });
  const ran = await calibrate(place, "--square", "30mm", "--board", "8x5", "--json");
  expect(ran.code, ran.stderr).toBe(0);
  const { pairs } = lastJson<{ pairs: { name: string; cause?: string; reason?: string }[] }>(ran);
  const causes = Object.fromEntries(
    pairs.flatMap(({ name, cause }) => (cause === undefined ? [] : [[name, cause]])),
  );
  expect(causes).toEqual({
    "02.png": "motion",
    "04.png": "blur",
    "06.png": "noBoard",
    "07.png": "outOfOrder",
    "09.png": "duplicate",
  });
  for (const { cause, reason } of pairs) if (cause !== undefined) expect(reason).toMatch(/\w+ \w+/);
}, 60_000);

test("a place that cannot be written is reported before anything is computed", async () => {
  const place = join(folder, "good");
  const taken = join(folder, "a-folder.json");
  mkdirSync(taken, { recursive: true });
  for (const words of [
    ["--report", taken],
    ["--opencv", "/proc/nowhere/rig.yaml"],
  ]) {
    const { code, stderr } = await calibrate(place, "--square", "30mm", "--force", ...words);
    expect(code).toBe(3);
    expect(stderr).toMatch(/cannot write .*(a-folder|nowhere).*\n.*hint: /);
    // Nothing had been looked for.
    expect(stderr).not.toContain("inner corners");
  }
});

test("a form that cannot hold the lens is refused before anything is computed", async () => {
  const place = join(folder, "good");
  const output = ["-o", join(folder, "never.json"), "--kalibr", join(folder, "never.yaml")];
  for (const [lens, found] of [
    [["--lens", "rational"], "--lens rational"],
    [[], "--lens radtan with k3"],
  ] as const) {
    const { code, stderr } = await calibrate(place, "--square", "30mm", ...output, ...lens);
    expect(code).toBe(2);
    expect(stderr).toMatch(new RegExp(`expected --kalibr with a lens .* got ${found}`));
    expect(stderr).toMatch(/hint: Add --no-k3/);
    expect(existsSync(join(folder, "never.json"))).toBe(false);
  }
  const { code, stderr } = await calibrate(place, "--square", "30mm", "--interval", "often");
  expect(code).toBe(2);
  expect(stderr).toMatch(/--interval .*expected seconds, 0 to 3600/);
}, 60_000);

const noise = (seed: number) => {
  const random = new Random(seed);
  const data = Uint8Array.from({ length: SIZE.width * SIZE.height }, () => random.whole(60, 200));
  return encodePng({ data, ...SIZE });
};

/** The error, how the images are made, the command's arguments, and the expected message and hint. */
const BAD: readonly [
  name: string,
  change: (side: Side, at: number) => Promise<Uint8Array> | Uint8Array | undefined,
  words: readonly string[],
  message: RegExp,
  hint: RegExp,
][] = [
  [
    "no board in any pair",
    (_, at) => (at < 3 ? noise(at + 1) : undefined),
    [],
    /expected a chessboard in the images, found none/,
    /whole board/,
  ],
  [
    "no board of the size that was named",
    (_, at) => (at < 3 ? noise(at + 1) : undefined),
    ["--board", "8x5"],
    /expected a chessboard in the images, found none|expected a board of 8x5/,
    /board/,
  ],
  [
    "the wrong size named",
    plain,
    ["--board", "9x6"],
    /expected a board of 9x6 inner corners, the images show one of 8x5: 9x6 are its squares/,
    /--board 8x5/,
  ],
  [
    "mixed sizes",
    (side, at) =>
      at === 4 && side === "right" ? reworked(side, at, (image) => image.resize(200, 150)) : plain(side, at),
    [],
    /expected 400x300 as in .*, found 200x150/,
    /remove the others/,
  ],
  [
    "swapped",
    (side, at) => plain(side === "left" ? "right" : "left", at),
    [],
    /left and right are swapped/,
    /Exchange/,
  ],
  [
    "the right camera mirrored",
    (side, at) => (side === "right" ? reworked(side, at, (image) => image.flop()) : plain(side, at)),
    [],
    /the right images are mirrored/,
    /flip/,
  ],
  [
    "the left camera out of focus",
    (side, at) => (side === "left" ? reworked(side, at, (image) => image.blur(2.6)) : plain(side, at)),
    ["--board", "8x5"],
    /the left camera is out of focus/,
    /Focus the left camera/,
  ],
  [
    "the wrong size of the squares, found by the baseline",
    plain,
    ["--square", "25mm", "--baseline", "12cm"],
    /the squares are probably 0\.030\d? m/,
    /ruler/,
  ],
  [
    "the right camera upside down",
    (side, at) => (side === "right" ? reworked(side, at, (image) => image.rotate(180)) : plain(side, at)),
    [],
    /one camera's images are upside down: in 12 of 12 pairs/,
    /Turn the images of that camera by 180 degrees/,
  ],
  [
    "both cameras upside down",
    (side, at) => reworked(side, at, (image) => image.rotate(180)),
    [],
    /left and right are swapped/,
    /both cameras mirror their images or hang upside down/,
  ],
  [
    "three pairs only",
    (side, at) => (at < 3 ? plain(side, at) : undefined),
    [],
    /expected at least 5 usable pairs, found 3 of 3/,
    /pairs/,
  ],
  [
    "one pair twelve times",
    (side) => plain(side, 0),
    [],
    /found 1 of 12 \(.* the board is where it was in another pair, 11 of 12\)/,
    /pairs/,
  ],
  [
    "the left images as the right ones too",
    (_, at) => plain("left", at),
    [],
    /both images are the same picture, 12 of 12/,
    /./,
  ],
];

test.each(BAD)(
  "%s: one sentence, and what to do",
  async (name, change, words, message, hint) => {
    const place = await stills(name.replace(/\W/g, "-"), change);
    const square = words.includes("--square") ? [] : ["--square", "30mm"];
    const { code, stderr } = await calibrate(place, ...square, ...words);
    expect(stderr).toMatch(message);
    expect(code).toBeGreaterThan(1);
    expect(stderr).toMatch(new RegExp(`hint: .*${hint.source}`));
    expect(stderr).not.toMatch(/ at .*\.js:\d+/);
  },
  60_000,
);
