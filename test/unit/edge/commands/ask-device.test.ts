// SPDX-License-Identifier: Apache-2.0
// get, set and calibrate --from-run against a device in memory: the requests that it receives, and the texts made of its
// answer.
import { createHmac } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { hostname, tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, describe, expect, test, vi } from "vitest";
import "../../../../edge/commands/calibrate/command.js";
import "../../../../edge/commands/get/command.js";
import "../../../../edge/commands/set/command.js";
import { runInProcess } from "../../../doubles/command-line.js";
import {
  CONNECT,
  connack,
  PUBLISH,
  publication,
  type Received,
  type ScriptedBroker,
  startScriptedBroker,
} from "../../../doubles/scripted-broker.js";

const folder = mkdtempSync(join(tmpdir(), "depthwatt-ask-"));
afterAll(() => rmSync(folder, { recursive: true }));
const secretFile = join(folder, "secret");
writeFileSync(secretFile, "open sesame, thirty-two characters\n", { mode: 0o600 });

let broker: ScriptedBroker | undefined;
afterEach(async () => {
  vi.restoreAllMocks();
  await broker?.close();
  broker = undefined;
});

interface Request {
  topic: string;
  payload: { id: string; client: string; body: unknown; signed?: string; signature?: string };
}

const payloadOf = ({ bytes, payloadBytes }: Received) =>
  JSON.parse(bytes.toString("utf8", bytes.length - payloadBytes));

/** Runs a command against a device that gives this answer. */
async function ask(words: readonly string[], answer: object) {
  const requests: Request[] = [];
  broker = await startScriptedBroker((packet, session) => {
    session.answer(packet);
    if (packet.type !== PUBLISH) return;
    const { topic } = packet;
    const payload = payloadOf(packet);
    requests.push({ topic, payload });
    const { id } = payload.signed === undefined ? payload : JSON.parse(payload.signed);
    session.send(publication(topic.replace("/request/", "/response/"), JSON.stringify({ id, ...answer })));
  });
  const ran = await runInProcess([...words, "--broker", broker.url]);
  await broker.close();
  return { ...ran, requests };
}

const VALUES = {
  "match.numDisparities": 96,
  "match.algorithm": "sgm",
  "calibration.file": null,
  fps: "a\u001b[2Jb",
};
const get = (...words: string[]) => ask(["get", "--device", "robot", ...words], { ok: true, values: VALUES });
const set = (...words: string[]) => ask(["set", "--device", "robot", ...words], { ok: true, values: VALUES });
const TABLE = [
  "match.numDisparities  96",
  "match.algorithm       sgm",
  "calibration.file      -",
  "fps                   a\\u001b[2Jb",
  "",
].join("\n");

