// SPDX-License-Identifier: Apache-2.0
// A vitest reporter that ends the run with one line per skipped test, so that a skip is never silent.
import type { Reporter, TestModule } from "vitest/node";

export default class SkipReport implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const skipped: string[] = [];
    for (const module of modules) {
      for (const testCase of module.children.allTests("skipped")) skipped.push(testCase.fullName);
    }
    for (const name of skipped) console.log(`skipped  ${name}`);
    if (skipped.length === 0) console.log("skipped  nothing");
  }
}
