// SPDX-License-Identifier: Apache-2.0
// Shows how many scenes an evaluation has matched, over all its runs.
import { note } from "../../cli/output.js";
import { Progress } from "../../cli/progress.js";
import type { Scene } from "../../eval/index.js";

/** Draws one bar for several runs of the same scenes. A run has one setting, such as one value of a sweep. */
export class EvalProgress {
  readonly #bar = new Progress();
  readonly #runs: number;
  #run = -1;
  #name = "";

  constructor(runs: number) {
    this.#runs = runs;
  }

  /** Starts the next run. Without a terminal, its name is printed instead of a bar. */
  begin(name: string): void {
    this.#run++;
    this.#name = name;
    if (!process.stderr.isTTY) note(name);
  }

  scene({ name }: Scene, index: number, scenes: number): void {
    const words = [this.#name, name].filter((word) => word !== "");
    const run = Math.max(this.#run, 0);
    this.#bar.show(run * scenes + index, this.#runs * scenes, words.join(", "));
  }

  clear(): void {
    this.#bar.clear();
  }
}
