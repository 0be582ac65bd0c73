// SPDX-License-Identifier: Apache-2.0
// Acts as the governor's last step, in the place of depthwatt under its unit: sets another mode, and restores the first
// one at the end.
import assert from "node:assert/strict";
import { PowerModes } from "/opt/depthwatt/dist/edge/profile/power-modes.js";

assert.notEqual(process.geteuid(), 0);
const modes = PowerModes.open();
await modes.change("30W");
modes.restore();
