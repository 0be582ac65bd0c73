// SPDX-License-Identifier: Apache-2.0
// A toy parameter of a matcher that is there: one line among its settings, and its use in the same file.
import type { TreeCopy } from "../tree-copy.js";

const FILE = "cuda/match/sad/sad.cpu.cc";
const PARAMETER = `    wholeNumber("toyWidth", 0, 7, 0, "px", "Replaces the width of the window, which is odd. 0 does not."),
`;

export function addParameter(tree: TreeCopy): void {
  const before = "constexpr Setting kParameters[] = {\n";
  tree.replace(FILE, before, before + PARAMETER);
  const opens = "const Status status =\n      Sad::open(sadParametersFrom(task), ";
  tree.replace(
    FILE,
    opens,
    `SadParameters parameters = sadParametersFrom(task);
  if (task.matcher.at("toyWidth") > 0) parameters.windowWidth = task.matcher.at("toyWidth");
  ${opens.replace("sadParametersFrom(task)", "parameters")}`,
  );
}
