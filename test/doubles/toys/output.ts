// SPDX-License-Identifier: Apache-2.0
// A toy output: its folder, and its import and name in edge/outputs/list.ts.
import type { TreeCopy } from "../tree-copy.js";

const COUNTER = `// SPDX-License-Identifier: Apache-2.0
// An output that counts.
import { z } from "zod";
import { section, setting } from "../../contracts/setting.js";
import { defineOutput, type FrameLease, type Output } from "../../contracts/output.js";

const settings = section("A counter.", {
  enabled: setting(z.boolean(), { default: false, description: "Counts frames." }),
  manner: setting(z.enum(["good", "throws", "rejects", "holds", "doesNotOpen"]), {
    default: "good",
    description: "How it behaves.",
  }),
});

export const counter = defineOutput({
  settings,
  off: ({ enabled }) => (enabled ? undefined : "outputs.counter.enabled is false"),
  encodings: () => ({ encodeDisparity: "raw" }),
  framesHeld: 1,
  async open({ settings: { manner }, width, height }): Promise<Output> {
    if (manner === "doesNotOpen") throw new Error("its pencil is blunt");
    let sent = 0;
    let bytes = 0;
    const kept: FrameLease[] = [];
    return {
      streams: ["disparity"],
      frame(lease) {
        if (manner === "throws") throw new Error("it cannot count that far");
        if (manner === "rejects") return Promise.reject(new Error("it counts later")) as unknown as void;
        if (manner === "holds") {
          kept.push(lease);
          return;
        }
        const { encodings, result, slot } = lease.frame;
        if (encodings.encodeDisparity === "raw") bytes += result.encodedDisparityBytes;
        if (slot.disparityQ4.length !== width * height) throw new Error("another size");
        sent++;
        lease.sent();
        lease.release();
      },
      counters: () => ({ sent, bytes, drops: {}, details: { kept: kept.length } }),
      close: async () => {},
    };
  },
});
`;

export function addOutput(tree: TreeCopy): void {
  tree.put("edge/outputs/counter/open.ts", COUNTER);
  const next = 'import { mqtt } from "./mqtt/open.js";';
  tree.replace("edge/outputs/list.ts", next, `import { counter } from "./counter/open.js";\n${next}`);
  tree.replace("edge/outputs/list.ts", "  viewer,\n", "  viewer,\n  counter,\n");
}
