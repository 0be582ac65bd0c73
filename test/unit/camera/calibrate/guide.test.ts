// SPDX-License-Identifier: Apache-2.0
// The guide of live captures: which looks it takes, what it says is missing, when it has enough, and what a capture reports.
import { expect, test } from "vitest";
import { multiply, rotationMatrix, type Vector3 } from "../../../../camera/calibration/matrix.js";
import {
  type Board,
  CaptureGuide,
  calibratePairs,
  type PairSource,
  type SeenPair,
} from "../../../../camera/index.js";
import { DepthwattError } from "../../../../core/index.js";
import { loadNative } from "../../../../edge/contracts/native.js";
import { captureLive, type LiveLook } from "../../../../edge/rig/calibrate/live.js";
import { type BoardPose, createPoses, createRig, seenPair } from "../../../doubles/calibration-rig.js";
import { Random } from "../../../doubles/random.js";

const native = loadNative();
const board: Board = { pattern: "chessboard", columns: 9, rows: 6, squareMetres: 0.03 };
const imageSize = { width: 640, height: 480 };
const rig = createRig("radtan", imageSize);

/** The board's middle on the axis between the cameras, `z` metres away. */
function poseAt(z: number, x = 0, y = 0, turn: Vector3 = [0, 0, 0]): BoardPose {
  const R = multiply(rotationMatrix(turn), rotationMatrix([0, 0, 0]));
  const [mx, my] = [4 * 0.03, 2.5 * 0.03];
  const at = (row: 0 | 3 | 6) => R[row] * mx + R[row + 1]! * my;
  return { R, t: [0.06 + x - at(0), y - at(3), z - at(6)] };
}

const random = new Random(3);
const seen = (pose: BoardPose, name = "look", noise = 0.02) =>
  seenPair(name, rig, board, pose, random, noise);

test("a board that moves is not taken; one that is held still is, once", () => {
  const guide = new CaptureGuide(board, imageSize);
  expect(guide.look(seen(poseAt(0.8)), 0)).toMatchObject({ verdict: "moving", enough: false });
  // 4 mm in 0.2 s at 0.8 m are 14 pixels a second.
  expect(guide.look(seen(poseAt(0.8, 0.004)), 200).verdict).toBe("moving");
  const taken = guide.look(seen(poseAt(0.8, 0.004)), 400);
  expect(taken.verdict).toBe("taken");
  expect(taken.progress.pairs).toBe(1);
  expect(guide.look(seen(poseAt(0.8, 0.004)), 600).verdict).toBe("known");
  expect(guide.look(seen(poseAt(0.8, 0.2)), 2600).verdict).toBe("moving");
  expect(guide.look(seen(poseAt(0.8, 0.2)), 2800).verdict).toBe("taken");
});

/** The pair with its corners moved to the right in both images. */
function shifted(pair: SeenPair, pixels: number): SeenPair {
  const moved = (side: "left" | "right") => ({
    ...pair[side],
    points: pair[side].points.map((value, at) => (at % 2 === 0 ? value + pixels : value)),
  });
  return { ...pair, left: moved("left"), right: moved("right") };
}

test.each([
  // 0.015 diagonals of 800 pixels are 12 pixels a second.
  ["still", 1.19, 100, "taken"],
  ["moving", 1.21, 100, "moving"],
  ["still, seen again after 1.5 s", 17.9, 1500, "taken"],
  // More than 1.5 s apart, the board may have moved as far as in 1.5 s: 18 pixels.
  ["still, seen again after a minute", 17.9, 60_000, "taken"],
  ["elsewhere, a minute later", 18.1, 60_000, "moving"],
  ["unknown, at the same time", 0, 0, "moving"],
])("a board is %s: %f pixels in %i ms", (_, pixels, ms, verdict) => {
  const guide = new CaptureGuide(board, imageSize);
  const pair = seen(poseAt(0.8), "look", 0);
  guide.look(pair, 1000);
  expect(guide.look(shifted(pair, pixels), 1000 + ms).verdict).toBe(verdict);
});

