// SPDX-License-Identifier: Apache-2.0
// Lowers a clock as the governor does, in the place of depthwatt under its unit, and dies without restoring it.
import assert from "node:assert/strict";
import { ClockLimits } from "/opt/depthwatt/dist/edge/profile/clock-limits.js";

assert.notEqual(process.geteuid(), 0);
const limits = ClockLimits.require();
assert.deepEqual(await limits.change({ gpu: 408e6 }), { gpu: 408e6 });
process.kill(process.pid, "SIGKILL");
