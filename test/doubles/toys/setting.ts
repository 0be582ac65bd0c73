// SPDX-License-Identifier: Apache-2.0
// A toy setting: one entry in its section, and its use.
import type { TreeCopy } from "../tree-copy.js";

export function addSetting(tree: TreeCopy): void {
  const next = "  level: setting(";
  tree.replace(
    "edge/config/schema-log.ts",
    next,
    `  toyRepeats: setting(z.int().min(1).max(5), {
    default: 1,
    description: "How often a run names its source.",
  }),
${next}`,
  );
  const use = '  line("source", source.description.title);\n';
  tree.replace(
    "edge/cli/run/greeting.ts",
    use,
    `  for (let i = 0; i < runtime.config.log.toyRepeats; i++)\n  ${use}`,
  );
}
