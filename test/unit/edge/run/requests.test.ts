// SPDX-License-Identifier: Apache-2.0
// Requests that change a run: how many in a second, by which secret, with which bodies, and their refusals.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { DepthwattError } from "../../../../core/index.js";
import { refusalFrom } from "../../../../edge/control/answer.js";
import { COMMANDS, commandSchemas, firstIssue } from "../../../../edge/control/commands.js";
import { RateLimit } from "../../../../edge/control/rate-limit.js";
import { readControlSecret } from "../../../../edge/control/secret.js";

const folder = mkdtempSync(join(tmpdir(), "depthwatt-requests-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

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
