// SPDX-License-Identifier: Apache-2.0
// The arm64 guest's program: two devices, 60 frames, pairs. Loads the capture addon that its first word names.
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { arch } from "node:process";
import { openV4l2Source } from "../../../dist/camera/live/open-source.js";

const report = (facts) => process.stdout.write(`@@report ${JSON.stringify(facts)}\n`);
const video = createRequire(import.meta.url)(process.argv[2]);

try {
  assert.equal(arch, "arm64");
  const settings = {
    left: "/dev/video0",
    right: "/dev/video1",
    width: 320,
    height: 180,
    format: "YUYV",
    rateHz: 15,
  };
  const source = await openV4l2Source(settings, { video, clocks: () => video.clocks() });
  const pairs = [];
  await new Promise((resolve, reject) => {
    source.start({
      onPair(pair) {
        const { left, right } = pair;
        pairs.push({
          skewMs: Number(right.timestampNs - left.timestampNs) / 1e6,
          at: left.timestampNs,
          bytes: left.data.length,
        });
        pair.release();
        if (pairs.length === 60) resolve();
      },
      onDegraded: (reason) => reason && reject(new Error(reason)),
      onEnd: () => {},
      onError: reject,
    });
  });
  await source.stop();
  for (const [i, pair] of pairs.entries()) {
    assert(Math.abs(pair.skewMs) <= 33.4, `pair ${i}: ${pair.skewMs} ms`);
    assert(i === 0 || pair.at > pairs[i - 1].at, `pair ${i} in order`);
    assert(pair.bytes >= 320 * 180 * 2);
  }
  report({ case: "arm64", ok: true, arch, pairs: pairs.length, counters: source.counters() });
} catch (error) {
  report({ case: "arm64", ok: false, error: error.stack });
}
process.exit(0);
