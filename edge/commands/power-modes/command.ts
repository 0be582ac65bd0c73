// SPDX-License-Identifier: Apache-2.0
// depthwatt power-modes: the board's modes and clocks, and the switch for the root helper that changes them for the service.
import { existsSync, realpathSync } from "node:fs";
import type { Command } from "commander";
import { DepthwattError } from "../../../core/index.js";
import { clockOwner, ownClocks, restoreClocks } from "../../../power/index.js";
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
  for (const [name, clock] of Object.entries(ownClocks())) {
    if ("available" in clock) continue;
    const steps = clock.choices.map((hertz) => hertz / 1e6).join(", ");
    printLine(`Clock of the ${name}: at most ${clock.limit / 1e6} MHz; steps: ${steps}`);
  }
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
  // The service could no longer restore what it has lowered.
  if (forbid && !dryRun) restoreClocks(clockOwner());
}

export function define(command: Command): void {
  withDryRun(command)
    .option(
      "--allow",
      "let the service change the power mode and lower clocks, by a helper that runs as root",
    )
    .option("--forbid", "undo --allow")
    .action(powerModes);
  withExamples(command, "depthwatt power-modes", "depthwatt power-modes --allow --dry-run");
}