test("one camera that shakes is enough to wait", () => {
  const guide = new CaptureGuide(board, imageSize);
  const pair = seen(poseAt(0.8), "look", 0);
  guide.look(pair, 0);
  expect(guide.look({ ...pair, right: shifted(pair, 1.5).right }, 100).verdict).toBe("moving");
});

test.each([
  [31.9, "known"],
  [32.1, "taken"],
])("a pose that is %f pixels from a taken one: 0.04 diagonals are 32", (pixels, verdict) => {
  const guide = new CaptureGuide(board, imageSize);
  const pair = seen(poseAt(0.8), "look", 0);
  for (const ms of [0, 100]) guide.look(pair, ms);
  guide.look(shifted(pair, pixels), 200);
  expect(guide.look(shifted(pair, pixels), 300).verdict).toBe(verdict);
});

test("a blur is judged by the taken pairs: half as much again, or half a pixel more", () => {
  const of = (pair: SeenPair, blur: number) => ({
    ...pair,
    left: { ...pair.left, blurAlongRows: blur, blurAlongColumns: blur },
  });
  for (const [usual, accepted, refused] of [
    [0.6, 1.09, 1.11],
    [2, 2.99, 3.01],
  ] as const) {
    const guide = new CaptureGuide(board, imageSize);
    const pair = seen(poseAt(0.8), "look", 0);
    for (const ms of [0, 100]) guide.look(of(pair, usual), ms);
    expect(guide.pairs).toHaveLength(1);
    expect(guide.look(of(pair, accepted), 200).verdict).toBe("known");
    expect(guide.look(of(pair, refused), 300).verdict).toBe("blurred");
  }
  // Before the first one, 2.5 pixels of an image of up to 640 columns, more of a wider one.
  const wide = new CaptureGuide(board, { width: 1280, height: 960 });
  const first = new CaptureGuide(board, imageSize);
  const pair = seen(poseAt(0.8), "look", 0);
  expect([2.49, 2.51].map((blur) => first.look(of(pair, blur), 0).verdict)).toEqual(["moving", "blurred"]);
  expect([4.99, 5.01].map((blur) => wide.look(of(pair, blur), 0).verdict)).toEqual(["moving", "blurred"]);
});

test("a board that one camera does not see is asked for", () => {
  const guide = new CaptureGuide(board, imageSize);
  const half = seen(poseAt(0.8));
  const nothing = {
    ...half.right,
    absence: "nothing" as const,
    ids: new Int32Array(),
    points: new Float64Array(),
  };
  const { verdict, text } = guide.look({ ...half, right: nothing }, 0);
  expect(verdict).toBe("noBoard");
  expect(text).toMatch(/right image.*show the whole board/);
});

test("a blurred image is not taken, and the camera is named", () => {
  const guide = new CaptureGuide(board, imageSize);
  const sharp = seen(poseAt(0.8));
  const soft = { ...sharp, left: { ...sharp.left, blurAlongRows: 3.5 } };
  guide.look(soft, 0);
  expect(guide.look(soft, 200)).toMatchObject({ verdict: "blurred" });
  expect(guide.look(soft, 400).text).toMatch(/left image is not sharp \(3\.5 px\)/);
});

test.each([
  ["left", [0, -0.5, 0]],
  ["right", [0, 0.5, 0]],
  ["upper", [0.5, 0, 0]],
  ["lower", [-0.5, 0, 0]],
] as const)("a board whose %s side is nearer counts as that", (side, turn) => {
  const guide = new CaptureGuide(board, imageSize);
  // Which way round a positive angle turns is not taken for granted: the nearer side is measured.
  const pose = poseAt(0.7, 0, 0, turn);
  const depth = (x: number, y: number) => pose.R[6] * x + pose.R[7] * y;
  const nearer =
    turn[1] !== 0
      ? depth(0.24, 0) < depth(0, 0)
        ? "right"
        : "left"
      : depth(0, 0.15) < depth(0, 0)
        ? "lower"
        : "upper";
  expect(nearer).toBe(side);
  guide.look(seen(pose), 0);
  const { progress } = guide.look(seen(pose), 200);
  expect(progress.tilts).toEqual({ left: 0, right: 0, upper: 0, lower: 0, [side]: 1 });
});

