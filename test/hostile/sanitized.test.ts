// SPDX-License-Identifier: Apache-2.0
// The addon with its Node-API part under AddressSanitizer and UBSan: calls with words of the wrong kind, images that are given away,
// processes and threads that end meanwhile, and one test file of each part that has native code. All of `npm test` runs so by
// `node test/sanitize/sanitize.mjs`.
import { test } from "vitest";
import { needs } from "../doubles/needs.js";
import { runSanitized } from "../doubles/sanitized.js";

const FILES = [
  "test/hostile/native-calls.test.ts",
  "test/hostile/leaving.test.ts",
  "test/integration/native-arguments.test.ts",
  "test/integration/registration.test.ts",
  "test/stages/rectify.test.ts",
  "test/stages/rvl.test.ts",
  "test/unit/power/nvml.test.ts",
  "test/unit/power/sampler.test.ts",
  "test/unit/synthetic.test.ts",
];

needs("toolchain").suite("the addon under sanitizers", () => {
  test("AddressSanitizer and UBSan find nothing", { timeout: 1_800_000 }, () =>
    runSanitized("depthwatt", FILES, 500),
  );
});
