// SPDX-License-Identifier: Apache-2.0
// RVL on VGA depth pictures (a slope with noise and a tenth of holes), one thread: native and TypeScript.
import { bench, describe } from "vitest";
import { decodeRvl, encodeRvl, rvlMaxBytes } from "../../core/frame/rvl.js";
import { seededRandom } from "../../test/doubles/rvl-pictures.js";
import { native, variants } from "../../test/doubles/stages.js";

const [width, height] = [640, 480];
/** Noise of so many millimetres above the slope: 6 is a smooth wall, 100 costs as many nibbles as the depth of a real scene. */
const NOISES = [6, 100];
const fastest = variants[0]!;
const { rvlEncode, rvlDecode } = native.stages as unknown as Record<string, (call: object) => unknown>;

for (const noise of NOISES) {
  const random = seededRandom(1);
  const pixels = Uint16Array.from({ length: width * height }, (_, i) => {
    const [x, y] = [i % width, Math.floor(i / width)];
    const hole = (x >> 5) % 10 === (y >> 4) % 10;
    return hole ? 0 : 1500 + 4 * (height - y) + Math.floor(random() * noise);
  });
  const body = new Uint8Array(rvlMaxBytes(pixels.length) + 8); // the native form's scratch
  const bytes = encodeRvl(pixels, body);
  const packed = body.slice(0, bytes);
  const out = new Uint16Array(pixels.length);
  const copy = new Uint16Array(pixels.length);

  describe(`rvl 640x480, ${(pixels.byteLength / bytes).toFixed(2)} : 1`, () => {
    const options = { time: 500, warmupTime: 200 };
    bench("encode, reference", () => void rvlEncode!({ variant: "reference", pixels, body }), options);
    bench("encode, native, one by one", () => void rvlEncode!({ variant: "scalar", pixels, body }), options);
    bench("encode, native", () => void rvlEncode!({ variant: fastest, pixels, body }), options);
    bench("memcpy of the picture", () => copy.set(pixels), options);
    bench("encode, TypeScript", () => void encodeRvl(pixels, body), options);
    bench("decode, native", () => void rvlDecode!({ body: packed, pixels: out }), options);
    bench("decode, TypeScript", () => void decodeRvl(packed, out), options);
  });
}
