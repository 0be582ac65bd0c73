// SPDX-License-Identifier: Apache-2.0
// The package on a real kernel: boots a virtual machine with vivid's cameras, runs guest/cases.mjs in it, shows each case as a
// test. With V4L2_CAMERA_MEASURE=FILE it runs guest/measure.mjs instead and writes the rows there.
import { writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import { runMachine } from "../../../../test/capture-vm/machine.js";
import { caseNamesIn, machineTests } from "../../../../test/capture-vm/machine-suite.js";
import { needs } from "../../../../test/doubles/needs.js";

/** Two webcams, the second multi-planar. */
const VIVID = "n_devs=2 node_types=0x1,0x1 num_inputs=1,1 input_types=0,0 multiplanar=1,2";
/** Far above what it takes: a hang ends here, a busy host does not. */
const LIMIT_SECONDS = 600;
const guest = (name: string) => new URL(`guest/${name}`, import.meta.url).pathname;
const measured = process.env.V4L2_CAMERA_MEASURE;

needs("vm", "v4l").suite("v4l2-camera on a real kernel, in a virtual machine", () => {
  if (measured !== undefined) {
    test("measurement", { timeout: LIMIT_SECONDS * 1000 }, async () => {
      const rows: unknown[] = [];
      const end = await runMachine({
        name: "v4l2-camera-measure",
        vivid: VIVID,
        program: [process.execPath, guest("measure.mjs")],
        limitSeconds: LIMIT_SECONDS,
        onReport: ({ row }) => rows.push(row),
      });
      writeFileSync(measured, `${JSON.stringify(rows, null, 2)}\n`);
      expect(rows, end.tail).toHaveLength(18);
    });
    return;
  }

  machineTests({
    names: caseNamesIn(new URL("guest/cases.mjs", import.meta.url)),
    limitSeconds: LIMIT_SECONDS,
    run: (onReport) =>
      runMachine({
        name: "v4l2-camera",
        vivid: VIVID,
        program: [process.execPath, guest("cases.mjs")],
        limitSeconds: LIMIT_SECONDS,
        onReport,
      }),
  });
});
