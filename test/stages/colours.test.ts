// SPDX-License-Identifier: Apache-2.0
// Images in colours: grey and colours of RGB8, rectified and halved, by hand and against the definitions.
import { describe, expect, test } from "vitest";
import { expectSameImage, native, Random, variants } from "../doubles/stages.js";

const rectify = native.stages.rectify as unknown as (call: object) => string;
const half = native.stages.half as unknown as (call: object) => string;

describe.each(["reference", ...variants])("%s", (variant) => {
  test("grey of RGB8 is BT.601 luma, rounded", () => {
    const image = Uint8Array.of(255, 0, 0, 0, 255, 0, 0, 0, 255, 255, 255, 255, 10, 20, 30, 1, 0, 0);
    const size = { inputWidth: 6, inputHeight: 1, width: 6, height: 1 };
    const grey = new Uint8Array(6);
    rectify({ variant, format: "RGB8", ...size, strideBytes: 18, image, grey });
    // (77 R + 150 G + 29 B + 128) >> 8: 19763, 38378, 7523, 65408, 5538 and 205 by 256.
    expect([...grey]).toEqual([77, 149, 29, 255, 18, 0]);
  });

  test("half way between red and blue lies half of each", () => {
    const image = Uint8Array.of(200, 0, 0, 0, 0, 100);
    const rgb = new Uint8Array(3);
    const size = { inputWidth: 2, inputHeight: 1, width: 1, height: 1 };
    rectify({ variant, format: "RGB8", ...size, strideBytes: 6, image, map: Int32Array.of(16, 0), rgb });
    expect([...rgb]).toEqual([100, 0, 50]);
  });

  test("rectified and halved, each colour is a separate image", () => {
    const random = new Random(3);
    const [width, height, stride] = [37, 19, 37 * 3 + 5];
    const image = random.fill(new Uint8Array(stride * height), 0, 255);
    const map = random.fill(new Int32Array(2 * width * height), -90, 32 * 40);
    const size = { inputWidth: width, inputHeight: height, width, height };
    const rgb = new Uint8Array(3 * width * height);
    rectify({ variant, format: "RGB8", ...size, strideBytes: stride, image, map, rgb });
    const halves = new Uint8Array(3 * 19 * 10);
    half({ variant, width, height, image: rgb, result: halves, colours: true });
    for (let colour = 0; colour < 3; colour++) {
      const one = (from: Uint8Array, rowBytes: number, w: number, h: number) =>
        Uint8Array.from(
          { length: w * h },
          (_, i) => from[Math.floor(i / w) * rowBytes + 3 * (i % w) + colour]!,
        );
      const grey = new Uint8Array(width * height);
      const plane = one(image, stride, width, height);
      rectify({ variant: "reference", format: "GREY", ...size, strideBytes: width, image: plane, map, grey });
      expectSameImage(one(rgb, 3 * width, width, height), grey, width, `rectified, colour ${colour}`);
      const halved = new Uint8Array(19 * 10);
      half({ variant: "reference", width, height, image: grey, result: halved });
      expectSameImage(one(halves, 3 * 19, 19, 10), halved, 19, `halved, colour ${colour}`);
    }
  });

  test("grey of RGB8 through a map is the definition's", () => {
    const random = new Random(5);
    const [width, height] = [33, 12];
    const image = random.fill(new Uint8Array(3 * width * height), 0, 255);
    const map = random.fill(new Int32Array(2 * width * height), -90, 32 * 40);
    const size = {
      inputWidth: width,
      inputHeight: height,
      width,
      height,
      strideBytes: 3 * width,
      format: "RGB8",
    };
    const [expected, grey] = [new Uint8Array(width * height), new Uint8Array(width * height)];
    rectify({ variant: "reference", ...size, image, map, grey: expected });
    rectify({ variant, ...size, image, map, grey });
    expectSameImage(grey, expected, width, variant);
  });
});
