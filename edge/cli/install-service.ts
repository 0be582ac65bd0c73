// SPDX-License-Identifier: Apache-2.0
// depthwatt install-service, uninstall-service: user, groups, settings, udev rule and units, there and away again, or a list of
// what would be done.
import { existsSync, readdirSync, readFileSync, realpathSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import type { Command } from "commander";
import { DepthwattError } from "../../core/index.js";
import { packageRoot } from "../../core/index.js";
import { UDEV_RULE } from "../../power/index.js";
import {
  checkInstance,
  type Machine,
  planInstallation,
  planRemoval,
  settingsFile,
  unitName,
  UNIT_FILE,
} from "../service/install-plan.js";
import { isPackaged, mainScript } from "../service/packaged.js";
import { describeStep, perform, type Step } from "../service/steps.js";
import { CONFIG_FOLDER, PASSWORD_FILE, templateFor, unitFor } from "../service/unit-text.js";
import { withExamples } from "./options.js";
import { printLine } from "./output.js";

function hasUser(name: string): boolean {
  return readFileSync("/etc/passwd", "utf8")
    .split("\n")
    .some((line) => line.startsWith(`${name}:`));
}

function thisMachine(): Machine {
  const script = mainScript();
  const packaged = isPackaged(script);
  return {
    node: realpathSync(process.execPath),
    mainScript: script,
    unit: readFileSync(new URL("../service/depthwatt.service", import.meta.url), "utf8"),
    // The package has put it where udev looks.
    udevRule: packaged ? "" : readFileSync(join(packageRoot(), UDEV_RULE), "utf8"),
    hasUser,
    hostName: hostname(),
    packaged,
  };
}

/** Units of several pairs that start at boot. */
function enabledInstances(): string[] {
  const folder = "/etc/systemd/system/multi-user.target.wants";
  if (!existsSync(folder)) return [];
  return readdirSync(folder).filter((name) => /^depthwatt@.+\.service$/.test(name));
}

/** Prints each step, and does it unless it is a dry run. */
function go(steps: readonly Step[], command: string, dryRun: boolean): void {
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

interface InstallOptions {
  dryRun?: boolean;
  printUnit?: boolean;
  instance?: string;
}

function install({ dryRun = false, printUnit, instance }: InstallOptions): void {
  if (instance !== undefined) checkInstance(instance);
  const machine = thisMachine();
  if (printUnit) {
    printLine((instance === undefined ? unitFor(machine) : templateFor(machine)).trimEnd());
    return;
  }
  go(planInstallation(machine, instance), "install-service", dryRun);
  if (dryRun) {
    printLine(`The unit itself: depthwatt install-service --print-unit (goes to ${UNIT_FILE})`);
    return;
  }
  const unit = unitName(instance);
  printLine(
    `Next: edit ${settingsFile(instance)}, put the broker's password into ${PASSWORD_FILE} if it has one, then`,
  );
  printLine(`      systemctl start ${unit} && systemctl status ${unit}`);
}

function uninstall({ dryRun = false, purge = false, instance }: InstallOptions & { purge?: boolean }): void {
  const installed = { packaged: isPackaged(), exists: existsSync, instances: enabledInstances() };
  const steps = planRemoval(installed, { purge, ...(instance !== undefined && { instance }) });
  go(steps, "uninstall-service", dryRun);
  if (!dryRun && !purge)
    printLine(
      `Settings and password stay in ${CONFIG_FOLDER}, recordings in /var/lib/depthwatt; --purge removes them.`,
    );
}

const INSTANCE = [
  "--instance <name>",
  "one of several pairs of cameras: depthwatt@<name>, with settings of its own",
] as const;

export function defineInstallService(command: Command): void {
  command
    .option("--dry-run", "print each step, do nothing")
    .option("--print-unit", "print the unit with this machine's paths, do nothing")
    .option(...INSTANCE)
    .action(install);
  withExamples(
    command,
    "depthwatt install-service --dry-run",
    "depthwatt install-service --instance front",
    "depthwatt install-service --print-unit",
  );
}

export function defineUninstallService(command: Command): void {
  command
    .option("--dry-run", "print each step, do nothing")
    .option("--purge", "remove settings, password and recordings, too")
    .option(...INSTANCE)
    .action(uninstall);
  withExamples(
    command,
    "depthwatt uninstall-service --dry-run",
    "depthwatt uninstall-service --instance front",
  );
}
