// SPDX-License-Identifier: Apache-2.0
// Sends hostile requests to the gate of control: each gets one answer with a code of the catalogue or a counted
// refusal, and nothing changes without a valid request.
import { expect, test } from "vitest";
import { ERROR_CATALOGUE } from "../../core/index.js";
import { changedConfig, loadConfig, type SettingsChange } from "../../edge/config/index.js";
import { requestPayload } from "../../edge/control/client.js";
import { Control } from "../../edge/control/control.js";
import { RequestGate } from "../../edge/control/gate.js";
import { signRequest } from "../../edge/control/signature.js";
import { Random } from "../doubles/random.js";

const SECRET = "the secret of the tests";
const COUNT = Number(process.env.DEPTHWATT_HOSTILE_COUNT ?? 3000);

function door(secret: string | undefined) {
  const { config } = loadConfig({ set: ["board=none"], environment: {} });
  const run = {
    config,
    changes: 0,
    complaints: [] as string[],
    async apply(change: SettingsChange, from: string) {
      run.config = changedConfig(run.config, change, from).config;
      run.changes++;
      return change;
    },
    notice: (text: string) => void (text.includes("failed") && run.complaints.push(text)),
    snapshot: () => Promise.resolve({ zip: new Uint8Array(3), files: [], width: 1, height: 1 }),
  };
  let ms = 0;
  const now = () => (ms += 1000); // no limit of requests a second
  const control = new Control(run, {
    off: undefined,
    secret,
    brokerAuthenticates: secret === undefined,
    now,
  });
  const perform = (command: string, body: unknown, from: string) => control.perform(command, body, from);
  return { run, gate: new RequestGate({ device: "depthwatt/d", secret, perform, now }) };
}

const VALUES: unknown[] = [
  null,
  true,
  0,
  -1,
  1e308,
  "",
  "match",
  [],
  {},
  [[]],
  "\u0000",
  "\ud800",
  "x".repeat(5000),
  { values: { __proto__: 1 } },
  { preset: "constructor", values: { __proto__: 1 } },
  { preset: null },
  { values: { constructor: 1 } },
  JSON.parse('{"values": {"__proto__": 1}}'),
  { values: { "match.toString": 1 } },
  { keys: ["__proto__", "constructor"] },
  { keys: [null] },
];
const COMMANDS = [
  "get",
  "set",
  "schema",
  "snapshot",
  "record",
  "restart",
  "",
  "__proto__",
  "constructor",
  "a/b",
  "GET",
];

test("random bytes, bent requests and bodies of every kind: one answer each, a known code, no change without a signature", async () => {
  const random = new Random();
  const below = (count: number) => random.whole(0, count - 1);
  const pick = <T>(from: readonly T[]): T => from[below(from.length)]!;
  const { run, gate } = door(SECRET);
  const trusting = door(undefined);
  const fine = { base: "depthwatt", device: "d", secret: SECRET, client: "c" };
  const codes = new Set(Object.keys(ERROR_CATALOGUE));
  let right = 0;
  for (let i = 0; i < COUNT; i++) {
    const command = pick(COMMANDS);
    const body = pick(VALUES);
    const payload = Buffer.from(requestPayload(fine, command, body, String(i)));
    const kind = below(4);
    if (kind === 0) for (let n = 0; n < 1 + below(4); n++) payload[below(payload.length)] = below(256);
    const bytes = kind === 1 ? payload.subarray(0, below(payload.length)) : payload;
    const answers = [await gate.answer(command, bytes)];
    if (kind === 2) answers.push(await gate.answer(command, bytes)); // replayed
    if (kind === 3) {
      // Signed rightly, but of any shape.
      const text = JSON.stringify(body) ?? "";
      const signature = signRequest(SECRET, { device: "depthwatt/d", command, text });
      answers.push(await gate.answer(command, Buffer.from(JSON.stringify({ signed: text, signature }))));
      answers.push(await trusting.gate.answer(command, Buffer.from(JSON.stringify({ id: "1", body }))));
    }
    for (const answer of answers) {
      if (answer?.ok) right++;
      else if (answer === undefined || !codes.has(answer.code) || answer.code === "INTERNAL")
        expect.fail(`seed ${random.seed}: ${command} ${JSON.stringify(body)}: ${JSON.stringify(answer)}`);
    }
    if (kind === 2) expect(answers[1]).toMatchObject({ ok: false, code: expect.stringMatching(/REPLAYED/) });
  }
  expect(right).toBeGreaterThan(COUNT / 100);
  expect([run.changes, trusting.run.changes, ...run.complaints]).toEqual([0, 0]);
  expect(({} as Record<string, unknown>).values).toBeUndefined();
}, 60_000);
