// SPDX-License-Identifier: Apache-2.0
// Real programs as cameras: ffmpeg and GStreamer on files, RTSP over loopback, and the command line around them.
import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { encodePng, openCommandSource, type PairSource } from "../../camera/index.js";
import { runInProcess } from "../doubles/command-line.js";
import { until } from "../doubles/frames.js";
import { freePort } from "../doubles/mosquitto.js";
import { needs } from "../doubles/needs.js";
import { lastJson, runProgram } from "../doubles/program.js";

const WIDTH = 64;
const HEIGHT = 48;
const FRAMES = 6;
const picture = (number: number, side: number) =>
  Uint8Array.from({ length: WIDTH * HEIGHT }, (_, at) => {
    const [x, y] = [(at % WIDTH) + 4 * side, Math.floor(at / WIDTH)];
    return ((x * 37 + number * 50) ^ (x * y)) & 255;
  });

let folder: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "depthwatt-programs-"));
  for (const [side, name] of ["left", "right"].entries()) {
    mkdirSync(join(folder, name));
    for (let number = 0; number < FRAMES; number++) {
      const image = { width: WIDTH, height: HEIGHT, data: picture(number, side) };
      writeFileSync(join(folder, name, `${number}.png`), await encodePng(image));
    }
  }
});
afterAll(() => rmSync(folder, { recursive: true }));

const ffmpegCommand = (side: string) =>
  `ffmpeg -v error -framerate 10 -i ${folder}/${side}/%d.png -pix_fmt gray -f yuv4mpegpipe -`;

const gstreamerCommand = (side: string) =>
  `gst-launch-1.0 -q multifilesrc location=${folder}/${side}/%d.png stop-index=${FRAMES - 1} ` +
  "caps=image/png,framerate=10/1 ! pngdec ! videoconvert ! video/x-raw,format=GRAY8 ! fdsink fd=1";

interface Played {
  pairs: [left: Uint8Array, right: Uint8Array, timestampNs: bigint][];
  states: (string | undefined)[];
  ended: boolean;
}

function play(source: PairSource): Played {
  const played: Played = { pairs: [], states: [], ended: false };
  source.start({
    onPair: (pair) => {
      const copy = ({ data }: { data: Uint8Array }) => Uint8Array.from(data);
      played.pairs.push([copy(pair.left), copy(pair.right), pair.left.timestampNs]);
      pair.release();
    },
    onDegraded: (reason) => played.states.push(reason),
    onEnd: () => {
      played.ended = true;
    },
    onError: (error) => expect.fail(error.message),
  });
  return played;
}

const expected = Array.from({ length: FRAMES }, (_, number) => [
  picture(number, 0),
  picture(number, 1),
  BigInt(number) * 100_000_000n,
]);

needs("ffmpeg").suite("ffmpeg", () => {
  test("every pixel of a recording, through YUV4MPEG2", async () => {
    const [left, right] = [ffmpegCommand("left"), ffmpegCommand("right")];
    const source = await openCommandSource({ left, right, format: "y4m", live: false, timeoutMs: 60_000 });
    const played = play(source);
    await until("the end", () => played.ended, 60_000);
    await source.stop();
    expect(played.pairs).toEqual(expected);
    expect(source.description.title).toBe("commands ffmpeg and ffmpeg, recorded, y4m 64x48 each at 10 Hz");
  }, 90_000);

  test("depthwatt run: side by side in, frames out, then the end", async () => {
    const sideBySide =
      `ffmpeg -v error -framerate 10 -i ${folder}/left/%d.png -framerate 10 -i ${folder}/right/%d.png ` +
      "-filter_complex hstack -f rawvideo -pix_fmt yuv420p -";
    const set = ["format=I420", "width=64", "height=48", "live=false"].flatMap((one) => [
      "--set",
      `source.command.${one}`,
    ]);
    const ran = await runProgram([
      "run",
      "--source",
      "command",
      "--side-by-side",
      sideBySide,
      "--broker",
      "none",
      "--json",
      "--set",
      "match.numDisparities=16",
      ...set,
    ]);
    expect(ran.code, ran.stderr).toBe(0);
    expect(lastJson(ran)).toMatchObject({ frames: FRAMES, width: WIDTH, height: HEIGHT, drops: {} });
  }, 90_000);

  test("what ffmpeg says when it fails is what depthwatt run says", async () => {
    const words = ["--left", "ffmpeg -v error -i /no/such.mp4 -f yuv4mpegpipe -", "--right", "sleep 60"];
    const ran = await runProgram(["run", "--source", "command", "--broker", "none", ...words]);
    expect(ran.code).toBe(3);
    expect(ran.stderr).toMatch(
      /^error: left command "ffmpeg": ended with exit code 1; its last line: \/no\/such\.mp4: No such file or directory\nhint: Run the command alone in a terminal/,
    );
  }, 60_000);

  test("settings that cannot be are refused before anything is started", async () => {
    const run = (...set: string[]) =>
      runInProcess([
        "run",
        "--source",
        "command",
        ...set.flatMap((one) => ["--set", `source.command.${one}`]),
      ]);
    const both = await run("sideBySide=cat a", "width=64");
    const raw = await run("sideBySide=cat a", "format=GREY", "width=64");
    const pipe = await run("sideBySide=cat a | cat");
    expect([both.code, raw.code, pipe.code]).toEqual([2, 2, 2]);
    expect(both.stderr).toContain("expected no source.command.width with y4m, which brings its own, got 64");
    expect(raw.stderr).toContain("expected source.command.width and source.command.height with GREY");
    expect(pipe.stderr).toContain("got one with |, which only a shell understands");
  }, 60_000);

  test("RTSP: two live streams, their loss in the state, and the way back", async () => {
    const ports = [await freePort(), await freePort()];
    const url = (port: number | undefined) => `rtsp://127.0.0.1:${port}/camera`;
    // These wait for the stream to be brought; a camera's URL is fetched without "listen".
    const camera = (port: number | undefined) =>
      `ffmpeg -v error -rtsp_flags listen -i ${url(port)} -f yuv4mpegpipe -`;
    let bringing = bring(ports.map(url));
    const source = await openCommandSource({
      left: camera(ports[0]),
      right: camera(ports[1]),
      format: "y4m",
      live: true,
      timeoutMs: 60_000,
    });
    const played = play(source);
    try {
      await until("pairs", () => played.pairs.length >= 5, 60_000);
      expect(source.description).toMatchObject({ width: 160, height: 120, clock: "monotonic" });
      bringing.stop();
      await until("the loss", () => played.states.length > 0, 60_000);
      expect(played.states[0]).toMatch(
        /(left|right) command "ffmpeg": ended with exit code \d+.*started again/,
      );
      const before = played.pairs.length;
      bringing = bring(ports.map(url));
      await until("the way back", () => played.states.includes(undefined), 90_000);
      expect(played.pairs.length).toBeGreaterThanOrEqual(before);
    } finally {
      bringing.stop();
      await source.stop();
    }
  }, 240_000);
});

