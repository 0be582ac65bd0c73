// SPDX-License-Identifier: Apache-2.0
// Tests the gate and control behind it, without a broker: every refusal by its code, counts, and the scope of a
// signature.
import { createHmac } from "node:crypto";
import { readFileSync } from "node:fs";
import { describe, expect, test, vi } from "vitest";
import { type Config, changedConfig, loadConfig, type SettingsChange } from "../../../edge/config/index.js";
import { Control, type ControlledRun } from "../../../edge/control/control.js";
import { MAX_REQUEST_BYTES, RequestGate } from "../../../edge/control/gate.js";
import { SIGNATURE_WINDOW_MS, signRequest } from "../../../edge/control/signature.js";
import { PRESETS } from "../../../edge/presets/index.js";

const SECRET = "a secret of enough characters";
const DEVICE = "site/robot-1";

interface Made {
  gate: RequestGate;
  run: ControlledRun & { config: Config; log: string[] };
  clock: { wallMs: number; ms: number };
  ask(
    command: string,
    request: object,
    how?: { secret?: string; device?: string; as?: string },
  ): Promise<unknown>;
}

let serial = 0;

function make(
  options: { secret?: string | undefined; run?: Partial<ControlledRun> } = { secret: SECRET },
): Made {
  const clock = { wallMs: 1_800_000_000_000, ms: 0 };
  const { config } = loadConfig({ set: ["board=none"], environment: {} });
  const run = {
    config,
    log: [] as string[],
    async apply(change: SettingsChange, from: string) {
      run.config = changedConfig(run.config, change, from).config;
      return change;
    },
    notice: (text: string) => void run.log.push(text),
    snapshot: () => Promise.reject(new Error("none here")),
    ...options.run,
  };
  const brokerAuthenticates = options.secret === undefined;
  const control = new Control(run, {
    off: undefined,
    secret: options.secret,
    brokerAuthenticates,
    now: () => clock.ms,
  });
  const gate = new RequestGate({
    device: DEVICE,
    secret: options.secret,
    perform: (command, body, from) => control.perform(command, body, from),
    clock: { now: () => clock.wallMs },
    now: () => clock.ms,
  });
  const ask: Made["ask"] = (command, request, { secret = SECRET, device = DEVICE, as = command } = {}) => {
    clock.ms += 200;
    const nonce = `nonce-of-a-test-${serial++}`;
    const text = JSON.stringify({ id: "7", client: "anna", timeMs: clock.wallMs, nonce, ...request });
    const signature = signRequest(secret, { device, command, text });
    const payload = options.secret === undefined ? text : JSON.stringify({ signed: text, signature });
    return gate.answer(as, Buffer.from(payload));
  };
  return { gate, run, clock, ask };
}

test("the signature is HMAC-SHA256 over the lines that the reference names", () => {
  const text = '{"id":"1"}';
  const expected = createHmac("sha256", SECRET).update(`depthwatt-control-1\nsite/robot-1\nget\n${text}`);
  expect(signRequest(SECRET, { device: DEVICE, command: "get", text })).toBe(expected.digest("hex"));
  // A constant, so that a change of the signed text is noticed: python3 -c 'import hmac; ...' gives the same.
  expect(signRequest("0123456789abcdef", { device: "depthwatt/robot-1", command: "get", text })).toBe(
    "5fd704dc40cbb389da8179d2687b5d4083ddba4d2703054ad31be9dfc0c1aa5e",
  );
});

test("the reference's example is signed as it says", () => {
  const page = readFileSync("docs/reference/requests.md", "utf8");
  const example = JSON.parse(/```json signed request\n([\s\S]*?)```/.exec(page)![1]!);
  const request = { device: "depthwatt/robot-1", command: "get", text: example.signed as string };
  expect(example.signature).toBe(signRequest("the secret of the manual", request));
});

test("of two requests to record that come together the later one says when it ends", async () => {
  vi.useFakeTimers();
  try {
    const { config } = loadConfig({ set: ["board=none", "outputs.mcap.file=out.mcap"], environment: {} });
    const applied: unknown[] = [];
    const control = new Control(
      {
        config,
        apply: async (change) => {
          applied.push(change["outputs.mcap.recording"]);
          return change;
        },
        notice: () => {},
        snapshot: () => Promise.reject(new Error("none here")),
      },
      { off: undefined, secret: undefined, brokerAuthenticates: true },
    );
    await Promise.all([
      control.perform("record", { seconds: 10 }, "anna"),
      control.perform("record", { seconds: 60 }, "ben"),
    ]);
    await vi.advanceTimersByTimeAsync(59_000);
    expect(applied).toEqual([true, true]);
    await vi.advanceTimersByTimeAsync(1000);
    expect(applied).toEqual([true, true, false]);
  } finally {
    vi.useRealTimers();
  }
});

