// SPDX-License-Identifier: Apache-2.0
// Tests the second boot on a read-only root, and measures the time to the first depth image.
import { readFileSync } from "node:fs";
import { assert, hear, hearDepth, sh, show, tried, UNIT } from "./tools.mjs";

export const cases = {
  "boots to depth on a read-only root, and the time is measured": async () => {
    assert.match(tried("touch", "/etc/x").output, /Read-only file system/);
    const firstDepthSeconds = Number(readFileSync("/run/first-depth", "utf8"));
    assert(firstDepthSeconds > 0);
    await hearDepth();
    const { ActiveState, NRestarts } = show("ActiveState", "NRestarts");
    assert.deepEqual([ActiveState, NRestarts], ["active", "0"]);
    const seconds = (name) => Number(show(name)) / 1e6;
    return {
      serviceStartedSeconds: seconds("ExecMainStartTimestampMonotonic"),
      readySeconds: seconds("ActiveEnterTimestampMonotonic"),
      firstDepthSeconds,
      boot: sh("systemd-analyze", "time").trim(),
    };
  },

  "stops in order: exit code 0, and the state topic reports it": async () => {
    sh("systemctl", "stop", UNIT);
    const { Result, ExecMainStatus } = show("Result", "ExecMainStatus");
    assert.deepEqual([Result, ExecMainStatus], ["success", "0"]);
    assert.equal(JSON.parse(await hear("state")).state, "stopped");
  },
};
