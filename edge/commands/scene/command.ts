// SPDX-License-Identifier: Apache-2.0
// depthwatt scene: the built-in scene as files, with the exact answer next to them.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { type Command, Option } from "commander";
import {
  DEFAULT_POSE,
  SCENE_ROOMS,
  type ScenePose,
  type SceneRoom,
  writeScene,
} from "../../../camera/index.js";
import { DepthwattError } from "../../../core/index.js";
import { numberBetween, wholeNumber } from "../../cli/numbers.js";
import { withExamples, withJson } from "../../cli/options.js";
import { note, printJson } from "../../cli/output.js";
import { Progress } from "../../cli/progress.js";
import { loadNative } from "../../contracts/native.js";

interface SceneFlags {
  frames: string;
  out: string;
  raw?: boolean;
  ideal?: boolean;
  color?: boolean;
  room: SceneRoom;
  cameraHeight: string;
  pitch: string;
  roll: string;
  width: string;
  height: string;
  seed: string;
  first: string;
  truth: "both" | "left" | "none";
  json?: boolean;
}

/** Overwrites an older scene, but not another data set. @throws DepthwattError FILE_EXISTS */
function checkFolder(folder: string): void {
  if (existsSync(join(folder, "scene.json"))) return;
  const found = ["dataset.json", "calibration.json"].find((name) => existsSync(join(folder, name)));
  if (found !== undefined)
    throw new DepthwattError(
      "FILE_EXISTS",
      `${folder}: expected a new folder or one with an older scene, found ${found} and no scene.json`,
      { hint: "Give another folder." },
    );
}

const POSE_PITCH = DEFAULT_POSE.pitchDegrees.toFixed(2);

/** Returns nothing for the default pose, whose images are the same bytes on every machine. */
function poseFrom({ cameraHeight, pitch, roll }: SceneFlags): { pose?: ScenePose } {
  if (Number(cameraHeight) === 1.3 && pitch === POSE_PITCH && Number(roll) === 0) return {};
  return {
    pose: {
      heightMetres: numberBetween("--camera-height", cameraHeight, 0.1, 2.5),
      pitchDegrees: numberBetween("--pitch", pitch, -45, 80),
      rollDegrees: numberBetween("--roll", roll, -45, 45),
    },
  };
}

async function run(flags: SceneFlags): Promise<void> {
  if (flags.raw && flags.ideal) throw new DepthwattError("USAGE", "expected --raw or --ideal, got both");
  const frames = wholeNumber("--frames", flags.frames, 1, 1_000_000);
  if (flags.out.trim() === "") throw new DepthwattError("USAGE", 'expected --out to be a folder, got ""');
  checkFolder(flags.out);
  const begin = performance.now();
  const view = flags.raw ? "raw" : flags.ideal ? "ideal" : "rectified";
  const options = {
    folder: flags.out,
    frames,
    firstFrame: wholeNumber("--first", flags.first, 0, 1_000_000_000),
    width: wholeNumber("--width", flags.width, 16, 16_384),
    height: wholeNumber("--height", flags.height, 16, 16_384),
    seed: wholeNumber("--seed", flags.seed, 0, 1_000_000),
    truth: flags.truth,
    colours: flags.color === true,
    room: flags.room,
    ...poseFrom(flags),
    view,
    onFrame: (done: number) => progress.show(done, frames, "drawing frames"),
  } as const;
  const progress = new Progress();
  progress.show(0, frames, "drawing frames");
  await writeScene(loadNative(), options).finally(() => progress.clear());
  const { folder, width, height, seed } = options;
  const seconds = (performance.now() - begin) / 1000;
  if (flags.json) printJson({ folder, frames, width, height, seed, view, seconds });
  else
    note(
      `${frames} ${frames === 1 ? "frame" : "frames"} ${width}x${height} (${view}) in ${folder}, ${seconds.toFixed(1)} s`,
    );
}

export function define(command: Command): void {
  command
    .requiredOption("--frames <n>", "how many frames; 30 of them are one second of the scene")
    .requiredOption("-o, --out <dir>", "folder to write to")
    .option(
      "--raw",
      "not rectified: with lens distortion and rotated cameras; also one headerless file per camera",
    )
    .option("--ideal", "without noise and with equal cameras")
    .option("--color", "colour images, for matchers that use colour")
    .addOption(
      new Option(
        "--room <which>",
        "bare: walls without texture and a blind; stairs: stairs down and an edge; glossy: floor and window mirror the room; tiles: floor and walls repeat; poster: on white walls",
      )
        .choices([...SCENE_ROOMS])
        .default("furnished"),
    )
    .option("--camera-height <m>", "height of the left camera above the floor, 0.1 to 2.5", "1.3")
    .option("--pitch <degrees>", "how far the cameras look down, -45 to 80", POSE_PITCH)
    .option("--roll <degrees>", "rotation about the optical axis, right side down, -45 to 45", "0")
    .option("--width <pixels>", "image width", "640")
    .option("--height <pixels>", "image height", "480")
    .option("--seed <n>", "seed of textures and noise", "1")
    .option("--first <n>", "number of the first frame", "0")
    .addOption(
      new Option("--truth <which>", "side of the ground truth")
        .choices(["both", "left", "none"])
        .default("both"),
    )
    .action(run);
  withJson(command, "print what was written as JSON");
  withExamples(
    command,
    "depthwatt scene --frames 10 --out scene",
    "depthwatt eval scene",
    "depthwatt scene --frames 100 --raw --truth left --out vm-scene",
  );
}