describe("a signed request", () => {
  test("is answered with what holds, and logged with who and what", async () => {
    const { ask, run } = make();
    expect(await ask("get", { body: { keys: ["match.sgm.paths", "power.minFps"] } })).toEqual({
      id: "7",
      ok: true,
      values: { "match.sgm.paths": 4, "power.minFps": null },
    });
    expect(await ask("set", { body: { values: { "match.sgm.paths": 8 } } })).toEqual({
      id: "7",
      ok: true,
      values: { "match.sgm.paths": 8 },
    });
    expect(run.config.match.sgm.paths).toBe(8);
    expect(run.log).toEqual(['settings changed by "anna": match.sgm.paths=8']);
  });

  test("sets a preset under its own values, and saves all of them one by one", async () => {
    const saved: SettingsChange[] = [];
    const save = (change: SettingsChange) => {
      saved.push(change);
      return { file: "depthwatt.yaml", overridden: [] };
    };
    const { ask, run } = make({ secret: SECRET, run: { save } });
    const values = { "match.sgm.p2": 90 };
    const whole = { ...PRESETS["sgm-2016"]!.settings, ...values };
    expect(await ask("set", { body: { preset: "sgm-2016", values, save: true } })).toMatchObject({
      ok: true,
      values: whole,
    });
    expect(run.config.match.sgm.p2).toBe(90);
    expect(saved).toEqual([whole]);
    expect(run.log[0]).toMatch(
      /^settings changed by "anna": preset sgm-2016, which is now match.algorithm=sgm, /,
    );
  });

  test.each<[string, object, object, string]>([
    ["with another secret", {}, { secret: "another secret, as long" }, "CONTROL_SECRET"],
    ["of another device", {}, { device: "site/robot-2" }, "CONTROL_SECRET"],
    ["below another base topic", {}, { device: "robot-1" }, "CONTROL_SECRET"],
    ["of another command", {}, { as: "restart" }, "CONTROL_SECRET"],
    ["too old", { timeMs: 1_800_000_000_000 - SIGNATURE_WINDOW_MS - 1 }, {}, "CONTROL_TIME"],
    ["of the future", { timeMs: 1_800_000_000_000 + SIGNATURE_WINDOW_MS + 1 }, {}, "CONTROL_TIME"],
    ["made before the run began", { timeMs: 1_800_000_000_000 - 1 }, {}, "CONTROL_TIME"],
    ["without a time", { timeMs: undefined }, {}, "CONTROL_INVALID"],
    ["with a short nonce", { nonce: "1" }, {}, "CONTROL_INVALID"],
    ["without an id", { id: undefined }, {}, "CONTROL_INVALID"],
    ["with a field too many", { shell: "rm" }, {}, "CONTROL_INVALID"],
    ["with a name that moves the cursor", { client: "\u001b[2J" }, {}, "CONTROL_INVALID"],
  ])("%s is refused with its code", async (_, request, how, code) => {
    const { ask, gate, run } = make();
    const before = run.config;
    const body = { values: { "match.sgm.paths": 8 } };
    expect(await ask("set", { body, ...request }, how)).toMatchObject({ ok: false, code });
    expect(gate.counters()).toEqual({ answered: 1, refused: { [code]: 1 }, unanswered: 0 });
    expect(run.config).toBe(before);
  });

  test("counts once, also when the clock was set back and its nonce is forgotten", async () => {
    const { ask, clock } = make();
    const first = { timeMs: clock.wallMs, nonce: "always the same nonce" };
    expect(await ask("get", first)).toMatchObject({ ok: true });
    expect(await ask("get", first)).toMatchObject({ ok: false, code: "CONTROL_REPLAYED" });
    clock.wallMs += 10 * SIGNATURE_WINDOW_MS;
    expect(await ask("get", { timeMs: clock.wallMs })).toMatchObject({ ok: true });
    clock.wallMs -= 10 * SIGNATURE_WINDOW_MS;
    expect(await ask("get", first)).toMatchObject({ ok: false, code: "CONTROL_TIME" });
  });

  test("is what a device with a secret wants, and a plain one what a broker's device wants", async () => {
    const plain = Buffer.from(JSON.stringify({ id: "1", body: {} }));
    expect(await make().gate.answer("get", plain)).toMatchObject({ id: "1", code: "CONTROL_SECRET" });
    const trusting = make({ secret: undefined });
    expect(await trusting.gate.answer("get", plain)).toMatchObject({ id: "1", ok: true });
    const signed = Buffer.from(JSON.stringify({ signed: "{}", signature: "00".repeat(32) }));
    expect(await trusting.gate.answer("get", signed)).toMatchObject({ code: "CONTROL_INVALID" });
  });
});

