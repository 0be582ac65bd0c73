// SPDX-License-Identifier: Apache-2.0
// Two cameras as one, ten pairs: node pair.mjs /dev/video0 /dev/video2
import { open, pair } from "v4l2-camera";

const [left, right] = await Promise.all(process.argv.slice(2, 4).map((path) => open(path)));
const stereo = pair(left, right);
let count = 0;
for await (const { left: one, right: other, skewNs } of stereo) {
  console.log(`images ${one.sequence} and ${other.sequence}, ${(skewNs / 1e6).toFixed(2)} ms apart`);
  if (++count === 10) break;
}
console.log(stereo.statistics());
await Promise.all([left.close(), right.close()]);
