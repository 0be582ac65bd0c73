// SPDX-License-Identifier: Apache-2.0
// depthwatt install-service: makes user, groups, settings, udev rule and units, or lists what would be done.
import { readFileSync, realpathSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Command } from "commander";
import { isDepthwattError, packageRoot } from "../../../core/index.js";
import { UDEV_RULE } from "../../../power/index.js";
import { withExamples } from "../../cli/options.js";
import { printLine } from "../../cli/output.js";
import { performSteps, withDryRun, withInstance } from "../../cli/service-steps.js";
import {
  checkInstance,
  DEVICES_UNIT,
  type Machine,
  planInstallation,
  settingsFile,
  UNIT_FILE,
  unitName,
} from "../../service/install-plan.js";
import { isPackaged, mainScript } from "../../service/packaged.js";
import { checkRootsOwn } from "../../service/power-mode/install.js";
import { devicesUnitFor, PASSWORD_FILE, templateFor, unitFor } from "../../service/unit-text.js";

function hasUser(name: string): boolean {
  return readFileSync("/etc/passwd", "utf8")
    .split("\n")
    .some((line) => line.startsWith(`${name}:`));
}

/** Undefined where others than root may write what it would run as root. */
function devicesUnit(node: string): string | undefined {
  const script = fileURLToPath(new URL("../../service/devices/renew.js", import.meta.url));
  try {
    checkRootsOwn([node, script]);
  } catch (error) {
    if (isDepthwattError(error)) return undefined;
    throw error;
  }
  const text = readFileSync(
    new URL("../../service/devices/depthwatt-devices.service", import.meta.url),
    "utf8",
  );
  return devicesUnitFor(text, node, script);
}

function thisMachine(): Machine {
  const script = mainScript();
  const packaged = isPackaged(script);
  const node = realpathSync(process.execPath);
  return {
    node,
    devicesUnit: packaged ? undefined : devicesUnit(node),
    mainScript: script,
    unit: readFileSync(new URL("../../service/depthwatt.service", import.meta.url), "utf8"),
    // The package has put it where udev looks.
    udevRule: packaged ? "" : readFileSync(join(packageRoot(), UDEV_RULE), "utf8"),
    hasUser,
    hostName: hostname(),
    packaged,
  };
}

interface InstallFlags {
  dryRun?: boolean;
  instance?: string;
  printUnit?: boolean;
}

function install({ dryRun = false, printUnit, instance }: InstallFlags): void {
  if (instance !== undefined) checkInstance(instance);
  const machine = thisMachine();
  if (printUnit) {
    printLine((instance === undefined ? unitFor(machine) : templateFor(machine)).trimEnd());
    return;
  }
  performSteps(planInstallation(machine, instance), "install-service", dryRun);
  if (dryRun) {
    printLine(`The unit itself: depthwatt install-service --print-unit (goes to ${UNIT_FILE})`);
    return;
  }
  const unit = unitName(instance);
  if (!machine.packaged && machine.devicesUnit === undefined)
    printLine(
      `Left out: ${DEVICES_UNIT}, because users other than root may write to Node or depthwatt. 'depthwatt doctor' names device rules that are missing.`,
    );
  printLine(
    `Next: edit ${settingsFile(instance)}, put the broker's password into ${PASSWORD_FILE} if it has one, then`,
  );
  printLine(`      systemctl start ${unit} && systemctl status ${unit}`);
}

export function define(command: Command): void {
  withInstance(withDryRun(command))
    .option("--print-unit", "print the unit with this machine's paths, do nothing")
    .action(install);
  withExamples(
    command,
    "depthwatt install-service --dry-run",
    "depthwatt install-service --instance front",
    "depthwatt install-service --print-unit",
  );
}