describe("what cannot be served", () => {
  const cases: [string, string, object | undefined, string, RegExp][] = [
    [
      "an unknown key",
      "get",
      { keys: ["match.numDisparitys"] },
      "CONFIG_UNKNOWN_KEY",
      /did you mean "match.numDisparities"/,
    ],
    [
      "an unknown key in a change",
      "set",
      { values: { "match.sgm.path": 8 } },
      "CONFIG_UNKNOWN_KEY",
      /did you mean "match.sgm.paths"/,
    ],
    [
      "a value out of range",
      "set",
      { values: { "match.numDisparities": 4 } },
      "CONFIG_INVALID",
      /from 8 to 512/,
    ],
    [
      "a value of the wrong type",
      "set",
      { values: { "refine.median": "yes" } },
      "CONFIG_INVALID",
      /true or false/,
    ],
    ["a broken rule", "set", { values: { "match.sgm.p1": 500 } }, "CONFIG_INVALID", /at most match.sgm.p2/],
    [
      "a setting that needs a restart",
      "set",
      { values: { "engine.threads": 2 } },
      "SETTING_NEEDS_RESTART",
      /engine.threads/,
    ],
    ["a list as a value", "set", { values: { "match.sgm.paths": [8] } }, "CONTROL_INVALID", /values/],
    ["no values", "set", {}, "CONTROL_INVALID", /values/],
    ["nothing to change", "set", { values: {} }, "CONTROL_INVALID", /at least one/],
    ["a misspelt command", "snapshoot", {}, "CONTROL_INVALID", /snapshoot/],
    ["recording without a place", "record", {}, "CONTROL_UNSUPPORTED", /outputs.mcap.file is not set/],
    ["recording to another place", "record", { path: "x" }, "CONTROL_INVALID", /path/],
    ["a restart without a service manager", "restart", {}, "CONTROL_UNSUPPORTED", /restart/],
    [
      "saving without a file",
      "set",
      { values: { "match.sgm.paths": 8 }, save: true },
      "CONTROL_UNSUPPORTED",
      /file/,
    ],
  ];
  test.each(cases)("%s", async (_, command, body, code, message) => {
    const { ask, run } = make();
    const before = run.config;
    expect(await ask(command, { body })).toMatchObject({
      id: "7",
      ok: false,
      code,
      message: expect.stringMatching(message),
    });
    expect(run.config).toBe(before);
  });

  test("too many bytes, no JSON, no UTF-8", async () => {
    const { gate } = make();
    const refused = { id: null, ok: false, code: "CONTROL_INVALID" };
    expect(await gate.answer("get", Buffer.alloc(1 << 20, "a"))).toMatchObject(refused);
    expect(await gate.answer("get", Buffer.alloc(MAX_REQUEST_BYTES, "["))).toMatchObject(refused);
    expect(await gate.answer("get", Buffer.from('{"signed":'))).toMatchObject(refused);
    expect(await gate.answer("get", Buffer.of(0x22, 0xff, 0x22))).toMatchObject(refused);
    expect(gate.counters().refused).toEqual({ CONTROL_INVALID: 4 });
  });

  test("a password in a broker's URL is not shown", async () => {
    const { ask, run } = make();
    (run.config.outputs.mqtt as { broker: string }).broker = "mqtt://anna:hush-hush@broker";
    const answer = await ask("get", {});
    expect(JSON.stringify(answer)).toContain("mqtt://anna:(hidden)@broker");
    expect(JSON.stringify(answer)).not.toContain("hush");
  });

  test("wake ends a sleep, and is refused by a run that never sleeps", async () => {
    const sleeping = make({ secret: SECRET, run: { wake: () => true } });
    expect(await sleeping.ask("wake", {})).toMatchObject({ ok: true, waking: true });
    expect(await make().ask("wake", {})).toMatchObject({ ok: false, code: "CONTROL_UNSUPPORTED" });
  });

  test("a mistake of ours is an INTERNAL answer, not the end of the run", async () => {
    const { ask, run } = make();
    expect(await ask("snapshot", {})).toMatchObject({ ok: false, code: "INTERNAL" });
    expect(run.log.join()).toContain("none here");
  });

  test("after close() everything, with RUN_ENDED", async () => {
    const { ask, gate } = make();
    gate.close();
    expect(await ask("set", { body: { values: { "match.sgm.paths": 8 } } })).toMatchObject({
      id: "7",
      code: "RUN_ENDED",
    });
  });
});

