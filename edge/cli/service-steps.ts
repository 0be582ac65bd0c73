// SPDX-License-Identifier: Apache-2.0
// What install-service and uninstall-service share: their flags, and the steps as they are printed and done.
import type { Command } from "commander";
import { DepthwattError } from "../../core/index.js";
import { describeStep, perform, type Step } from "../service/steps.js";
import { printLine } from "./output.js";

export interface ServiceFlags {
  dryRun?: boolean;
  instance?: string;
}

export function withServiceFlags(command: Command): Command {
  return command
    .option("--dry-run", "print each step, do nothing")
    .option(
      "--instance <name>",
      "one of several pairs of cameras: depthwatt@<name>, with settings of its own",
    );
}

/** Prints each step, and does it unless it is a dry run. */
export function go(steps: readonly Step[], command: string, dryRun: boolean): void {
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