describe("get", () => {
  test.each<[string[], object, string]>([
    [[], {}, TABLE],
    [["match.numDisparities"], { keys: ["match.numDisparities"] }, "96\n"],
    [["calibration.file"], { keys: ["calibration.file"] }, "-\n"],
    [["match.numDisparities", "fps"], { keys: ["match.numDisparities", "fps"] }, TABLE],
    [["match"], { keys: ["match"] }, TABLE],
    [["fps", "--json"], { keys: ["fps"] }, `${JSON.stringify(VALUES)}\n`],
  ])("%j", async (words, body, stdout) => {
    const ran = await get(...words);
    expect(ran).toMatchObject({ code: 0, stderr: "", stdout });
    expect(ran.requests).toEqual([
      {
        topic: "depthwatt/robot/request/get",
        payload: {
          id: expect.any(String),
          client: `${userInfo().username}@${hostname()}`.slice(0, 64),
          body,
        },
      },
    ]);
  });

  test("a secret signs the request, for this device below this base, under the client's name cut to 64", async () => {
    const words = ["--secret-file", secretFile, "--base", "lab/a", "--client", "c".repeat(65)];
    const { code, stderr, requests } = await get(...words);
    expect([code, stderr]).toEqual([0, ""]);
    const [{ topic, payload }] = requests as [Request];
    expect(topic).toBe("lab/a/robot/request/get");
    expect(Object.keys(payload)).toEqual(["signed", "signature"]);
    const text = `depthwatt-control-1\nlab/a/robot\nget\n${payload.signed}`;
    const hmac = createHmac("sha256", "open sesame, thirty-two characters").update(text).digest("hex");
    expect(payload.signature).toBe(hmac);
    expect(JSON.parse(payload.signed!)).toMatchObject({ client: "c".repeat(64), body: {} });
  });

  test("a refusal has the device's code and hint; one of a newer device, or its bug, is no bug here", async () => {
    const refused = (code: string) =>
      ask(["get", "--device", "robot", "--json"], { ok: false, code, message: "no", hint: "ask later" });
    for (const [code, exitCode, reported] of [
      ["CONTROL_SECRET", 2, "CONTROL_SECRET"],
      ["BROKER_REFUSED", 5, "BROKER_REFUSED"],
      ["INTERNAL", 2, "CONTROL_UNSUPPORTED"],
      ["toString", 2, "CONTROL_UNSUPPORTED"],
    ] as const) {
      const ran = await refused(code);
      expect(ran).toMatchObject({ code: exitCode, stderr: "error: robot: no\nhint: ask later\n" });
      expect(JSON.parse(ran.stdout)).toEqual({
        error: { code: reported, message: "robot: no", hint: "ask later" },
      });
    }
  });

  test("a broker that refuses the password leads to the flags; the URL is checked first", async () => {
    broker = await startScriptedBroker((packet, session) => {
      if (packet.type === CONNECT) session.send(connack(0x86));
    });
    const { code, stdout, stderr } = await runInProcess(["get", "--device", "robot", "--broker", broker.url]);
    expect([code, stdout]).toEqual([5, ""]);
    expect(stderr).toContain("--password-file");
    expect(stderr).not.toContain("outputs.mqtt");
    const wrong = await runInProcess(["get", "--device", "robot", "--broker", "http://a"]);
    expect(wrong.code).toBe(2);
    expect(wrong.stderr).toMatch(/^error: --broker: expected mqtt:/);
    const unnamed = await runInProcess(["get"]);
    expect(unnamed.code).toBe(2);
    expect(unnamed.stderr).toContain("--device <name>");
  });

  test("waits --timeout for an answer, 20 seconds by default", async () => {
    broker = await startScriptedBroker((packet, session) => session.answer(packet));
    const { url } = broker;
    const real = globalThis.setTimeout;
    for (const [words, seconds] of [
      [["--timeout", "7.5"], 7.5],
      [[], 20],
    ] as const) {
      const timers = vi.spyOn(globalThis, "setTimeout");
      timers.mockImplementation(((action: () => void, ms?: number) =>
        real(action, ms === seconds * 1000 ? 0 : ms)) as never);
      const ran = await runInProcess(["get", "--device", "robot", "--broker", url, ...words]);
      timers.mockRestore();
      expect(ran.code).toBe(5);
      expect(ran.stderr).toContain(`depthwatt/robot did not answer "get" within ${seconds} s\n`);
    }
  });
});

