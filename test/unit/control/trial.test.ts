// SPDX-License-Identifier: Apache-2.0
// Tests when settings can be changed without a secret: only where no other machine reaches the run.
import { expect, test } from "vitest";
import { loadConfig, SETTINGS } from "../../../edge/config/index.js";
import { Control, isTrialSetting } from "../../../edge/control/control.js";
import { Snapshots } from "../../../edge/control/snapshot.js";
import { openControl } from "../../../edge/run/open-control.js";
import { Runtime } from "../../../edge/run/runtime.js";

function isTrial(set: string[] = [], host = { trial: true }): boolean {
  const { config } = loadConfig({ set: ["board=none", ...set], environment: {} });
  const runtime = new Runtime(config, { onNotice: () => {} });
  const snapshots = new Snapshots(() => ({ info: {}, cameraInfo: undefined }));
  const control = openControl(runtime, snapshots, host);
  // Clients of the broker are kept out in any case.
  if (control.trial) expect(control.off).toBe("control.enabled is false.");
  return control.trial;
}

test("the defaults are a trial where the owner of the run allows it", () => {
  expect(isTrial()).toBe(true);
  expect(isTrial([], { trial: false })).toBe(false);
});

test.each([
  [["outputs.mqtt.broker=mqtt://broker.local"]],
  [["outputs.mqtt.broker=none"]],
  [["http.address=0.0.0.0", "http.passwordFile=password"]],
  [["http.passwordFile=password"]],
  [["control.secretFile=secret"]],
])("%j is no trial", (set) => {
  expect(isTrial(set)).toBe(false);
});

test("a trial changes no file and no source", async () => {
  const { config } = loadConfig({ set: ["board=none"], environment: {} });
  const changed: object[] = [];
  const run = {
    config,
    apply: async (change: object) => {
      changed.push(change);
      return change as never;
    },
    notice: () => {},
    snapshot: async () => {
      throw new Error("not asked for");
    },
  };
  const control = new Control(run, {
    off: "off",
    trial: true,
    secret: undefined,
    brokerAuthenticates: false,
  });
  const closed = SETTINGS.filter(
    ({ key, facts }) => facts.isPath === true || /^source\.(?!synthetic\.)/.test(key),
  );
  expect(closed.length).toBeGreaterThan(20);
  expect(closed.filter(({ key }) => isTrialSetting(key))).toEqual([]);
  for (const key of ["calibration.file", "source.kind", "source.replay.left", "source.v4l2.left"]) {
    const refused = { ok: false, code: "CONTROL_UNSUPPORTED" };
    expect(await control.perform("set", { values: { [key]: "x" } }, "a test"), key).toMatchObject(refused);
    expect(await control.perform("get", { keys: [key] }, "a test"), key).toMatchObject(refused);
  }
  expect(changed).toEqual([]);
  expect(control.settings().settings.map(({ key }) => key)).not.toContain("source.kind");
  const answer = await control.perform("set", { values: { "match.sgm.paths": 8 } }, "a test");
  expect([answer.ok, changed]).toEqual([true, [{ "match.sgm.paths": 8 }]]);
});
