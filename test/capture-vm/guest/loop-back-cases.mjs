// SPDX-License-Identifier: Apache-2.0
// The synthetic scene through the kernel: its raw images are written to output nodes, which loop them back into capture
// nodes; depthwatt captures, rectifies, matches and publishes; a consumer in this process holds the answer against the truth.
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { BYTES, HEIGHT, RATE_HZ, WIDTH, withPictures } from "./loop-back.mjs";
import { assert, built, checkPairs, clocks, openV4l2Source, root, until, video } from "./tools.mjs";

const SCENE = process.env.SCENE;
const WINDOW_MS = 1000 / RATE_HZ / 2 + 0.1;
/** Depth frames of one image: all but the first and the last are compared with its truth. */
const FRAMES_PER_PICTURE = 5;

/** The scene before both cameras. `use` also gets next(), which shows the next frame of the scene. */
const withScene = (use) =>
  withPictures(SCENE, ({ left, right, show }) => {
    let number = 0;
    return use(left, right, () => show(++number));
  });

/** The scene's exact disparity and the pixels that both images see, by frame number. */
async function truths() {
  const { readPfm, readGreyImage } = await built("camera/index.js");
  const { scenes } = JSON.parse(readFileSync(join(SCENE, "scene.json"), "utf8"));
  return Promise.all(
    scenes.map(async (scene) => ({
      disparity: (await readPfm(join(SCENE, scene.groundTruth.path))).data,
      visible: (await readGreyImage(join(SCENE, scene.masks.nonocc))).data,
    })),
  );
}

/** Percent of the visible pixels whose depth is that of a disparity within one pixel of the truth. */
function percentRight(depth, truth, focalTimesBaseline) {
  let visible = 0;
  let right = 0;
  for (let i = 0; i < depth.length; i++) {
    if (truth.visible[i] === 0 || !Number.isFinite(truth.disparity[i])) continue;
    visible++;
    if (Math.abs(focalTimesBaseline / depth[i] - truth.disparity[i]) <= 1) right++;
  }
  return (100 * right) / visible;
}

const inMemory = ({ inputMemory }, { left, right }) =>
  [left, right].every(({ data }) => inputMemory.some(({ buffer }) => buffer === data.buffer));

/** Images byte for byte, left and right of one moment. */
const capturesTheScene = (memory) => () =>
  withScene(async (left, right, next) => {
    const { readFrameIndex } = await built("camera/scene/frame-index.js");
    const files = ["left", "right"].map((side) => readFileSync(join(SCENE, `${side}.raw`)));
    const source = await openV4l2Source(
      { left, right, width: WIDTH, height: HEIGHT, format: "GREY", memory },
      { video, clocks },
    );
    const timer = setInterval(next, 1000);
    const pairs = [];
    let same = 0;
    let identical = 0;
    let outside = 0;
    source.start({
      onPair(pair) {
        const numbers = [pair.left, pair.right].map(({ data, strideBytes }) =>
          readFrameIndex({ data, strideBytes, width: WIDTH, height: HEIGHT }),
        );
        pairs.push({ leftNs: pair.left.timestampNs, rightNs: pair.right.timestampNs, numbers });
        if (numbers[0] === numbers[1]) same++;
        const whole = (side, i) =>
          numbers[i] !== undefined &&
          files[i]
            .subarray(numbers[i] * BYTES, (numbers[i] + 1) * BYTES)
            .equals(side.data.subarray(0, BYTES));
        if (memory === "userptr" && !inMemory(source, pair)) outside++;
        if (whole(pair.left, 0) && whole(pair.right, 1)) identical++;
        pair.release();
      },
      onDegraded: () => {},
      onEnd: () => {},
      onError: () => {},
    });
    try {
      await until(() => pairs.length >= 60, "60 pairs", 120_000);
    } finally {
      clearInterval(timer);
      await source.stop();
    }
    checkPairs({ pairs, source }, WINDOW_MS);
    assert.equal(outside, 0, "every image is in the memory that the source offers");
    assert.equal(identical, pairs.length, "every image is byte for byte one that was written");
    // Two output nodes show a new frame at their own next refresh: between them the cameras may differ by one.
    const frames = files[0].length / BYTES;
    for (const { numbers } of pairs) {
      const apart = (((numbers[1] - numbers[0]) % frames) + frames) % frames;
      assert([0, 1, frames - 1].includes(apart), `left shows ${numbers[0]}, right ${numbers[1]}`);
    }
    assert(same > 0.6 * pairs.length, `${same} of ${pairs.length} pairs show one frame`);
    return { pairs: pairs.length, same, counters: source.counters() };
  });

