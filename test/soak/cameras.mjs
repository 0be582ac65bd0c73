// SPDX-License-Identifier: Apache-2.0
// The two cameras of a soak in the virtual machine, the kernel's own test driver vivid: what they show, and how they go bad.
import { execFile } from "node:child_process";
import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { sleep } from "./random.mjs";

/**
 * The rate that an emulated CPU can follow. The driver would give such images 60 times a second, and 640x480 25 times.
 */
const [WIDTH, HEIGHT, RATE_HZ] = [320, 180, 15];
export const CAMERA_SIGNAL = `${WIDTH}x${HEIGHT} at ${RATE_HZ} Hz`;
/** Links of the kind that names a camera's place on the bus. */
const PLACES = ["platform:vivid-000", "platform:vivid-001"];
/** Upright bars that move with each image, and no text over them. */
const SHOWN = "test_pattern=0,horizontal_movement=5,osd_text_mode=2";

export class Cameras {
  #identify;
  #random;

  constructor(identify, random) {
    this.#identify = identify;
    this.#random = random;
  }

  /** A camera that was unplugged while it was open comes back under another number. */
  async paths() {
    const nodes = readdirSync("/dev").filter((name) => /^video\d+$/.test(name));
    const found = await Promise.all(
      nodes.map(async (name) => ({
        path: join("/dev", name),
        ...(await this.#identify(join("/dev", name))),
      })),
    );
    return PLACES.map((place) => {
      const one = found.find(({ bus, captures }) => bus === place && captures);
      if (one === undefined) throw new Error(`no camera at ${place}: ${JSON.stringify(found)}`);
      return one.path;
    });
  }

  async setBoth(controls) {
    for (const path of await this.paths()) await v4l2Ctl(path, controls);
  }

  show() {
    return this.setBoth(SHOWN);
  }

  /** Presses a button of one of them. */
  async press(button) {
    await v4l2Ctl(this.#random.pick(await this.paths()), `${button}=1`);
  }

  async replug(awayMs) {
    bind("unbind");
    await sleep(awayMs);
    bind("bind");
    // The nodes come a moment after their driver.
    for (let looks = 0; ; looks++) {
      try {
        return await this.show();
      } catch (error) {
        if (looks === 50) throw error;
        await sleep(100);
      }
    }
  }

  /** A calibration that leaves rows as they are, one file a camera, in `folder`. */
  async settings(folder) {
    const files = ["left", "right"].map((name, side) => {
      const file = join(folder, `${name}.yaml`);
      writeFileSync(file, calibration(name, side === 0 ? 0 : -35));
      return file;
    });
    const [left, right] = await this.paths();
    return [
      "source.kind=v4l2",
      `source.v4l2.left=${left}`,
      `source.v4l2.right=${right}`,
      `source.v4l2.width=${WIDTH}`,
      `source.v4l2.height=${HEIGHT}`,
      `source.v4l2.rateHz=${RATE_HZ}`,
      "source.v4l2.format=GREY",
      `calibration.file=${files.join(",")}`,
    ];
  }
}

const v4l2Ctl = (path, controls) => promisify(execFile)("v4l2-ctl", ["-d", path, "-c", controls]);
const bind = (verb) => writeFileSync(`/sys/bus/platform/drivers/vivid/${verb}`, "vivid.0");

const calibration = (name, tx) => `image_width: ${WIDTH}
image_height: ${HEIGHT}
camera_name: ${name}
camera_matrix: {rows: 3, cols: 3, data: [350, 0, 160, 0, 350, 90, 0, 0, 1]}
distortion_model: plumb_bob
distortion_coefficients: {rows: 1, cols: 5, data: [0, 0, 0, 0, 0]}
rectification_matrix: {rows: 3, cols: 3, data: [1, 0, 0, 0, 1, 0, 0, 0, 1]}
projection_matrix: {rows: 3, cols: 4, data: [350, 0, 160, ${tx}, 0, 350, 90, 0, 0, 0, 1, 0]}
`;