describe("set", () => {
  test("values by the schema, text where the key is unknown, nothing as null, a preset apart", async () => {
    const words = [
      "match.numDisparities = 64 ",
      "refine.median=false",
      "new.key=1=2",
      "calibration.file=",
      "preset=esaw-9",
    ];
    const ran = await set(...words);
    expect(ran).toMatchObject({ code: 0, stderr: "", stdout: TABLE });
    expect(ran.requests.map(({ topic, payload: { body } }) => [topic, body])).toEqual([
      [
        "depthwatt/robot/request/set",
        {
          preset: "esaw-9",
          values: {
            "match.numDisparities": 64,
            "refine.median": false,
            "new.key": "1=2",
            "calibration.file": null,
          },
        },
      ],
    ]);
  });

  test.each([
    [{ file: "/etc/d.yaml", overridden: ["fps", "match.algorithm"] }, true],
    [{ file: "/etc/d.yaml", overridden: [] }, false],
    [{ file: "/etc/d.yaml" }, false],
  ])("--save: %j", async (saved, isOverridden) => {
    const ran = await ask(["set", "--device", "robot", "x=1", "--save", "--json"], {
      ok: true,
      values: VALUES,
      saved,
    });
    const overridden = "at the next start a flag or a variable still sets: fps, match.algorithm\n";
    expect(ran).toMatchObject({
      code: 0,
      stdout: `${JSON.stringify(VALUES)}\n`,
      stderr: `saved to /etc/d.yaml on robot\n${isOverridden ? overridden : ""}`,
    });
    expect(ran.requests[0]!.payload.body).toEqual({ values: { x: "1" }, save: true });
  });

  test.each([
    ["fps", 'expected KEY=VALUE, got "fps"'],
    ["=1", 'expected KEY=VALUE, got "=1"'],
    ["y".repeat(101), `expected KEY=VALUE, got "${"y".repeat(100)}"`],
  ])("%s is refused before anything is sent", async (word, message) => {
    const { code, stdout, stderr } = await runInProcess(["set", "--device", "robot", word]);
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toBe(
      `error: ${message}\nhint: For example: depthwatt set match.sgm.paths=8 --device robot-1\n`,
    );
  });

  test("a key of 1 letter is accepted, and a repeated one is named up to 100 letters", async () => {
    expect((await set("k=")).requests[0]!.payload.body).toEqual({ values: { k: "" } });
    const long = "z".repeat(101);
    const { code, stderr } = await runInProcess(["set", "--device", "robot", `${long}=1`, `${long}=2`]);
    expect(code).toBe(2);
    expect(stderr).toContain(`error: expected each key once, got "${"z".repeat(100)}" twice\n`);
  });
});

describe("calibrate --from-run", () => {
  const correction = { date: "2026-11-28T19:20:21.123Z", pitch: 0.12345, yaw: -1, roll: 2.0004 };
  const answer = { ok: true, file: "new.json", before: "old.json", corrections: [correction], saved: null };
  const TEXT = [
    "calibration       new.json",
    "before            old.json",
    "2026-11-28T19:20  pitch 0.123, yaw -1.000, roll 2.000 degrees",
    "",
  ].join("\n");

  test("keeps the correction, and says how the next start finds it", async () => {
    const ran = await ask(["calibrate", "--from-run", "robot"], answer);
    expect(ran).toMatchObject({
      code: 0,
      stdout: TEXT,
      stderr: "robot has no configuration file: start it next time with calibration.file=new.json\n",
    });
    expect(ran.requests.map(({ topic, payload: { body } }) => [topic, body])).toEqual([
      ["depthwatt/robot/request/recalibrate", { undo: false }],
    ]);
  });

  test("--undo asks for the one before, and a saved setting is reported; --json prints the answer alone", async () => {
    const saved = { file: "d.yaml", overridden: [] };
    const undone = await ask(["calibrate", "--from-run", "robot", "--undo"], { ...answer, saved });
    expect(undone).toMatchObject({ code: 0, stdout: TEXT, stderr: "saved to d.yaml on robot\n" });
    expect(undone.requests[0]!.payload.body).toEqual({ undo: true });
    const json = await ask(["calibrate", "--from-run", "robot", "--json"], { ...answer, saved, other: 1 });
    expect([json.code, json.stderr]).toEqual([0, ""]);
    const { file, before, corrections } = answer;
    expect(JSON.parse(json.stdout)).toEqual({ file, before, corrections, saved });
  });

  test("--undo alone is refused", async () => {
    const { code, stderr } = await runInProcess(["calibrate", "--undo"]);
    expect(code).toBe(2);
    expect(stderr).toContain("error: expected --undo with --from-run <device>\n");
  });
});