test("the missing views are named: the empty part of the image, the tilt that was not shown", () => {
  const guide = new CaptureGuide(board, imageSize);
  // Everything on the left, nothing tilted.
  for (const [at, y] of [-0.15, 0, 0.15].entries()) {
    const pose = poseAt(0.7, -0.14, y);
    guide.look(seen(pose), 1000 * at);
    guide.look(seen(pose), 1000 * at + 200);
  }
  const { progress, wanted } = guide.look(seen(poseAt(0.7, -0.14, 0)), 9000);
  expect(progress.pairs).toBe(3);
  expect(progress.covered.left).toBeLessThan(0.8);
  expect(wanted).toMatch(/right.* of the left image/);
  for (const side of ["left", "right", "upper", "lower"]) expect(wanted).toContain(`its ${side} side nearer`);
});

test("what a guide says of a series of looks is reproduced", () => {
  const guide = new CaptureGuide(board, imageSize);
  const noise = new Random(4);
  const said: string[] = [];
  for (const [at, pose] of createPoses(rig, board, 24, new Random(21), 0.7).entries()) {
    const looked = () => seenPair(`${at}`, rig, board, pose, noise, 0.02);
    guide.look(looked(), 1000 * at);
    const { verdict, text, wanted, progress, enough } = guide.look(looked(), 1000 * at + 200);
    const { covered, tilts, share } = progress;
    const figures = [covered.left, covered.right, share].map((value) => value.toFixed(3));
    said.push(
      [verdict, ...figures, Object.values(tilts).join("/"), wanted.length, text.length, enough].join(" "),
    );
    if (at === 12)
      guide.solved({ pairs: [{ name: "3", used: false }], depthErrors: [], deviations: undefined } as never);
    if (at % 6 === 5) said.push(text, wanted);
  }
  expect(said).toMatchInlineSnapshot(`
    [
      "taken 0.438 0.563 0.185 1/0/0/0 159 83 false",
      "taken 0.500 0.563 0.252 1/0/1/0 159 83 false",
      "taken 0.688 0.688 0.359 1/1/1/0 159 83 false",
      "taken 0.750 0.688 0.407 1/2/1/0 136 83 false",
      "taken 0.750 0.688 0.454 1/2/1/1 136 83 false",
      "taken 0.813 0.750 0.522 1/2/2/1 78 83 false",
      "taken: pair 6; hold it into the right side of the right image, its left side nearer",
      "the right side of the right image, its left side nearer, its lower side nearer",
      "taken 0.813 0.750 0.570 2/2/2/1 56 84 false",
      "taken 0.813 0.750 0.586 2/2/3/1 56 84 false",
      "taken 0.813 0.875 0.619 2/3/3/1 21 45 false",
      "taken 0.813 0.875 0.635 2/4/3/1 21 46 false",
      "taken 0.813 0.875 0.652 3/4/3/1 21 46 false",
      "taken 0.813 0.875 0.700 4/4/3/2 26 53 false",
      "taken: pair 12; show it in other places and distances",
      "other places and distances",
      "taken 0.875 0.938 0.717 4/4/4/2 26 53 false",
      "known 0.875 0.938 0.700 4/3/4/2 26 57 false",
      "taken 0.875 0.938 0.717 4/3/4/3 26 53 false",
      "taken 0.875 0.938 0.733 4/3/4/3 26 53 false",
      "taken 0.875 0.938 0.750 5/3/4/3 27 56 false",
      "taken 0.875 0.938 0.750 5/4/4/3 27 56 false",
      "taken: pair 16; show it with more tilt, near the cameras",
      "more tilt, near the cameras",
      "taken 0.875 0.938 0.750 5/4/4/4 27 56 false",
      "taken 0.875 0.938 0.750 5/4/4/4 27 56 false",
      "taken 0.938 1.000 0.750 5/4/4/4 27 56 false",
      "taken 0.938 1.000 0.750 5/4/4/5 27 56 false",
      "taken 1.000 1.000 0.750 5/4/5/5 27 56 false",
      "taken 1.000 1.000 0.750 6/4/5/5 27 56 false",
      "taken: pair 22; show it with more tilt, near the cameras",
      "more tilt, near the cameras",
    ]
  `);
});