export const loopBackCases = {
  "captured images equal the written ones, and the two images of a pair show one moment":
    capturesTheScene("mmap"),

  "the same in the process's own memory (USERPTR)": capturesTheScene("userptr"),

  "end to end: captured, rectified, matched, published to Mosquitto; depth agrees with the truth": () =>
    withScene(async (left, right, next) => {
      const broker = spawn("mosquitto", ["-p", "1885"], { stdio: "ignore" });
      // The default search takes the emulated machine five times longer.
      const words = ["run", "--preset", "fast", "--source", "v4l2", "--left", left, "--right", right];
      const settings = [
        `source.v4l2.width=${WIDTH}`,
        `source.v4l2.height=${HEIGHT}`,
        "source.v4l2.format=GREY",
        "match.numDisparities=32",
        "outputs.mqtt.left.enabled=true",
      ].flatMap((setting) => ["--set", setting]);
      const more = [
        "--calibration",
        join(SCENE, "calibration.json"),
        "--broker",
        "mqtt://127.0.0.1:1885",
        "--json",
      ];
      let text = "";
      let depthwatt;
      let consumer;
      try {
        const truth = await truths();
        const { connectConsumer } = await built("clients/javascript/src/index.js");
        const { readFrameIndex } = await built("camera/scene/frame-index.js");
        const lefts = new Map();
        const depths = [];
        let cameraInfo;
        consumer = connectConsumer("mqtt://127.0.0.1:1885", { streams: ["depth", "left"] });
        consumer.on("cameraInfo", (message) => {
          cameraInfo = message.cameraInfo;
        });
        consumer.on("frame", (frame) => {
          if (frame.stream === "left") {
            const { width, height } = frame.header;
            const data = Uint8Array.from(frame.counts());
            lefts.set(frame.header.leftSequence, readFrameIndex({ data, width, height }));
          } else if (depths.push(frame) % FRAMES_PER_PICTURE === 0) next();
        });
        depthwatt = spawn(process.execPath, [
          join(root, "dist/edge/cli/main.js"),
          ...words,
          ...settings,
          ...more,
        ]);
        for (const stream of [depthwatt.stdout, depthwatt.stderr]) {
          stream.on("data", (chunk) => {
            text += chunk;
          });
        }
        const ended = new Promise((resolve) => depthwatt.on("close", resolve));
        await until(() => depths.length >= 102 || depthwatt.exitCode !== null, "100 depth frames", 430_000);
        depthwatt.kill("SIGINT");
        await ended;
        assert(depths.length >= 100, `only ${depths.length} frames; depthwatt said: ${text}`);
        const facts = checkFrames(depths, lefts, truth, cameraInfo, percentRight);
        const figures = JSON.parse(
          text
            .trim()
            .split("\n")
            .findLast((line) => line.startsWith("{")),
        );
        return { ...facts, drops: figures.drops, pairing: figures.pairing, latencyMs: figures.latencyMs };
      } catch (error) {
        error.stack += `\ndepthwatt said: ${text.slice(-1500)}`;
        throw error;
      } finally {
        depthwatt?.kill("SIGKILL");
        await consumer?.close?.();
        broker.kill("SIGKILL");
      }
    }),
};

/**
 * Checks order, time stamps and sequence numbers of every frame, and the depth of the frames between two changes of the
 * image.
 */
function checkFrames(depths, lefts, truth, cameraInfo, badPercent) {
  const percents = [];
  const stepsMs = [];
  for (const [i, { header, missingBefore }] of depths.entries()) {
    const skewMs = Math.abs(Number(header.rightTimestampNs - header.leftTimestampNs)) / 1e6;
    assert(skewMs <= WINDOW_MS, `frame ${i} is made of images ${skewMs} ms apart`);
    assert.equal(header.clock, "monotonic");
    assert.equal(header.timestampPoint, "endOfFrame");
    assert.equal(missingBefore, 0);
    if (i === 0) continue;
    const before = depths[i - 1].header;
    assert(header.leftTimestampNs > before.leftTimestampNs, `frame ${i} is not younger`);
    const stepMs = Number(header.leftTimestampNs - before.leftTimestampNs) / 1e6;
    stepsMs.push(stepMs / (header.leftSequence - before.leftSequence));
    const numbers = [i - 1, i, i + 1].map((at) => lefts.get(depths[at]?.header.leftSequence));
    if (numbers[0] === undefined || numbers.some((number) => number !== numbers[0])) continue;
    const { focalPixels, baselineMetres } = parseGeometry(cameraInfo);
    percents.push(badPercent(depths[i].values(), truth[numbers[1]], focalPixels * baselineMetres));
  }
  // The median: an emulated machine that waits for its host makes single images late.
  const perImage = stepsMs.sort((one, other) => one - other)[stepsMs.length >> 1];
  assert(Math.abs(perImage * RATE_HZ - 1000) < 100, `${perImage} ms per image of the left camera`);
  percents.sort((one, other) => one - other);
  assert(percents.length >= 30, `${percents.length} frames between changes of the picture`);
  assert(percents[0] >= 90, `worst frame: ${percents[0]} % of the visible pixels are right`);
  return {
    frames: depths.length,
    compared: percents.length,
    worstPercent: percents[0],
    medianPercent: percents[percents.length >> 1],
  };
}

function parseGeometry(cameraInfo) {
  return {
    focalPixels: cameraInfo.K?.[0] ?? cameraInfo.focalPixels,
    baselineMetres: cameraInfo.baselineMetres,
  };
}
