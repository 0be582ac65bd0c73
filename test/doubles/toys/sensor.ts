// SPDX-License-Identifier: Apache-2.0
// A toy sensor: a file, and its import and name in power/sensors.ts.
import type { TreeCopy } from "../tree-copy.js";

const SENSOR = `// SPDX-License-Identifier: Apache-2.0
// A rail of 2500 mW.
import { defineSensor } from "./sensor-definition.js";

export const toy = defineSensor({
  name: "toy",
  choices: ["toy"],
  measures: "board",
  open: ({ clock = process.hrtime.bigint }) => ({
    name: "toy",
    rails: [{ label: "TOY", sourcePath: "toy", kind: "power", updateIntervalMs: undefined, step: undefined }],
    total: { rails: ["TOY"], reason: "it is the only rail" },
    read: () => [{ available: true, timestampNs: clock(), powerMilliwatts: 2500 }],
    close() {},
  }),
});
`;

export function addSensor(tree: TreeCopy): void {
  tree.put("power/toy.ts", SENSOR);
  const next = 'import { rapl } from "./rapl.js";\n';
  tree.replace("power/sensors.ts", next, `${next}import { toy } from "./toy.js";\n`);
  tree.replace("power/sensors.ts", "[ina, ", "[toy, ina, ");
}