test("poses all over the image end it, with the calibration's own word that it is precise", async () => {
  const guide = new CaptureGuide(board, imageSize);
  const poses = createPoses(rig, board, 120, new Random(21), 0.7);
  let ms = 0;
  let enough = false;
  let shares: number[] = [];
  for (const [at, pose] of poses.entries()) {
    for (let look = 0; look < 3 && !enough; look++) {
      ms += 200;
      const guidance = guide.look(seen(pose, `pair ${at}`, 0.05), ms);
      shares.push(guidance.progress.share);
      if (guidance.verdict === "taken" && guide.pairs.length >= 5 && guide.pairs.length % 5 === 0) {
        const result = await calibratePairs(native, guide.pairs as SeenPair[], {
          board,
          lens: "radtan",
          imageSize,
        });
        guide.solved(result);
      }
      enough = guidance.enough;
    }
    if (enough) break;
  }
  expect(enough).toBe(true);
  shares = shares.filter((_, at) => at % 3 === 0);
  expect(shares[0]).toBeLessThan(0.2);
  expect(guide.pairs.length).toBeGreaterThanOrEqual(15);
  expect(guide.pairs.length).toBeLessThan(60);
  const { covered, tilts, precise } = guide.progress();
  expect(Math.min(covered.left, covered.right)).toBeGreaterThanOrEqual(0.8);
  expect(Math.min(...Object.values(tilts))).toBeGreaterThanOrEqual(2);
  expect(precise).toBe(true);
});

test("pairs that make no calibration are reported until a later solution succeeds", async () => {
  const poses = createPoses(rig, board, 12, new Random(5), 0.7);
  const detections = poses.flatMap((pose) => {
    const { left, right } = seen(pose);
    return [left, right, left, right];
  });
  const looks: LiveLook[] = [];
  let side = 0;
  const nextSide = () => side++ % 2;
  const scripted: typeof native = {
    ...native,
    // The last board stays until its solution is there.
    detectBoard: () => Promise.resolve(detections.length > 2 ? detections.shift()! : detections[nextSide()]!),
    solveCalibration: (call) =>
      looks.some(({ trouble }) => trouble !== undefined)
        ? native.solveCalibration(call)
        : Promise.reject(new DepthwattError("ENGINE_FAILED", "no camera fits")),
  };
  const image = { data: new Uint8Array(640 * 480), ...imageSize, strideBytes: 640, format: "GREY" as const };
  const stop = new AbortController();
  let deliver = () => {};
  const source = {
    start({ onPair }: Parameters<PairSource["start"]>[0]) {
      let count = 0;
      deliver = () => {
        const stamped = { ...image, timestampNs: BigInt(++count) * 200_000_000n, sequence: count };
        onPair({ left: stamped, right: stamped, clock: "monotonic", release: () => {} });
      };
      deliver();
    },
  } as PairSource;
  let clockMs = 0;
  await captureLive(scripted, source, board, {
    lens: "radtan",
    withoutK3: true,
    signal: stop.signal,
    now: () => (clockMs += 1000),
    onNotice: () => {},
    onLook: (look) => {
      looks.push(look);
      if (look.result !== undefined) stop.abort();
      // The next pair comes when this look has ended.
      else setImmediate(deliver);
    },
  });
  expect(looks.map(({ trouble }) => trouble)).toContain("expected corners of one rig: no camera fits");
  expect(looks.at(-1)).toMatchObject({ result: expect.anything(), trouble: undefined });
});
