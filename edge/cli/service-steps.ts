// SPDX-License-Identifier: Apache-2.0
// Steps that change this machine, printed and done, and the flags of the commands that do so.
import type { Command } from "commander";
import { DepthwattError } from "../../core/index.js";
import { describeStep, perform, type Step } from "../service/steps.js";
import { printLine } from "./output.js";

/** Adds --dry-run. */
export const withDryRun = (command: Command): Command =>
  command.option("--dry-run", "print each step, do nothing");

/** Adds --instance. */
export const withInstance = (command: Command): Command =>
  command.option(
    "--instance <name>",
    "one of several pairs of cameras: depthwatt@<name>, with separate settings",
  );

/**
 * Prints each step, and does it unless it is a dry run.
 * @param command for the hint
 * @throws DepthwattError SERVICE_FAILED without root
 */
export function performSteps(steps: readonly Step[], command: string, dryRun: boolean): void {
  if (!dryRun && process.getuid?.() !== 0) {
    throw new DepthwattError("SERVICE_FAILED", "changing the services of a machine needs root", {
      hint: `Run 'sudo depthwatt ${command}', or add --dry-run to see each step.`,
    });
  }
  for (const [index, step] of steps.entries()) {
    const number = `${index + 1}/${steps.length}`.padStart(5);
    printLine(`${number}  ${dryRun ? "would " : ""}${describeStep(step)}`);
    const leftOut = dryRun ? undefined : perform(step);
    if (leftOut !== undefined) printLine(`       ${leftOut}`);
  }
  if (dryRun) printLine("Nothing was changed.");
}
