// SPDX-License-Identifier: Apache-2.0
// The log: levels, both forms, and no password in either.
import { describe, expect, test } from "vitest";
import { printable, redactBrokenUrl, redactUrl } from "../../../core/index.js";
import { createLog } from "../../../edge/cli/log.js";

function capture(level: string, isTTY: boolean) {
  const lines: string[] = [];
  const log = createLog(level, { isTTY, write: (line: string) => void lines.push(line) });
  return { log, lines };
}

describe("the log", () => {
  test("is JSON where no consumer looks", () => {
    const { log, lines } = capture("info", false);
    log.info({ frames: 3n }, "published");
    expect(JSON.parse(lines[0]!)).toMatchObject({ level: 30, msg: "published", frames: 3 });
  });

  test("is a readable line on a terminal", () => {
    const { log, lines } = capture("info", true);
    log.warn({ cause: "engineBusy", drops: 2 }, "frames dropped");
    expect(lines[0]).toMatch(/^\d\d:\d\d:\d\d\.\d{3} warn frames dropped cause=engineBusy drops=2\n$/);
  });

  test("shows the stack of an error", () => {
    const { log, lines } = capture("info", true);
    log.error(new RangeError("too far"), "failed");
    expect(lines[0]).toContain("RangeError: too far");
  });

  test("keeps below its level quiet", () => {
    const { log, lines } = capture("warn", false);
    log.info("not this");
    log.error("this");
    expect(lines).toHaveLength(1);
  });

  test.each([false, true])("never holds a password (terminal: %s)", (isTTY) => {
    const { log, lines } = capture("info", isTTY);
    log.info(
      { password: "secret", publish: { password: "secret" } },
      "connecting to mqtts://anna:secret@host:8883/x",
    );
    expect(lines.join("")).not.toContain("secret");
    expect(lines.join("")).toContain("mqtts://anna:(hidden)@host:8883/x");
  });
});

test("redactUrl leaves ordinary URLs alone", () => {
  expect(redactUrl("mqtt://host:1883/a@b")).toBe("mqtt://host:1883/a@b");
  expect(redactUrl("ws://u:p@h and ws://x:y@z")).toBe("ws://u:(hidden)@h and ws://x:(hidden)@z");
});

test("redactUrl hides all of a password that holds an @, and what follows a URL in JSON stays", () => {
  expect(redactUrl("mqtt://anna:p@ss@word@host:1883/a@b")).toBe("mqtt://anna:(hidden)@host:1883/a@b");
  const line = '{"url":"mqtt://anna:p@ss@host","mail":"a@b"}';
  expect(redactUrl(line)).toBe('{"url":"mqtt://anna:(hidden)@host","mail":"a@b"}');
});

test.each([
  ["mqtt://anna:secret@host:1883:x", "mqtt://anna:(hidden)@host:1883:x"],
  ["mqtt:/anna:secret@host", "mqtt:(hidden)@host"],
  ["anna:secret@host", "anna:(hidden)@host"],
  ["mqtt://anna:se cret/se@cret#@host", "mqtt://anna:(hidden)@host"],
  ["mqtt://host:1883/x", "mqtt://host:1883/x"],
])("redactBrokenUrl of %s", (url, expected) => {
  expect(redactBrokenUrl(url)).toBe(expected);
});

test("printable leaves no character that commands a terminal", () => {
  expect(printable("robot\u202e1-tobor\u2066\u200b\ufeff")).toBe("robot\\u202e1-tobor\\u2066\\u200b\\ufeff");
  expect(printable("a\u001b[31mb\r\u0007\u009bc\nd é")).toBe("a\\u001b[31mb\\u000d\\u0007\\u009bc\nd é");
  const { log, lines } = capture("info", true);
  log.info({ name: "x\u001b[2J" }, "seen \u001b[31m");
  expect(lines[0]).not.toContain("\u001b");
});
