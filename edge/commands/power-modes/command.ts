// SPDX-License-Identifier: Apache-2.0
// depthwatt power-modes: the board's modes, and the switch for the root helper that changes them for the service.
import { existsSync, realpathSync } from "node:fs";
import type { Command } from "commander";
import { DepthwattError } from "../../../core/index.js";
import { withExamples } from "../../cli/options.js";
import { printLine } from "../../cli/output.js";
import { performSteps, withDryRun } from "../../cli/service-steps.js";
import { PowerModes } from "../../profile/power-modes.js";
import { isPackaged } from "../../service/packaged.js";
import { checkRootsOwn, helperPath, planAllowing, planForbidding } from "../../service/power-mode/install.js";
import { POWER_MODE_SOCKET } from "../../service/power-mode/socket.js";

interface PowerModesOptions {
  allow?: boolean;
  forbid?: boolean;
  dryRun?: boolean;
}

function show(): void {
  const modes = PowerModes.open()?.names;
  printLine(
    modes === undefined
      ? "This machine has no /etc/nvpmodel.conf, so it has no power modes."
      : `Power modes: ${modes.join(", ")}`,
  );
  printLine(
    existsSync(POWER_MODE_SOCKET)
      ? "The service may change them; 'depthwatt power-modes --forbid' undoes that."
      : "The service may not change them; 'depthwatt power-modes --allow' permits it.",
  );
}

function powerModes({ allow = false, forbid = false, dryRun = false }: PowerModesOptions): void {
  if (allow && forbid)
    throw new DepthwattError("USAGE", "expected one of --allow and --forbid, got both", {
      hint: "Give one of them.",
    });
  if (!allow && !forbid) {
    show();
    return;
  }
  const helper = realpathSync(helperPath());
  const node = realpathSync(process.execPath);
  if (allow) checkRootsOwn([node, helper]);
  const packaged = isPackaged();
  const steps = allow ? planAllowing(node, helper, packaged) : planForbidding(packaged);
  performSteps(steps, `power-modes ${allow ? "--allow" : "--forbid"}`, dryRun);
}

export function define(command: Command): void {
  withDryRun(command)
    .option("--allow", "let the service change the power mode, by a helper that runs as root")
    .option("--forbid", "undo --allow")
    .action(powerModes);
  withExamples(command, "depthwatt power-modes", "depthwatt power-modes --allow --dry-run");
}
