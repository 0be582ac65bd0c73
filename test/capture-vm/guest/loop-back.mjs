// SPDX-License-Identifier: Apache-2.0
// Creates two cameras that show written images: output nodes of the driver that loop back into its capture nodes.
import { execFileSync, spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { findDevice, rest } from "./tools.mjs";

export const [WIDTH, HEIGHT] = [320, 240];
export const BYTES = WIDTH * HEIGHT;
/** The slowest signal that the driver knows is 720p at 24 Hz; a corner of it is enough for an emulated CPU. */
const SIGNAL = "--set-dv-bt-timings=index=3";
export const RATE_HZ = 24;
const FORMAT = `width=${WIDTH},height=${HEIGHT},pixelformat=GREY`;
const OUTPUT_BUFFERS = 3;

const control = (...words) => execFileSync("v4l2-ctl", words, { stdio: "pipe", encoding: "utf8" });

/** Creates one camera: a capture node that shows the images written to its output node. */
async function loop(bus) {
  const capture = await findDevice(bus);
  const output = await findDevice(bus, false);
  // Without scalers a smaller format is a window on the signal, and both nodes take its upper left corner.
  control(
    "-d",
    capture,
    "-c",
    "enable_capture_scaler=0,enable_capture_composing=0,loop_video=1,osd_text_mode=2",
  );
  control("-d", output, "-c", "enable_output_scaler=0,enable_output_cropping=0");
  for (const node of [capture, output]) control("-d", node, SIGNAL);
  control("-d", capture, `--set-fmt-video=${FORMAT}`);
  control("-d", output, `--set-fmt-video-out=${FORMAT}`);
  return { capture, output };
}

/** Writes the same frame number to both cameras at the same moment. */
function writersTo(sides, folder) {
  const files = ["left", "right"].map((side) => readFileSync(join(folder, `${side}.raw`)));
  const frames = files[0].length / BYTES;
  const writers = sides.map(({ output }) =>
    spawn("v4l2-ctl", ["-d", output, `--stream-out-mmap=${OUTPUT_BUFFERS}`, "--stream-from=-"], {
      stdio: ["pipe", "ignore", "ignore"],
    }),
  );
  for (const writer of writers) writer.stdin.on("error", () => {});
  const show = (number) => {
    const at = (number % frames) * BYTES;
    for (const [i, writer] of writers.entries()) writer.stdin.write(files[i].subarray(at, at + BYTES));
  };
  // The buffers that are filled before the stream starts all show the first frame.
  for (let i = 0; i < OUTPUT_BUFFERS; i++) show(0);
  const close = async () => {
    const ends = writers.map((writer) => new Promise((resolve) => writer.on("close", resolve)));
    for (const writer of writers) writer.kill("SIGKILL");
    await Promise.all(ends);
  };
  return { show, frames, close };
}

/**
 * Frames of left.raw and right.raw in `folder` before both cameras. `use` gets the capture nodes, and show(n), which puts
 * frame n before them until the next one comes.
 */
export async function withPictures(folder, use) {
  const sides = [await loop("platform:vivid-002"), await loop("platform:vivid-003")];
  const { show, frames, close } = writersTo(sides, folder);
  try {
    await rest(500);
    const [left, right] = sides.map(({ capture }) => capture);
    return await use({ left, right, show, frames });
  } finally {
    await close();
  }
}
