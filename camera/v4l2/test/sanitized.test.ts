// SPDX-License-Identifier: Apache-2.0
// The package's own suite with an addon and a driver in memory that AddressSanitizer and UBSan watch.
import { test } from "vitest";
import { runSanitized } from "../../../test/doubles/sanitized.js";

const FILES = [
  "camera",
  "native-closing",
  "native-faults",
  "open",
  "frames",
  "controls",
  "planes",
  "failures",
  "refused",
  "driver-lies",
  "stereo",
  "hostile",
];

test("AddressSanitizer and UBSan find nothing in the suite", { timeout: 1_800_000 }, () =>
  runSanitized(
    "v4l2_camera",
    FILES.map((name) => `camera/v4l2/test/${name}.test.ts`),
    60,
  ),
);
