// SPDX-License-Identifier: Apache-2.0
// A vitest reporter that ends the run with one line per skipped test and per test that passed only at the second try, so that
// neither is ever silent.
import type { Reporter, TestModule } from "vitest/node";

export default class RunReport implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const tests = modules.flatMap((module) => [...module.children.allTests()]);
    const skipped = tests.filter((one) => one.result().state === "skipped");
    const unsteady = tests.filter((one) => one.diagnostic()?.flaky);
    for (const { fullName } of skipped) console.log(`skipped  ${fullName}`);
    if (skipped.length === 0) console.log("skipped  nothing");
    for (const { fullName } of unsteady)
      console.log(`unsteady ${fullName}: failed once, passed the second time`);
  }
}
