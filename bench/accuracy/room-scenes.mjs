// SPDX-License-Identifier: Apache-2.0
// Renders rooms as scenes to evaluate, with exact truth: bare walls, repeated tiles, reflections.
import { SceneRenderer, sceneView } from "../../dist/camera/index.js";
import { loadNative } from "../../dist/edge/contracts/native.js";

const [WIDTH, HEIGHT] = [480, 360];
const RADIUS = 5;

/** Pixels whose 11 x 11 surroundings are of one grey value in the noise-free picture: no picture reports their disparity. */
function ofOneGrey(image) {
  const untold = new Uint8Array(image.length);
  for (let y = RADIUS; y < HEIGHT - RADIUS; ++y) {
    for (let x = RADIUS; x < WIDTH - RADIUS; ++x) {
      let same = 1;
      for (let j = -RADIUS; same && j <= RADIUS; ++j) {
        for (let i = -RADIUS; i <= RADIUS; ++i) {
          if (image[(y + j) * WIDTH + x + i] !== image[y * WIDTH + x]) same = 0;
        }
      }
      untold[y * WIDTH + x] = same;
    }
  }
  return untold;
}

/** @param noises standard deviations of the sensor's noise in the dark, grey values */
export async function bareScenes(noises = [0, 1, 3], frame = 20) {
  const scenes = [];
  const native = loadNative();
  const size = { width: WIDTH, height: HEIGHT, room: "bare" };
  const drawn = async (options) => {
    const renderer = new SceneRenderer(native, { ...size, ...options });
    const pair = await renderer.frame(frame);
    const truth = renderer.truth(frame, "left", sceneView(WIDTH, HEIGHT)).disparity.data;
    renderer.close();
    return { left: pair.left.data, right: pair.right.data, truth };
  };
  const untold = ofOneGrey((await drawn({ view: "ideal" })).left);
  for (const noiseGrey of noises) {
    scenes.push({
      name: `bare room, noise ${noiseGrey}`,
      ...(await drawn({ view: "rectified", noiseGrey })),
      constructed: true,
      format: "GREY",
      width: WIDTH,
      height: HEIGHT,
      masks: new Map([["untold", untold]]),
      numDisparities: 64,
      badThresholdPx: 1,
    });
  }
  return scenes;
}

/** A set for leave-one-out: hard surfaces of homes that the research sets lack. */
const ROOMS = [
  ["bare", 0],
  ["bare", 1],
  ["poster", 0],
  ["poster", 1],
  ["tiles", 1],
  ["glossy", 1],
];

/** Renders one pair of each of these rooms. */
export async function roomScenes(frame = 20) {
  const native = loadNative();
  const size = { width: WIDTH, height: HEIGHT };
  const scenes = [];
  for (const [room, noiseGrey] of ROOMS) {
    const renderer = new SceneRenderer(native, { ...size, room, view: "rectified", noiseGrey });
    const { left, right } = await renderer.frame(frame);
    const truth = renderer.truth(frame, "left", sceneView(WIDTH, HEIGHT)).disparity.data;
    renderer.close();
    const name = `${room} room, noise ${noiseGrey}`;
    const pair = { left: left.data, right: right.data, truth, format: "GREY", width: WIDTH, height: HEIGHT };
    scenes.push({
      name,
      ...pair,
      constructed: true,
      masks: new Map(),
      numDisparities: 64,
      badThresholdPx: 1,
    });
  }
  return scenes;
}
