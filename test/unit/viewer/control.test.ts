// SPDX-License-Identifier: Apache-2.0
// Who may change settings from the page: secrets, their limit, the pace, and what is answered.
import { expect, test } from "vitest";
import { DepthwattError } from "../../../core/index.js";
import type { RunControl } from "../../../edge/outputs/output.js";
import { controlOf } from "../../../edge/outputs/viewer/control.js";

function control(changes: Partial<RunControl> = {}) {
  const applied: object[] = [];
  const run: RunControl = {
    ...{ off: undefined, secret: undefined, brokerAuthenticates: false },
    perform: () => Promise.reject(new Error("the page does not ask this way")),
    settings: () => ({ settings: [], values: {} }),
    apply: async (change) => {
      applied.push(change);
      if ("bad" in change)
        throw new DepthwattError("CONFIG_INVALID", "expected another", { hint: "Try it." });
      return change;
    },
    ...changes,
  };
  return { run, applied };
}
const set = (values: Record<string, number>, secret?: string) =>
  ({ type: "set", id: 1, values, ...(secret !== undefined && { secret }) }) as const;

test("without a secret and without a password in front of it, control is off and says why", async () => {
  const { run, applied } = control();
  const open = controlOf(run, false, () => {});
  expect(open.describe().state).toEqual({
    enabled: false,
    reason: "control needs control.secretFile or http.passwordFile.",
  });
  expect(await open.set(set({ a: 1 }), "x")).toMatchObject({ ok: false, code: "CONTROL_OFF" });
  expect(applied).toEqual([]);
  expect(controlOf(run, true, () => {}).describe().state).toEqual({ enabled: true, secret: false });
  const off = controlOf(control({ off: "it is off" }).run, true, () => {});
  expect(await off.set(set({ a: 1 }), "x")).toMatchObject({ ok: false, code: "CONTROL_OFF" });
});

test("the secret must be right, each time, and who changed what is told", async () => {
  const { run, applied } = control({ secret: "open sesame" });
  const notices: string[] = [];
  const door = controlOf(run, true, (text) => notices.push(text));
  expect(await door.set(set({ a: 1 }), "10.0.0.1")).toMatchObject({ ok: false, code: "CONTROL_SECRET" });
  expect(await door.set(set({ a: 1 }, "open barley"), "10.0.0.1")).toMatchObject({ code: "CONTROL_SECRET" });
  expect(applied).toEqual([]);
  expect(await door.set(set({ a: 1 }, "open sesame"), "10.0.0.1")).toMatchObject({
    ok: true,
    values: { a: 1 },
  });
  expect(applied).toEqual([{ a: 1 }]);
  expect(notices.at(-1)).toBe("settings changed by the page at 10.0.0.1: a=1");
  expect(notices.join(" ")).not.toContain("sesame");
});

test("a change that is refused is answered with its code, message and hint", async () => {
  const { run } = control();
  expect(await controlOf(run, true, () => {}).set(set({ bad: 1 }), "x")).toMatchObject({
    ...{ id: 1, ok: false, code: "CONFIG_INVALID", message: "expected another", hint: "Try it." },
  });
});

test("ten changes a second, the eleventh waits", async () => {
  const { run, applied } = control();
  let now = 0;
  const door = controlOf(
    run,
    true,
    () => {},
    () => now,
  );
  const answers = [];
  for (let i = 0; i < 11; i++) answers.push((await door.set(set({ a: i }), "x")).ok);
  expect(answers).toEqual([...Array(10).fill(true), false]);
  now = 1001;
  expect(await door.set(set({ a: 99 }), "x")).toMatchObject({ ok: true });
  expect(applied).toHaveLength(11);
});
