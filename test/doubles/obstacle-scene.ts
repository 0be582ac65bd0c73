// SPDX-License-Identifier: Apache-2.0
// Writes images of an obstacle 1 m away in front of a wall 3 m away, two planes of noise shifted by whole pixels, and runs the
// program on them.
import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { encodePng } from "../../camera/index.js";
import { PYTHON } from "./needs.js";
import { type Running, startProgram } from "./program.js";
import { seededRandom } from "./rvl-pictures.js";

export const [WIDTH, HEIGHT] = [192, 128];
export const [FOCAL_PIXELS, BASELINE_METRES] = [200, 0.12];
/** Pixels of disparity: 24 / 8 = 3 m, and 24 / 24 = 1 m. */
const [WALL, OBSTACLE] = [8, 24];

/**
 * The wall everywhere; in front of it, in the right half of the left image, the obstacle.
 *
 * @returns the calibration file
 */
export async function obstacleRecording(folder: string): Promise<string> {
  const random = seededRandom(11);
  const noise = () => Uint8Array.from({ length: WIDTH * HEIGHT }, () => Math.floor(random() * 256));
  const [wall, box, left, right] = [noise(), noise(), new Uint8Array(WIDTH * HEIGHT), noise()];
  const inBox = (x: number, y: number) => x >= 110 && x < 160 && y >= 40 && y < 90;
  for (let y = 0; y < HEIGHT; y++)
    for (const [texture, disparity, shown] of [
      [wall, WALL, (x: number) => !inBox(x, y)],
      [box, OBSTACLE, (x: number) => inBox(x, y)],
    ] as const)
      for (let x = 0; x < WIDTH; x++) {
        if (!shown(x)) continue;
        left[y * WIDTH + x] = texture[y * WIDTH + x]!;
        if (x >= disparity) right[y * WIDTH + x - disparity] = texture[y * WIDTH + x]!;
      }
  for (const [side, data] of [
    ["left", left],
    ["right", right],
  ] as const) {
    mkdirSync(join(folder, side));
    for (let index = 0; index < 4; index++)
      writeFileSync(
        join(folder, side, `${index}.png`),
        await encodePng({ data, width: WIDTH, height: HEIGHT }),
      );
  }
  const camera = (name: string) => ({
    name,
    cameraMatrix: [FOCAL_PIXELS, 0, WIDTH / 2, 0, FOCAL_PIXELS, HEIGHT / 2, 0, 0, 1],
    distortion: { model: "none", coefficients: [] },
  });
  const file = join(folder, "calibration.json");
  writeFileSync(
    file,
    JSON.stringify({
      format: "depthwatt-calibration",
      version: 1,
      imageSize: { width: WIDTH, height: HEIGHT },
      left: camera("left"),
      right: camera("right"),
      rotation: [1, 0, 0, 0, 1, 0, 0, 0, 1],
      translationMetres: [-BASELINE_METRES, 0, 0],
    }),
  );
  return file;
}

/** Starts the program on the recording, again and again, as the device "robot". @param set settings of the outputs */
export function runObstacle(
  folder: string,
  calibration: string,
  brokerUrl: string,
  set: readonly string[],
): Running {
  const settings = [
    ...[
      "match.numDisparities=48",
      "outputs.viewer.enabled=false",
      "power.sensor=none",
      "source.replay.loop=true",
    ],
    ...set,
  ];
  return startProgram([
    ...["run", "--left", join(folder, "left"), "--right", join(folder, "right")],
    ...["--calibration", calibration, "--broker", brokerUrl, "--device", "robot", "--rate", "10"],
    ...settings.flatMap((one) => ["--set", one]),
  ]);
}

/** A zone with the obstacle, one with the wall, one without a matched pixel. */
export const ZONES =
  "outputs.derived.zones=right 0.5,0 1,0 1,1 0.5,1; left 0.1,0 0.5,0 0.5,1 0.1,1; corner 0,0 0.02,0 0.02,0.02 0,0.02";

/** Renders a template as Home Assistant does: the message is value_json; None is "unknown". */
export function rendered(template: string, message: string): string {
  const program = [
    "import jinja2, json, sys",
    "t, m = sys.argv[1:]",
    "print(jinja2.Environment().from_string(t).render(value_json=json.loads(m)))",
  ].join("\n");
  return execFileSync(PYTHON, ["-c", program, template, message], { encoding: "utf8" }).trim();
}
