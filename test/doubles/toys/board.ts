// SPDX-License-Identifier: Apache-2.0
// A toy board: one file in board-configs.
import type { TreeCopy } from "../tree-copy.js";

const BOARD = {
  extends: "nano",
  name: "toy",
  title: "Toy board",
  compatible: ["toy,board"],
  identity: {
    modules: [],
    soc: ["toy,chip"],
    models: [],
    source: "https://example.org",
    evidence: "memory",
    verified: false,
  },
  settings: { match: { numDisparities: 48 } },
};

export function addBoard(tree: TreeCopy): void {
  tree.put("board-configs/toy.json", `${JSON.stringify(BOARD, null, 2)}\n`);
}
