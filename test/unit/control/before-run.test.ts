// SPDX-License-Identifier: Apache-2.0
// Requests that come while the run is being opened: the page and the broker can be reached before the last output is.
import { expect, test } from "vitest";
import { loadConfig } from "../../../edge/config/index.js";
import { Snapshots } from "../../../edge/control/snapshot.js";
import { openControl } from "../../../edge/run/open-control.js";
import { Runtime } from "../../../edge/run/runtime.js";

function opening(restart?: () => void) {
  const set = ["board=none", "outputs.mqtt.broker=none"];
  const { config } = loadConfig({ set, environment: {} });
  const notices: string[] = [];
  const runtime = new Runtime(config, { onNotice: (notice) => notices.push(notice) });
  const snapshots = new Snapshots(() => ({ info: {}, cameraInfo: undefined }));
  return { runtime, notices, control: openControl(runtime, snapshots, restart ? { restart } : {}) };
}

test("a run that cannot be opened answers that it has ended", async () => {
  const { runtime, control, notices } = opening();
  const answer = control.perform("set", { values: { "match.sgm.paths": 8 } }, "anna");
  await runtime.close();
  expect(await answer).toMatchObject({ ok: false, code: "RUN_ENDED" });
  expect(notices).toEqual([]);
});

test("a request waits until the run begins", async () => {
  const restarts: string[] = [];
  const { runtime, control } = opening(() => restarts.push("restart"));
  const answer = control.perform("restart", {}, "anna");
  await new Promise((resolve) => setImmediate(resolve));
  expect(restarts).toEqual([]);
  // Nothing was opened here, so it fails when it has begun.
  await expect(runtime.run()).rejects.toThrow();
  expect(await answer).toMatchObject({ ok: true, restarting: true });
  expect(restarts).toEqual(["restart"]);
});
