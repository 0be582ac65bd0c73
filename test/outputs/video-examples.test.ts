// SPDX-License-Identifier: Apache-2.0
// The examples of docs/guides/video.md: both are valid configurations, ffmpeg's streams to a listener over RTSP, and GStreamer's
// runs up to the elements that only a Jetson has.
import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { commandWords } from "../../camera/index.js";
import { loadConfig } from "../../edge/config/index.js";
import type { ComputedFrame } from "../../edge/contracts/computed-frame.js";
import { offerPicture, openCommand } from "../doubles/command-output.js";
import { until } from "../doubles/frames.js";
import { freePort } from "../doubles/mosquitto.js";
import { needs } from "../doubles/needs.js";

const folder = mkdtempSync(join(tmpdir(), "depthwatt-video-"));
afterAll(() => rmSync(folder, { recursive: true }));

const page = readFileSync(new URL("../../docs/guides/video.md", import.meta.url), "utf8");
const examples = [...page.matchAll(/```yaml\n(.*?)```/gs)].map(([, text], i) => {
  const file = join(folder, `${i}.yaml`);
  writeFileSync(file, text!);
  return loadConfig({ file, environment: {} }).config.outputs.command;
});
const [rtsp, jetson] = examples;

const [WIDTH, HEIGHT] = [640, 480];
const LEFT = Uint8Array.from({ length: WIDTH * HEIGHT }, (_, i) => {
  const [x, y] = [i % WIDTH, Math.floor(i / WIDTH)];
  return 128 + 90 * Math.sin(x / 40) * Math.cos(y / 30);
});
const FRAME = { slot: { left: LEFT }, width: WIDTH, height: HEIGHT } as unknown as ComputedFrame;

/** Mean difference of grey values, at best; the encoder's range of values may be narrower than the image's. */
function difference(picture: Uint8Array): number {
  const mean = (values: Uint8Array) => values.reduce((sum, value) => sum + value, 0) / values.length;
  const [meanLeft, meanPicture] = [mean(LEFT), mean(picture)];
  let [cross, power] = [0, 0];
  for (let i = 0; i < LEFT.length; i++) {
    cross += (LEFT[i]! - meanLeft) * (picture[i]! - meanPicture);
    power += (picture[i]! - meanPicture) ** 2;
  }
  const gain = cross / power;
  return mean(LEFT.map((value, i) => Math.abs(value - meanLeft - gain * (picture[i]! - meanPicture))));
}

test("both examples switch the output on, and their commands are whole", () => {
  expect(examples).toHaveLength(2);
  expect(commandWords(rtsp!.command!, rtsp!.shell)).toEqual(
    expect.arrayContaining(["ffmpeg", "-i", "-", "-f", "rtsp", "rtsp://127.0.0.1:8554/left"]),
  );
  const [program, quiet, ...words] = commandWords(jetson!.command!, jetson!.shell);
  expect([program, quiet]).toEqual(["gst-launch-1.0", "-q"]);
  // Between exclamation marks: an element with its properties, or the format between two elements.
  const ELEMENT = /^[a-z]\w*( [a-z][\w-]*=\S+)*$/;
  const CAPS = /^video\/x-raw(\(memory:\w+\))?(,\w+=[\w/]+)*$/;
  for (const part of words.join(" ").split(" ! "))
    expect(ELEMENT.test(part) || CAPS.test(part), part).toBe(true);
});

needs("ffmpeg").suite("with ffmpeg", () => {
  test("the RTSP example reaches a listener with the image", async () => {
    const url = `rtsp://127.0.0.1:${await freePort()}/left`;
    const command = rtsp!.command!.replace("rtsp://127.0.0.1:8554/left", url);
    expect(command).not.toBe(rtsp!.command);
    const received = join(folder, "received");
    const listen = ["-v", "error", "-rtsp_flags", "listen", "-i", url, "-frames:v", "3", "-pix_fmt", "gray"];
    const listener = spawn("ffmpeg", [...listen, "-f", "rawvideo", received], {
      stdio: ["ignore", "ignore", "inherit"],
    });
    let code: number | null | undefined;
    listener.once("exit", (exit) => {
      code = exit;
    });
    const { output } = await openCommand({ ...rtsp!, command });
    try {
      // The program starts again until the listener is there.
      await until(
        "three pictures",
        () => {
          offerPicture(output, FRAME);
          return code !== undefined;
        },
        60_000,
      );
      expect(code).toBe(0);
      const pictures = readFileSync(received);
      expect(pictures.length).toBe(3 * WIDTH * HEIGHT);
      expect(difference(pictures.subarray(-WIDTH * HEIGHT))).toBeLessThan(4);
    } finally {
      listener.kill();
      await output.close();
    }
  }, 90_000);
});

needs("gstreamer").suite("with GStreamer", () => {
  test("the Jetson example runs up to nvvidconv and hands the image on", async () => {
    const [general, ours] = jetson!.command!.split(" ! nvvidconv ! ");
    expect(ours).toMatch(/nvv4l2h264enc/);
    const file = join(folder, "pictures");
    const { output } = await openCommand({ ...jetson!, command: `${general} ! filesink location=${file}` });
    for (let sent = 1; sent <= 3; sent++) {
      offerPicture(output, FRAME);
      await until(`picture ${sent}`, () => output.counters().sent === sent, 30_000);
    }
    await output.close();
    expect(output.counters().drops).toEqual({});
    const pictures = readFileSync(file);
    // I420: luma, and two planes of colour of a quarter each.
    expect(pictures.length).toBe(3 * 1.5 * WIDTH * HEIGHT);
    expect(difference(pictures.subarray(0, WIDTH * HEIGHT))).toBeLessThan(1);
  }, 60_000);

  test("its elements that Debian has are known with their properties", () => {
    for (const name of ["fdsrc", "rawvideoparse", "videoconvert"])
      expect(execFileSync("gst-inspect-1.0", [name], { encoding: "utf8" })).toContain("Factory Details");
  });
});