test("ten a second are served; a flood is refused, ten of it with an answer, all of it counted", async () => {
  const { ask, clock, gate } = make();
  const codes: string[] = [];
  for (let i = 0; i < 25; i++) {
    clock.ms -= 200; // ask() lets time pass
    const answer = (await ask("get", { body: { keys: [] } })) as { ok: boolean; code?: string } | undefined;
    codes.push(answer === undefined ? "silence" : (answer.code ?? "ok"));
  }
  expect(codes).toEqual([
    ...Array<string>(10).fill("ok"),
    ...Array<string>(10).fill("CONTROL_BUSY"),
    ...Array<string>(5).fill("silence"),
  ]);
  expect(gate.counters()).toEqual({ answered: 20, refused: { CONTROL_BUSY: 15 }, unanswered: 5 });
  clock.ms += 1000;
  expect(await ask("get", { body: { keys: [] } })).toMatchObject({ ok: true });
});

test("strangers cannot use up what those with the secret may ask", async () => {
  const { ask, clock } = make();
  for (let i = 0; i < 50; i++) {
    clock.ms -= 200;
    await ask("get", {}, { secret: "some other secret" });
  }
  expect(await ask("get", { body: { keys: ["match.sgm.paths"] } })).toMatchObject({ ok: true });
});

test("schema lists every live setting and the form of every command", async () => {
  const { ask } = make();
  const answer = (await ask("schema", {})) as {
    settings: { key: string; schema: object }[];
    commands: object;
  };
  expect(answer.settings.find(({ key }) => key === "match.numDisparities")).toMatchObject({
    unit: "px",
    live: true,
    schema: { type: "integer", minimum: 8, maximum: 512 },
  });
  expect(Object.keys(answer.commands)).toEqual([
    "get",
    "set",
    "schema",
    "snapshot",
    "wake",
    "record",
    "recalibrate",
    "restart",
  ]);
});

test("a nonce has 16 characters or more", async () => {
  const { ask } = make();
  expect(await ask("get", { nonce: "x".repeat(15) })).toMatchObject({
    id: "7",
    ok: false,
    code: "CONTROL_INVALID",
    message: "a signed request needs timeMs and a nonce of 16 characters or more",
  });
  expect(await ask("get", { nonce: "x".repeat(16) })).toMatchObject({ id: "7", ok: true });
});

describe("a request without a signature", () => {
  function open() {
    const asked: unknown[][] = [];
    const gate = new RequestGate({
      device: DEVICE,
      secret: undefined,
      perform: async (...call) => {
        asked.push(call);
        return { ok: true, result: 1 } as never;
      },
    });
    return { gate, asked };
  }

  test("is attributed to where it came from, else to what it says", async () => {
    const { gate, asked } = open();
    const named = Buffer.from('{"id":"1","client":"anna","body":{"a":2}}');
    const nameless = Buffer.from('{"id":"1"}');
    await gate.answer("set", named, { who: "the live page" });
    await gate.answer("set", named);
    await gate.answer("set", nameless);
    expect(asked).toEqual([
      ["set", { a: 2 }, "the live page"],
      ["set", { a: 2 }, '"anna"'],
      ["set", undefined, "a client without a name"],
    ]);
  });

  test("has at most 64 KiB", async () => {
    const { gate } = open();
    const padded = (bytes: number) => Buffer.from('{"id":"1"}'.padEnd(bytes));
    expect(await gate.answer("get", padded(65_536))).toEqual({ id: "1", ok: true, result: 1 });
    expect(await gate.answer("get", padded(65_537))).toMatchObject({
      id: null,
      code: "CONTROL_INVALID",
      message: "expected a request of at most 65536 bytes, got 65537",
    });
  });

  test.each(["null", "7", '"x"', "[]"])("%s is refused", async (text) => {
    const { gate, asked } = open();
    expect(await gate.answer("get", Buffer.from(text))).toMatchObject({ id: null, code: "CONTROL_INVALID" });
    expect(asked).toEqual([]);
  });
});
