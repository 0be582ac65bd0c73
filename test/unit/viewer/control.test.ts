// SPDX-License-Identifier: Apache-2.0
// Tests the page's requests and their proof: signed in the page, once, for this device and this endpoint.
import { expect, test } from "vitest";
import { requestPayload, setSecret } from "../../../clients/page/settings/request.js";
import type { RunControl } from "../../../edge/contracts/control.js";
import { requestPayload as clientPayload } from "../../../edge/control/client.js";
import { signRequest } from "../../../edge/control/signature.js";
import { createPageControl } from "../../../edge/outputs/viewer/control.js";

const SECRET = "open sesame, at once";
const VISITOR = { who: "10.0.0.1", local: false };
const FOR = "page of depthwatt/robot-1";

function opened(changes: Partial<RunControl> = {}, gated = true) {
  const performed: unknown[] = [];
  const notices: string[] = [];
  const control: RunControl = {
    off: undefined,
    trial: false,
    canSave: false,
    secret: undefined,
    brokerAuthenticates: false,
    settings: () => ({ settings: [], values: {}, presets: [] }),
    perform: async (command, body, from) => {
      performed.push([command, body, from]);
      return { ok: true, values: {} };
    },
    ...changes,
  };
  const door = createPageControl({
    control,
    device: "depthwatt/robot-1",
    gated,
    notice: (text) => notices.push(text),
  });
  const ask = async (payload: string, command = "set") =>
    (await door.ask({ type: "ask", id: 1, command, payload }, VISITOR)).answer;
  return { door, ask, performed, notices };
}

const request = (signedFor: string | undefined, timeMs = Date.now() + 1) =>
  requestPayload({ id: "1", command: "set", body: { values: { a: 1 } }, signedFor, timeMs });

test("without a secret and without a password in front of it, control is off and says why", async () => {
  const { door, ask, performed } = opened({}, false);
  const reason = "control needs control.secretFile or http.passwordFile.";
  expect(door.describe(VISITOR).state).toEqual({ enabled: false, reason });
  expect(await ask(request(undefined))).toMatchObject({
    code: "CONTROL_UNSUPPORTED",
    hint: expect.stringMatching(/It is off/),
  });
  const off = opened({ off: "control.enabled is false." });
  expect(await off.ask(request(undefined))).toMatchObject({
    code: "CONTROL_UNSUPPORTED",
    hint: "It is off: control.enabled is false.",
  });
  expect([performed, off.performed]).toEqual([[], []]);
});

test("behind the page's password a request needs no signature, and who asked is reported", async () => {
  const { door, ask, performed } = opened();
  expect(door.describe(VISITOR).state).toEqual({ enabled: true, canSave: false });
  expect(await ask(request(undefined))).toMatchObject({ ok: true });
  expect(performed).toEqual([["set", { values: { a: 1 } }, "the page at 10.0.0.1"]]);
});

test("with a secret: the page's signature is the device's own, good once, for this door only", async () => {
  const { door, ask, performed, notices } = opened({ secret: SECRET });
  expect(door.describe(VISITOR).state).toEqual({ enabled: true, canSave: false, signedFor: FOR });
  setSecret(SECRET);
  const good = request(FOR);
  const { signed, signature } = JSON.parse(good);
  expect(signature).toBe(signRequest(SECRET, { device: FOR, command: "set", text: signed }));
  expect(good).not.toContain("sesame");
  expect(await ask(good)).toMatchObject({ ok: true });
  expect(await ask(good)).toMatchObject({ code: "CONTROL_REPLAYED" });
  expect(await ask(request(FOR), "restart")).toMatchObject({ code: "CONTROL_SECRET" });
  expect(await ask(request("page of depthwatt/robot-2"))).toMatchObject({ code: "CONTROL_SECRET" });
  expect(await ask(request(FOR, Date.now() - 31_000))).toMatchObject({ code: "CONTROL_TIME" });
  // A request that was recorded at the broker is invalid here.
  const at = { base: "depthwatt", device: "robot-1", secret: SECRET, client: "anna" };
  const heard = clientPayload(at, "set", { values: { a: 1 } }, "9");
  expect(await ask(heard)).toMatchObject({ code: "CONTROL_SECRET" });
  expect(await ask(request(undefined))).toMatchObject({ code: "CONTROL_SECRET" });
  setSecret("open barley, at once");
  expect(await ask(request(FOR))).toMatchObject({ code: "CONTROL_SECRET" });
  expect(performed).toHaveLength(1);
  expect(notices.at(-1)).toMatch(/^a request of the page at 10\.0\.0\.1 was refused/);
});

test("a trial: a page on this machine needs no proof, any other changes nothing", async () => {
  const { door, ask, performed } = opened({ off: "control.enabled is false.", trial: true }, false);
  const local = { who: "127.0.0.1", local: true };
  expect(door.describe(local).state).toMatchObject({
    enabled: true,
    note: expect.stringMatching(/No secret/),
  });
  expect(door.describe(VISITOR).state).toMatchObject({ enabled: false });
  expect(await ask(request(undefined))).toMatchObject({ code: "CONTROL_UNSUPPORTED" });
  expect(performed).toEqual([]);
  const { answer } = await door.ask(
    { type: "ask", id: 1, command: "set", payload: request(undefined) },
    local,
  );
  expect(answer).toMatchObject({ ok: true });
  expect(performed).toEqual([["set", { values: { a: 1 } }, "the page at 127.0.0.1"]]);
});

test("a flood of wrong requests is answered, too", async () => {
  const { ask } = opened({ secret: SECRET });
  const codes = [];
  for (let i = 0; i < 12; i++) codes.push((await ask("{}")) as { code?: string });
  expect(codes.at(-1)).toMatchObject({ code: "CONTROL_BUSY" });
});
