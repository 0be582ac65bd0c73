// SPDX-License-Identifier: Apache-2.0
// Entries of the journal: fields of a log line, the bytes of the protocol, and real datagrams through the addon.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { fstatSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { createLog } from "../../../../edge/cli/log.js";
import {
  journalEntry,
  journalFields,
  leadsToJournal,
  sendToJournal,
} from "../../../../edge/service/journal.js";
import { PYTHON } from "../../../doubles/needs.js";

/** One line as the log writes it. */
function capturedLine(write: (log: ReturnType<typeof createLog>) => void): string {
  let line = "";
  const place = {
    write(text: string) {
      line = text;
    },
  };
  write(createLog("trace", place));
  return line;
}

describe("the fields of a line", () => {
  test("are the message, the priority of syslog and each fact under depthwatt's name", () => {
    const line = capturedLine((log) =>
      log.warn({ event: "waiting", errorCode: "DEVICE_UNAVAILABLE", drops: { late: 2 } }, "no camera"),
    );
    expect(journalFields(line)).toEqual({
      MESSAGE: "no camera",
      PRIORITY: "4",
      SYSLOG_IDENTIFIER: "depthwatt",
      DEPTHWATT_EVENT: "waiting",
      DEPTHWATT_ERROR_CODE: "DEVICE_UNAVAILABLE",
      DEPTHWATT_DROPS: '{"late":2}',
    });
  });

  test.each([
    ["fatal", "2"],
    ["error", "3"],
    ["warn", "4"],
    ["info", "6"],
    ["debug", "7"],
    ["trace", "7"],
  ] as const)("%s has priority %s", (level, priority) => {
    expect(journalFields(capturedLine((log) => log[level]("x"))).PRIORITY).toBe(priority);
  });

  test("an error's stack is a field, its message the entry's where there is no other", () => {
    const fields = journalFields(capturedLine((log) => log.error(new RangeError("too far"))));
    expect(fields.MESSAGE).toBe("too far");
    expect(fields.DEPTHWATT_STACK).toMatch(/^RangeError: too far\n {4}at /);
  });

  test("a name that the journal would refuse is made one that it takes", () => {
    const fields = journalFields(
      capturedLine((log) => log.info({ "outputs.mqtt/größe": 1, [`x${"y".repeat(99)}`]: 2 }, "x")),
    );
    for (const name of Object.keys(fields)) expect(name).toMatch(/^[A-Z][A-Z0-9_]{0,63}$/);
  });
});

test.each([
  [
    { level: 35, msg: "x" },
    { MESSAGE: "x", PRIORITY: "6" },
  ],
  [
    { level: 30, fileName: "a" },
    { MESSAGE: "", PRIORITY: "6", DEPTHWATT_FILE_NAME: "a" },
  ],
  [
    { level: 50, msg: "the run ended", err: { message: "no disk" }, time: 1, pid: 2, hostname: "h" },
    { MESSAGE: "the run ended", PRIORITY: "3", DEPTHWATT_STACK: "no disk" },
  ],
  [
    { level: 30, msg: "x", "a/ß": 1, [`y${"z".repeat(99)}`]: [2] },
    { MESSAGE: "x", PRIORITY: "6", DEPTHWATT_A_SS: "1", [`DEPTHWATT_Y${"Z".repeat(53)}`]: "[2]" },
  ],
])("a line %j has these fields", (line, fields) => {
  expect(journalFields(JSON.stringify(line))).toEqual({ SYSLOG_IDENTIFIER: "depthwatt", ...fields });
});

describe("the bytes of an entry", () => {
  test("are a line for each field", () => {
    expect(journalEntry({ MESSAGE: "grüß", PRIORITY: "6" }).toString()).toBe("MESSAGE=grüß\nPRIORITY=6\n");
  });

  test("a value with line ends stands behind its length, so that it cannot begin a field", () => {
    const value = `first\nPRIORITY=0\n${"x".repeat(300)}`;
    const bytes = journalEntry({ MESSAGE: value });
    expect(bytes.subarray(0, 8).toString()).toBe("MESSAGE\n");
    expect(bytes.readBigUInt64LE(8)).toBe(BigInt(value.length));
    expect(bytes.subarray(16).toString()).toBe(`${value}\n`);
  });
});

describe("whether stderr leads into the journal", () => {
  const { dev, ino } = fstatSync(2, { bigint: true });
  test.each([
    ["is what systemd named", { JOURNAL_STREAM: `${dev}:${ino}` }, true],
    ["is another file", { JOURNAL_STREAM: `${dev}:${ino + 1n}` }, false],
    ["there is no journal", {}, false],
  ])("%s", (_, environment, answer) => {
    expect(leadsToJournal(2, environment)).toBe(answer);
  });

  test("a descriptor that is closed leads nowhere", () => {
    expect(leadsToJournal(99_999, { JOURNAL_STREAM: `${dev}:${ino}` })).toBe(false);
  });
});

describe("an entry that is sent", () => {
  test("arrives whole", async () => {
    const folder = mkdtempSync(join(tmpdir(), "depthwatt-journal-"));
    const path = join(folder, "socket");
    const code = `import socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(sys.argv[1])
s.settimeout(50)
print("bound", end="", flush=True)
sys.stdout.buffer.write(s.recv(65536))`;
    const receiver = spawn(PYTHON, ["-c", code, path], { stdio: ["ignore", "pipe", "inherit"] });
    try {
      const chunks: Buffer[] = [];
      await once(receiver.stdout, "data");
      receiver.stdout.on("data", (chunk: Buffer) => chunks.push(chunk));
      const fields = { MESSAGE: `two\nlines of ${"€".repeat(200)}`, PRIORITY: "4" };
      const ended = once(receiver, "close");
      expect(sendToJournal(fields, path)).toBe("");
      await ended;
      expect(Buffer.concat(chunks)).toEqual(journalEntry(fields));
    } finally {
      receiver.kill();
      rmSync(folder, { recursive: true });
    }
  });

  test("without a journal says why, and throws nothing", () => {
    expect(sendToJournal({ MESSAGE: "x" }, "/nonexistent/socket")).toMatch(/No such file/);
  });
});