needs("gstreamer").suite("GStreamer", () => {
  test("every pixel of a recording, as frames without headers", async () => {
    const [left, right] = [gstreamerCommand("left"), gstreamerCommand("right")];
    const source = await openCommandSource({
      left,
      right,
      format: "GREY",
      width: WIDTH,
      height: HEIGHT,
      rateHz: 10,
      live: false,
      timeoutMs: 60_000,
    });
    const played = play(source);
    await until("the end", () => played.ended, 60_000);
    await source.stop();
    expect(played.pairs).toEqual(expected);
  }, 90_000);

  test("a program that speaks on its standard output, as nvarguscamerasrc does, with its images on another descriptor", async () => {
    const sideBySide =
      "exec gst-launch-1.0 videotestsrc num-buffers=3 ! video/x-raw,width=128,height=48,format=I420 " +
      "! fdsink fd=3 3>&1 1>&2";
    const source = await openCommandSource({
      sideBySide,
      shell: true,
      format: "I420",
      width: 64,
      height: 48,
      live: false,
      timeoutMs: 60_000,
    });
    const played = play(source);
    await until("the end", () => played.ended, 60_000);
    await source.stop();
    expect(played.pairs).toHaveLength(3);
    expect(source.counters().dropsLeft).toEqual({});
  }, 90_000);

  test("live, through y4menc", async () => {
    const sideBySide =
      "gst-launch-1.0 -q videotestsrc is-live=true ! video/x-raw,width=128,height=48,format=I420,framerate=20/1 " +
      "! y4menc ! fdsink fd=1";
    const source = await openCommandSource({ sideBySide, format: "y4m", live: true, timeoutMs: 60_000 });
    const played = play(source);
    await until("pairs", () => played.pairs.length >= 5, 60_000);
    await source.stop();
    expect(source.description.title).toBe(
      "commands gst-launch-1.0, live, y4m 128x48 (two images of 64x48) at 20 Hz",
    );
    expect(played.states).toEqual([]);
  }, 90_000);
});

/** Sends one stream to both URLs, in step, and retries until the server listens. */
function bring(urls: readonly string[]): { stop(): void } {
  let stopped = false;
  let child: ChildProcess;
  const start = () => {
    if (stopped) return;
    const input = "-v error -re -f lavfi -i testsrc2=size=160x120:rate=10".split(" ");
    const outputs = urls.flatMap((url) => ["-map", "0", "-c:v", "mpeg4", "-g", "5", "-f", "rtsp", url]);
    child = spawn("ffmpeg", [...input, ...outputs], { stdio: "ignore" });
    child.once("close", () => setTimeout(start, 300));
  };
  start();
  return {
    stop() {
      stopped = true;
      child.kill("SIGKILL");
    },
  };
}
