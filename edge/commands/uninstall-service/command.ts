// SPDX-License-Identifier: Apache-2.0
// depthwatt uninstall-service: removes what install-service made, or lists what would be removed.
import { existsSync, readdirSync } from "node:fs";
import type { Command } from "commander";
import { withExamples } from "../../cli/options.js";
import { printLine } from "../../cli/output.js";
import { performSteps, withDryRun, withInstance } from "../../cli/service-steps.js";
import { planRemoval } from "../../service/install-plan.js";
import { isPackaged } from "../../service/packaged.js";
import { CONFIG_FOLDER } from "../../service/unit-text.js";

interface UninstallFlags {
  dryRun?: boolean;
  instance?: string;
  purge?: boolean;
}

/** Units of several pairs that start at boot. */
function enabledInstances(): string[] {
  const folder = "/etc/systemd/system/multi-user.target.wants";
  if (!existsSync(folder)) return [];
  return readdirSync(folder).filter((name) => /^depthwatt@.+\.service$/.test(name));
}

function uninstall({ dryRun = false, purge = false, instance }: UninstallFlags): void {
  const installed = { packaged: isPackaged(), exists: existsSync, instances: enabledInstances() };
  const steps = planRemoval(installed, { purge, ...(instance !== undefined && { instance }) });
  performSteps(steps, "uninstall-service", dryRun);
  if (!dryRun && !purge)
    printLine(
      `Settings and password stay in ${CONFIG_FOLDER}, recordings in /var/lib/depthwatt; --purge removes them.`,
    );
}

export function define(command: Command): void {
  withInstance(withDryRun(command))
    .option("--purge", "also remove settings, password and recordings")
    .action(uninstall);
  withExamples(
    command,
    "depthwatt uninstall-service --dry-run",
    "depthwatt uninstall-service --instance front",
  );
}
