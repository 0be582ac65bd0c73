// SPDX-License-Identifier: Apache-2.0
// Small parts of a run: the page of several rigs, clocks that are published again, requests a second, and secrets.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { DepthwattError } from "../../../../core/index.js";
import { loadConfig } from "../../../../edge/config/index.js";
import { refusalFrom } from "../../../../edge/control/answer.js";
import { COMMANDS, commandSchemas, firstIssue } from "../../../../edge/control/commands.js";
import { RateLimit } from "../../../../edge/control/rate-limit.js";
import { readControlSecret } from "../../../../edge/control/secret.js";
import { cameraInfo, clocksDiffer } from "../../../../edge/run/info.js";
import { rigsPage } from "../../../../edge/run/rigs-page.js";
import { colourNote, sourceRequirements } from "../../../../edge/run/source-requirements.js";

const folder = mkdtempSync(join(tmpdir(), "depthwatt-small-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const configWith = (...set: string[]) => loadConfig({ environment: {}, set: ["board=none", ...set] }).config;

describe("the page of several rigs", () => {
  function get(method: string, rigs: Parameters<typeof rigsPage>[0] = () => []) {
    const answer: { status?: number; headers?: Record<string, unknown>; body?: string | undefined } = {};
    const response = {
      writeHead: (status: number, headers: Record<string, unknown>) =>
        Object.assign(answer, { status, headers }),
      end: (body?: Buffer) => {
        answer.body = body?.toString();
      },
    };
    rigsPage(rigs)({ method } as never, response as never);
    return answer;
  }

  test("lists each with its state and a link to its page, escaped", () => {
    let rigs = [
      { name: "front", path: '/front/?a="1"&b', state: "online" },
      { name: "<rear>", path: undefined, state: "waits & retries" },
    ];
    const list = () => rigs;
    const { status, headers, body } = get("GET", list);
    expect(status).toBe(200);
    expect(body).toContain(
      '<ul>\n<li><a href="/front/?a=&quot;1&quot;&amp;b">front</a>: online</li>\n<li>&lt;rear&gt;: waits &amp; retries</li>\n</ul>',
    );
    expect(body).toContain('http-equiv="refresh" content="5"');
    expect(headers).toMatchObject({
      "Content-Type": "text/html; charset=utf-8",
      "Content-Length": Buffer.byteLength(body!),
      "Cache-Control": "no-store",
    });
    rigs = [];
    expect(get("GET", list).body).toContain("<ul>\n\n</ul>");
  });

  test("has no body for HEAD, but its length", () => {
    const { body, headers } = get("HEAD");
    expect(body).toBeUndefined();
    expect(headers!["Content-Length"]).toBe(get("GET").headers!["Content-Length"]);
  });
});

describe("clocks of cameras", () => {
  const clock = { origin: "boot", source: "driver", jumps: 0, offsetMs: 5 } as never as { offsetMs: number };
  const differ = (before: object, now: object) => clocksDiffer(before as never, now as never);

  test.each<[object, object, boolean]>([
    [{}, {}, false],
    [{ left: clock }, { left: { ...clock } }, false],
    [{ left: clock }, { left: { ...clock, offsetMs: 5.999 } }, false],
    [{ left: clock }, { left: { ...clock, offsetMs: 6 } }, true],
    [{ left: clock }, { left: { ...clock, offsetMs: 4 } }, true],
    [{ left: clock }, { left: { ...clock, origin: "other" } }, true],
    [{ left: clock }, { left: { ...clock, source: "other" } }, true],
    [{ left: clock }, { left: { ...clock, jumps: 1 } }, true],
    [{ left: clock }, {}, true],
    [{}, { right: clock }, true],
    [{ left: clock, right: clock }, { left: clock, right: { ...clock, jumps: 1 } }, true],
  ])("%j and %j differ: %s", (before, now, expected) => expect(differ(before, now)).toBe(expected));

  test("are part of camera_info once they are known, if there is a calibration", () => {
    const info = { width: 4 };
    const geometry = { geometry: { cameraInfo: info } };
    const clocks = { left: clock };
    const source = (captureClocks: object) => ({ captureClocks: () => captureClocks }) as never;
    expect(cameraInfo(geometry, source(clocks))).toEqual({ width: 4, captureClocks: clocks });
    expect(cameraInfo(geometry, source({}))).toBe(info);
    expect(cameraInfo(geometry, {})).toBe(info);
    expect(cameraInfo({ geometry: { cameraInfo: undefined } }, source(clocks))).toBeUndefined();
  });
});

test("so many events in any second: one falls out when it is a second old", () => {
  let now = 0;
  const limit = new RateLimit(2, () => now);
  const at = (ms: number) => {
    now = ms;
    return limit.take();
  };
  expect([at(0), at(400), at(400), at(999), at(1000), at(1001), at(1400), at(1400)]).toEqual([
    true,
    true,
    false,
    false,
    true,
    false,
    true,
    false,
  ]);
  expect(new RateLimit(0, () => 0).take()).toBe(false);
});

test("a secret has sixteen characters at least, in the first line of a file that is not readable by others", () => {
  const file = join(folder, "secret");
  const read = (text: string) => {
    writeFileSync(file, text, { mode: 0o600 });
    return readControlSecret(file);
  };
  expect(read(`${"s".repeat(16)}\nmore\n`)).toBe("s".repeat(16));
  expect(() => read(`${"s".repeat(15)}\nmore than enough letters\n`)).toThrow(
    expect.objectContaining({
      code: "CONFIG_INVALID",
      message: `control.secretFile: expected a secret of 16 characters or more in the first line of ${file}, got 15`,
      hint: `Run 'umask 077; openssl rand -hex 32 > ${file}'.`,
    }),
  );
});

test("an answer with an error has no password of a URL", () => {
  const error = new DepthwattError("CONFIG_INVALID", "got mqtt://anna:secret@h", {
    hint: "Not mqtt://anna:secret@h.",
  });
  const answer = refusalFrom(error);
  expect(answer).toMatchObject({ ok: false, code: "CONFIG_INVALID" });
  expect(JSON.stringify(answer)).not.toContain("secret");
});

describe("the bodies of commands", () => {
  const accepts = (command: keyof typeof COMMANDS, body: object) => COMMANDS[command].safeParse(body).success;
  const keys = (count: number) => ({ keys: Array<string>(count).fill("a") });

  test.each<[keyof typeof COMMANDS, object, boolean]>([
    ["get", {}, true],
    ["get", keys(1000), true],
    ["get", keys(1001), false],
    ["get", { keys: ["k".repeat(200)] }, true],
    ["get", { keys: ["k".repeat(201)] }, false],
    ["get", { keys: [""] }, false],
    ["get", { more: 1 }, false],
    ["set", {}, false],
    ["set", { values: {} }, false],
    ["set", { values: {}, preset: "a" }, true],
    ["set", { preset: "a" }, true],
    ["set", { preset: "" }, false],
    ["set", { values: { a: null, b: 1, c: "x", d: true }, save: true }, true],
    ["set", { values: { a: [] } }, false],
    ["record", {}, true],
    ["record", { seconds: 1 }, true],
    ["record", { seconds: 0.999 }, false],
    ["record", { seconds: 86_400 }, true],
    ["record", { seconds: 86_400.1 }, false],
    ["recalibrate", { undo: true }, true],
    ["restart", { now: true }, false],
    ["wake", {}, true],
  ])("%s %j is accepted: %s", (command, body, expected) => expect(accepts(command, body)).toBe(expected));

  test("are described for each command, and refused with the place of the first fault", () => {
    expect(Object.keys(commandSchemas())).toEqual(Object.keys(COMMANDS));
    const issue = (body: object) => firstIssue(COMMANDS.record.safeParse(body).error!);
    expect(issue({ seconds: "a" })).toMatch(/^seconds: /);
    expect(firstIssue(COMMANDS.set.safeParse({}).error!)).toBe(
      "expected at least one setting in values, or a preset",
    );
    expect(firstIssue(new z.ZodError([]))).toBe("it does not fit its schema");
  });
});

describe("images that a run requires", () => {
  const colours = (...set: string[]) => sourceRequirements(configWith(...set)).colours;

  test("have colours if the matcher, an output or points need them", () => {
    expect(colours()).toBe(false);
    expect(colours("match.algorithm=esaw")).toBe(true);
    expect(colours("points.colour=rgb")).toBe(true);
    expect(colours("outputs.mcap.file=a.mcap", "outputs.mcap.leftColours=true")).toBe(true);
  });

  test("are noted where the matcher reads colours and there are none", () => {
    const esaw = configWith("match.algorithm=esaw");
    expect(colourNote(esaw, { leftFormat: "GREY" })).toContain("the source's images (GREY) have");
    expect(colourNote(esaw, { leftFormat: "RGB8" })).toBeUndefined();
    expect(colourNote(configWith(), { leftFormat: "GREY" })).toBeUndefined();
  });
});
