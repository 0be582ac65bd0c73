// SPDX-License-Identifier: Apache-2.0
// A vitest reporter that ends the run with one line per failed test and its seeds, per skipped test, per test that passed only at the second try, and per
// suite with its seconds against its budget, so that none is ever silent.
import type { Reporter, TestModule } from "vitest/node";
import { findSuite, SUITES } from "../suites.js";

/** One line per suite that ran. `warn`: one more for each that took longer than it may. */
export function overBudget(took: ReadonlyMap<string, number>, warn: boolean): string[] {
  const ran = SUITES.filter(({ name }) => took.has(name)).map((suite) => ({
    ...suite,
    seconds: took.get(suite.name)!,
  }));
  const lines = ran.map(
    ({ name, seconds, budgetSeconds }) => `suite    ${name} ${Math.round(seconds)} s of ${budgetSeconds} s`,
  );
  const late = warn ? ran.filter(({ seconds, budgetSeconds }) => seconds > budgetSeconds) : [];
  const warnings = late.map(
    ({ name, seconds, budgetSeconds }) =>
      `warning  suite ${name} took ${Math.round(seconds)} s, more than its budget of ${budgetSeconds} s`,
  );
  return [...lines, ...warnings];
}

/** Returns the command that repeats a failed test with the same random inputs. */
export function repeatLine(file: string, fullName: string): string {
  const { DEPTHWATT_SEED, V4L2_CAMERA_SEED } = process.env;
  const name = fullName.replaceAll(" > ", " ").replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  const seeds = `DEPTHWATT_SEED=${DEPTHWATT_SEED} V4L2_CAMERA_SEED=${V4L2_CAMERA_SEED}`;
  return `failed   repeat: ${seeds} npx vitest run ${file} -t '${name.replaceAll("'", ".")}'`;
}

const firstLine = (text: string) => text.split("\n")[0];

/** The topmost place of the stack that is no library's. */
const ownLine = (stack = "") =>
  /\(?([^\s(]+:\d+:\d+)/.exec(
    stack.split("\n").find((line) => /:\d+:\d+/.test(line) && !line.includes("node_modules")) ?? "",
  )?.[1];

export default class RunReport implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const tests = modules.flatMap((module) => [...module.children.allTests()]);
    const failed = tests.filter((one) => one.result().state === "failed");
    for (const one of failed) console.log(repeatLine(one.module.relativeModuleId, one.fullName));
    const skipped = tests.filter((one) => one.result().state === "skipped");
    const unsteady = tests.filter((one) => one.diagnostic()?.flaky);
    for (const { fullName } of skipped) console.log(`skipped  ${fullName}`);
    if (skipped.length === 0) console.log("skipped  nothing");
    for (const one of unsteady) {
      const why = one
        .result()
        .errors?.map(({ message, stack }) => `${firstLine(message)} (${ownLine(stack)})`);
      console.log(`unsteady ${one.fullName}: failed once, passed the second time: ${why?.join("; ")}`);
    }
    const took = new Map<string, number>();
    for (const module of modules) {
      const { duration, collectDuration, prepareDuration, environmentSetupDuration } = module.diagnostic();
      const seconds = (duration + collectDuration + prepareDuration + environmentSetupDuration) / 1000;
      const { name } = findSuite(module.relativeModuleId)!;
      took.set(name, (took.get(name) ?? 0) + seconds);
    }
    for (const line of overBudget(took, process.env.CI === "true")) console.log(line);
  }
}
