// SPDX-License-Identifier: Apache-2.0
// Rectification of one image, one thread, VGA, through the map of a barrel lens: every form on this machine, grey and colours.
import { bench, describe } from "vitest";
import { native, Random, variants } from "../../test/doubles/stages.js";

const [width, height] = [640, 480];
const image = new Random(1).fill(new Uint8Array(3 * width * height), 0, 255);
const grey = new Uint8Array(width * height);
const rgb = new Uint8Array(3 * width * height);
const stage = native.stages.rectify as unknown as (call: object) => string;

/** Maps a lens and a rotation of one degree: neighbours stay neighbours, rows become arcs. */
const map = new Int32Array(2 * width * height);
for (let y = 0; y < height; ++y) {
  for (let x = 0; x < width; ++x) {
    const [dx, dy] = [x - width / 2, y - height / 2];
    const bend = 1 - 4e-7 * (dx * dx + dy * dy);
    map[2 * (y * width + x)] = Math.round(32 * (width / 2 + dx * bend - 0.0175 * dy));
    map[2 * (y * width + x) + 1] = Math.round(32 * (height / 2 + dy * bend + 0.0175 * dx));
  }
}

const cases = [
  { title: "GREY", format: "GREY", bytes: 1, map, grey },
  { title: "YUYV", format: "YUYV", bytes: 2, map, grey },
  { title: "RGB8", format: "RGB8", bytes: 3, map, grey },
  { title: "BAYER_RGGB8", format: "BAYER_RGGB8", bytes: 1, map, grey },
  { title: "YUYV, conversion only", format: "YUYV", bytes: 2, grey },
  { title: "BAYER_RGGB8, conversion only", format: "BAYER_RGGB8", bytes: 1, grey },
  { title: "colours of YUYV", format: "YUYV", bytes: 2, map, rgb },
  { title: "colours of NV12", format: "NV12", bytes: 1, map, rgb },
  { title: "colours of RGB8", format: "RGB8", bytes: 3, map, rgb },
  { title: "colours of BAYER_RGGB8", format: "BAYER_RGGB8", bytes: 1, map, rgb },
  { title: "colours of BAYER_RGGB12", format: "BAYER_RGGB12", bytes: 2, map, rgb },
  { title: "colours of YUYV, conversion only", format: "YUYV", bytes: 2, rgb },
];

for (const { title, bytes, ...parameters } of cases) {
  const call = {
    ...parameters,
    inputWidth: width,
    inputHeight: height,
    strideBytes: bytes * width,
    image,
    width,
    height,
  };
  describe(`rectify 640x480 ${title}, one thread`, () => {
    for (const variant of ["reference", ...variants]) {
      bench(variant, () => void stage({ ...call, variant }), { time: 300, warmupTime: 100 });
    }
  });
}
