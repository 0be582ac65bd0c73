// SPDX-License-Identifier: Apache-2.0
// depthwatt install-service: user, groups, settings, udev rule and unit, or a list of what it would do.
import { readFileSync, realpathSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Command } from "commander";
import { DepthwattError } from "../../core/index.js";
import { packageRoot } from "../../core/index.js";
import { UDEV_RULE } from "../../power/index.js";
import {
  CONFIG_FILE,
  describeStep,
  type Machine,
  PASSWORD_FILE,
  perform,
  planInstallation,
  UNIT_FILE,
  unitFor,
} from "../service/install-plan.js";
import { withExamples } from "./options.js";
import { printLine } from "./output.js";

function hasUser(name: string): boolean {
  return readFileSync("/etc/passwd", "utf8")
    .split("\n")
    .some((line) => line.startsWith(`${name}:`));
}

function thisMachine(): Machine {
  return {
    node: realpathSync(process.execPath),
    mainScript: realpathSync(fileURLToPath(new URL("./main.js", import.meta.url))),
    unit: readFileSync(new URL("../service/depthwatt.service", import.meta.url), "utf8"),
    udevRule: readFileSync(join(packageRoot(), UDEV_RULE), "utf8"),
    hasUser,
  };
}

function install(options: { dryRun?: boolean; printUnit?: boolean }): void {
  const machine = thisMachine();
  if (options.printUnit) {
    printLine(unitFor(machine).trimEnd());
    return;
  }
  const steps = planInstallation(machine);
  if (!options.dryRun && process.getuid?.() !== 0) {
    throw new DepthwattError("SERVICE_FAILED", "installing a service needs root", {
      hint: "Run 'sudo depthwatt install-service', or add --dry-run to see each step.",
    });
  }
  for (const [index, step] of steps.entries()) {
    const number = `${index + 1}/${steps.length}`.padStart(5);
    printLine(`${number}  ${options.dryRun ? "would " : ""}${describeStep(step)}`);
    const leftOut = options.dryRun ? undefined : perform(step);
    if (leftOut !== undefined) printLine(`       ${leftOut}`);
  }
  if (options.dryRun) {
    printLine(
      `Nothing was changed. The unit itself: depthwatt install-service --print-unit (goes to ${UNIT_FILE})`,
    );
    return;
  }
  printLine(`Next: edit ${CONFIG_FILE}, put the broker's password into ${PASSWORD_FILE} if it has one, then`);
  printLine("      systemctl start depthwatt && systemctl status depthwatt");
}

export function defineInstallService(command: Command): void {
  command
    .option("--dry-run", "print each step, do nothing")
    .option("--print-unit", "print the unit with this machine's paths, do nothing")
    .action(install);
  withExamples(command, "depthwatt install-service --dry-run", "depthwatt install-service --print-unit");
}
