// SPDX-License-Identifier: Apache-2.0
// The same capture on an arm64 kernel: an arm64 machine with Debian's arm64 kernel, vivid and Node for arm64.
import { expect, test } from "vitest";
import { needs } from "../doubles/needs.js";
import { arm64Program } from "./arm64.js";
import { runMachine } from "./machine.js";

const LIMIT_SECONDS = 400;

needs("armVm", "vm").suite("cameras of a real arm64 kernel, in a virtual machine", () => {
  test(
    "two devices, 60 frames, pairs",
    async () => {
      const reports: Record<string, unknown>[] = [];
      const guest = new URL("guest/arm64.mjs", import.meta.url).pathname;
      const end = await runMachine({
        name: "capture-arm64",
        architecture: "arm64",
        vivid: "n_devs=2 node_types=0x1,0x1 num_inputs=1,1 input_types=0,0 multiplanar=1,2",
        program: await arm64Program(guest),
        limitSeconds: LIMIT_SECONDS,
        onReport: (report) => reports.push(report),
      });
      const [report] = reports;
      expect(report, end.tail).toBeDefined();
      expect(report!.ok, String(report!.error)).toBe(true);
      expect(report).toMatchObject({ arch: "arm64", pairs: 60 });
    },
    // Fetching kernel and Node and compiling come before the first boot.
    (LIMIT_SECONDS + 300) * 1000,
  );
});
