// SPDX-License-Identifier: Apache-2.0
// Fuzzes requests: any bytes at the gate of control, and any JSON in a correctly signed request, get one answer of a
// known form, and the configuration stays one that the program could have been started with.
import fc from "fast-check";
import { afterAll, expect, test } from "vitest";
import { ERROR_CATALOGUE } from "../../core/index.js";
import { changedConfig, loadConfig, SETTINGS, type SettingsChange } from "../../edge/config/index.js";
import { brokenRules } from "../../edge/config/rules.js";
import { COMMAND_NAMES } from "../../edge/control/commands.js";
import { Control } from "../../edge/control/control.js";
import { MAX_REQUEST_BYTES, RequestGate, type WireAnswer } from "../../edge/control/gate.js";
import { signRequest } from "../../edge/control/signature.js";
import { reportFuzz } from "../doubles/fuzz-report.js";

const SECRET = "the secret of the tests";
const numRuns = Number(process.env.DEPTHWATT_HOSTILE_COUNT ?? 3000);
const seed = Number(process.env.DEPTHWATT_SEED ?? Date.now()) | 0;

let executions = 0;
afterAll(() => reportFuzz("requests", { executions, seed }));

function door(secret: string | undefined) {
  const { config } = loadConfig({ set: ["board=none"], environment: {} });
  const complaints: string[] = [];
  const run = {
    config,
    async apply(change: SettingsChange, from: string) {
      run.config = changedConfig(run.config, change, from).config;
      return change;
    },
    notice: (text: string) => void (text.includes("failed") && complaints.push(text)),
    snapshot: () => Promise.resolve({ zip: new Uint8Array(3), files: [], width: 1, height: 1 }),
  };
  let ms = 0;
  const now = () => (ms += 1000); // no limit of requests a second
  const control = new Control(run, { off: undefined, secret, brokerAuthenticates: !secret, now });
  const perform = (command: string, body: unknown, from: string) => control.perform(command, body, from);
  return { run, complaints, gate: new RequestGate({ device: "depthwatt/d", secret, perform, now }) };
}

function expectAnswer(answer: WireAnswer | undefined): void {
  expect(answer).toBeDefined();
  expect(() => JSON.stringify(answer)).not.toThrow();
  if (answer!.ok) return;
  expect(Object.keys(ERROR_CATALOGUE)).toContain(answer!.code);
  expect(answer!.code, JSON.stringify(answer)).not.toBe("INTERNAL");
  expect(answer!.message.length).toBeLessThan(4000);
}

const command = fc.oneof(fc.constantFrom(...COMMAND_NAMES), fc.string({ maxLength: 40 }));
const key = fc.oneof(
  fc.constantFrom(...SETTINGS.map((setting) => setting.key)),
  fc.string({ maxLength: 30 }),
);
const value = fc.oneof(
  fc.boolean(),
  fc.integer(),
  fc.double(),
  fc.string({ maxLength: 200 }),
  fc.constant(null),
  fc.jsonValue(),
  fc.constantFrom("sgm", "cbca", "auto", "max", "rvl", "raw", 0, 1, 8, 64),
);
const body = fc.oneof(
  fc.record({ values: fc.dictionary(key, value, { maxKeys: 6 }) }),
  fc.record({ keys: fc.array(key) }),
  fc.record({ values: fc.dictionary(key, value), save: fc.boolean() }),
  fc.jsonValue(),
  fc.constant({}),
);
const request = fc.record(
  {
    id: fc.oneof(fc.string({ minLength: 1, maxLength: 64 }), fc.jsonValue()),
    client: fc.string(),
    timeMs: fc.oneof(fc.nat(1000), fc.double(), fc.jsonValue()),
    nonce: fc.string(),
    body,
    extra: fc.jsonValue(),
  },
  { requiredKeys: ["id"] },
);

test("any bytes: one answer, and nothing changes", async () => {
  const { run, gate, complaints } = door(SECRET);
  const before = run.config;
  const bytes = fc.oneof(
    fc.uint8Array({ maxLength: 300 }),
    fc.json().map((text) => Buffer.from(text)),
    fc
      .record({ signed: fc.string(), signature: fc.string({ unit: fc.constantFrom(..."0123456789abcdef") }) })
      .map((message) => Buffer.from(JSON.stringify(message))),
    request.map((message) => Buffer.from(JSON.stringify(message))),
    fc
      .integer({ min: MAX_REQUEST_BYTES - 1, max: MAX_REQUEST_BYTES + 2 })
      .map((length) => Buffer.alloc(length, "1")),
  );
  await fc.assert(
    fc.asyncProperty(command, bytes, async (name, payload) => {
      executions++;
      const answer = await gate.answer(name, payload);
      expectAnswer(answer);
      expect(answer!.ok).toBe(false);
    }),
    { numRuns, seed },
  );
  expect(run.config).toBe(before);
  expect(complaints).toEqual([]);
}, 120_000);

test("any request that is signed, or that the broker let pass: one answer, and a configuration that is whole", async () => {
  const [signing, trusting] = [door(SECRET), door(undefined)];
  let nonces = 0;
  let served = 0;
  await fc.assert(
    fc.asyncProperty(command, request, fc.boolean(), async (name, message, proper) => {
      const stamp = { id: "1", timeMs: Date.now() + 1, nonce: `a nonce of this test ${nonces++}` };
      const text = JSON.stringify(proper ? { ...stamp, body: message.body } : message);
      const signature = signRequest(SECRET, { device: "depthwatt/d", command: name, text });
      const signed = Buffer.from(JSON.stringify({ signed: text, signature }));
      const plain = Buffer.from(proper ? JSON.stringify({ id: "1", body: message.body }) : text);
      for (const [{ gate, run }, payload] of [
        [signing, signed],
        [trusting, plain],
      ] as const) {
        executions++;
        const answer = await gate.answer(name, payload);
        expectAnswer(answer);
        if (answer!.ok) served++;
        expect(brokenRules(run.config, new Map())).toEqual([]);
      }
    }),
    { numRuns, seed },
  );
  expect(served).toBeGreaterThan(numRuns / 50);
  expect([...signing.complaints, ...trusting.complaints]).toEqual([]);
  expect(({} as Record<string, unknown>).values).toBeUndefined();
}, 120_000);
