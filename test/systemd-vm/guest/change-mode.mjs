// SPDX-License-Identifier: Apache-2.0
// What the governor does at its last step, run in the place of depthwatt under its unit: another mode, and the first one at the end.
import assert from "node:assert/strict";
import { PowerModes } from "/opt/depthwatt/dist/edge/profile/power-modes.js";

assert.notEqual(process.geteuid(), 0);
const modes = PowerModes.open();
await modes.change("30W");
modes.restore();
