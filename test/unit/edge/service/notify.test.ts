// SPDX-License-Identifier: Apache-2.0
// The service manager's messages: a watchdog fed by frames alone, one READY, and real datagrams through the addon.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readlinkSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { loadNative } from "../../../../edge/contracts/native.js";
import { createNotifier } from "../../../../edge/service/notify.js";
import { PYTHON } from "../../../doubles/needs.js";

let sent: string[];
const send = (_: string, message: string) => {
  sent.push(message);
  return "";
};
beforeEach(() => {
  sent = [];
  vi.useFakeTimers();
});
afterEach(() => void vi.useRealTimers());

const SYSTEMD = { NOTIFY_SOCKET: "/run/systemd/notify", WATCHDOG_USEC: "8000000", WATCHDOG_PID: "42" };
const make = (environment: NodeJS.ProcessEnv = SYSTEMD) =>
  createNotifier({ send, environment, processId: 42 });

describe("the watchdog", () => {
  test("is fed after a frame, within half its time", () => {
    const notifier = make();
    expect(notifier.watchdogMs).toBe(8000);
    notifier.frameCompleted();
    vi.advanceTimersByTime(4000);
    expect(sent).toContain("WATCHDOG=1");
  });

  test("is not fed while no frame completes", () => {
    const notifier = make();
    notifier.frameCompleted();
    vi.advanceTimersByTime(4000);
    sent = [];
    vi.advanceTimersByTime(60_000);
    expect(sent).toEqual([]);
    notifier.frameCompleted();
    vi.advanceTimersByTime(2000);
    expect(sent).toEqual(["WATCHDOG=1"]);
  });

  test("frames that are expected every half minute feed it in between, until three periods have passed", () => {
    const notifier = make();
    notifier.expectEvery(30_000);
    notifier.frameCompleted();
    vi.advanceTimersByTime(30_000);
    expect(sent.length).toBeGreaterThanOrEqual(14);
    vi.advanceTimersByTime(90_000);
    sent = [];
    vi.advanceTimersByTime(60_000);
    expect(sent).toEqual([]);
  });

  test("is fed while no frame can be expected, and again only by frames after that", () => {
    const notifier = make();
    let away = true;
    notifier.excuse(() => away);
    vi.advanceTimersByTime(60_000);
    expect(sent.filter((message) => message === "WATCHDOG=1").length).toBeGreaterThan(20);
    away = false;
    vi.advanceTimersByTime(4000);
    sent = [];
    vi.advanceTimersByTime(60_000);
    expect(sent).toEqual([]);
  });

  test("a camera that has returned has as long for its first frame as between two frames", () => {
    const notifier = make();
    notifier.expectEvery(10_000);
    notifier.frameCompleted();
    let away = true;
    notifier.excuse(() => away);
    vi.advanceTimersByTime(600_000);
    away = false;
    sent = [];
    vi.advanceTimersByTime(28_000);
    expect(sent).toHaveLength(14);
    vi.advanceTimersByTime(2000);
    sent = [];
    vi.advanceTimersByTime(60_000);
    expect(sent).toEqual([]);
  });

  test("each attempt to open a missing source feeds it", () => {
    const notifier = make();
    notifier.waiting("no\ncamera");
    expect(sent).toEqual(["READY=1", "STATUS=waiting: no camera"]);
    vi.advanceTimersByTime(2000);
    expect(sent.at(-1)).toBe("WATCHDOG=1");
    sent = [];
    vi.advanceTimersByTime(60_000);
    expect(sent).toEqual([]);
  });

  test.each([
    ["8000000", 8000, 2000],
    ["20000", 20, 10],
    ["44000", 44, 11],
  ])("of %s µs is fed at each quarter, but not faster than every 10 ms", (microseconds, ms, tickMs) => {
    const notifier = make({ ...SYSTEMD, WATCHDOG_USEC: microseconds });
    expect(notifier.watchdogMs).toBe(ms);
    notifier.frameCompleted();
    vi.advanceTimersByTime(tickMs - 1);
    expect(sent).toEqual([]);
    vi.advanceTimersByTime(1);
    expect(sent).toEqual(["WATCHDOG=1"]);
    notifier.frameCompleted();
    vi.advanceTimersByTime(tickMs);
    expect(sent).toHaveLength(2);
  });

  test.each(["0", "-1", "x", undefined])("there is none where systemd says %s", (microseconds) => {
    const notifier = make({ NOTIFY_SOCKET: "@x", WATCHDOG_USEC: microseconds });
    expect(notifier.watchdogMs).toBeUndefined();
  });

  test("a process that is not named is meant", () => {
    const { active, watchdogMs } = make({ NOTIFY_SOCKET: "@x", WATCHDOG_USEC: "1" });
    expect([active, watchdogMs]).toEqual([true, 0.001]);
  });

  test("three periods without a frame end it, to the millisecond", () => {
    const notifier = make();
    notifier.expectEvery(2000);
    notifier.frameCompleted();
    vi.advanceTimersByTime(2000);
    sent = [];
    // Fed at 4 and 6 s: 2 and 4 s after the frame was noticed; at 8 s, the three periods are over.
    vi.advanceTimersByTime(60_000);
    expect(sent).toEqual(["WATCHDOG=1", "WATCHDOG=1"]);
  });

  test("a later start is waited for to the end of its margin", () => {
    const notifier = make();
    notifier.startsLater(1.0000001);
    expect(sent).toEqual(["EXTEND_TIMEOUT_USEC=61000001"]);
    sent = [];
    vi.advanceTimersByTime(600_000);
    // Every 2 s up to 60 s; the next tick, at 62 s, is too late.
    expect(sent).toHaveLength(30);
  });

  test("a start that comes later is announced", () => {
    make().startsLater(600);
    expect(sent).toEqual(["EXTEND_TIMEOUT_USEC=660000000"]);
  });

  test("while a run that restarts measures an idle machine, it is fed; after that only by frames", () => {
    const notifier = make();
    notifier.frameCompleted();
    notifier.ready();
    vi.advanceTimersByTime(4000);
    notifier.startsLater(120);
    sent = [];
    vi.advanceTimersByTime(120_000);
    expect(sent.filter((message) => message === "WATCHDOG=1").length).toBeGreaterThan(50);
    vi.advanceTimersByTime(70_000);
    sent = [];
    vi.advanceTimersByTime(60_000);
    expect(sent).toEqual([]);
  });

  test("one frame feeds once, many frames feed once per tick", () => {
    const notifier = make();
    for (let frame = 0; frame < 100; frame++) notifier.frameCompleted();
    vi.advanceTimersByTime(8000);
    expect(sent).toEqual(["WATCHDOG=1"]);
  });

  test("a frame period of three quarters of its time keeps every gap below it", () => {
    const notifier = make();
    const times: number[] = [];
    for (let millisecond = 0; millisecond < 60_000; millisecond += 50) {
      if (millisecond % 6000 === 0) notifier.frameCompleted();
      vi.advanceTimersByTime(50);
      while (sent.length > times.length) times.push(millisecond);
    }
    const gaps = times.slice(1).map((time, index) => time - times[index]!);
    expect(times.length).toBeGreaterThan(8);
    expect(Math.max(...gaps)).toBeLessThan(8000);
  });

  test("meant for another process, or absent, is left alone", () => {
    expect(make({ ...SYSTEMD, WATCHDOG_PID: "41" }).watchdogMs).toBeUndefined();
    const notifier = make({ NOTIFY_SOCKET: "@x" });
    expect(notifier.watchdogMs).toBeUndefined();
    notifier.frameCompleted();
    vi.advanceTimersByTime(60_000);
    expect(sent).toEqual([]);
  });

  test("is no longer fed once stopping", () => {
    const notifier = make();
    notifier.frameCompleted();
    notifier.stopping();
    vi.advanceTimersByTime(60_000);
    expect(sent).toEqual(["STOPPING=1"]);
  });
});

describe("messages", () => {
  test("READY is sent once; a status is one line", () => {
    const notifier = make();
    notifier.ready();
    notifier.ready();
    notifier.status("30 fps\nREADY=0");
    expect(sent).toEqual(["READY=1", "STATUS=30 fps READY=0"]);
  });

  test("without a service manager nothing is sent", () => {
    const notifier = make({});
    notifier.ready();
    notifier.status("x");
    notifier.stopping();
    notifier.waiting("x");
    notifier.startsLater(1);
    notifier.expectEvery(1);
    notifier.excuse(() => true);
    notifier.frameCompleted();
    expect([notifier.active, notifier.watchdogMs, vi.getTimerCount()]).toEqual([false, undefined, 0]);
    expect(sent).toEqual([]);
  });

  test("a socket that fails need not be reported, and is tried again", () => {
    let tries = 0;
    const refuse = () => {
      tries++;
      return "refused";
    };
    const notifier = createNotifier({ send: refuse, environment: SYSTEMD });
    notifier.status("x");
    notifier.status("y");
    expect(tries).toBe(2);
  });

  test("a socket that fails is reported once", () => {
    const reasons: string[] = [];
    const notifier = createNotifier({
      send: () => "No such file or directory",
      environment: SYSTEMD,
      onFailure: (reason) => reasons.push(reason),
    });
    notifier.ready();
    notifier.status("x");
    expect(reasons).toEqual([
      "the service manager cannot be notified (/run/systemd/notify: No such file or directory)",
    ]);
  });
});

describe("the addon's datagram", () => {
  const folder = mkdtempSync(join(tmpdir(), "depthwatt-notify-"));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  test.each([
    ["the abstract namespace", `@depthwatt-test-${process.pid}`],
    ["a path", join(folder, "socket")],
  ])("arrives whole at %s", async (_, address) => {
    vi.useRealTimers();
    const script = `import socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
a = sys.argv[1]
s.bind("\\0" + a[1:] if a[0] == "@" else a)
s.settimeout(10)
print("bound", flush=True)
print(s.recv(4096).decode())`;
    const receiver = spawn(PYTHON, ["-c", script, address], { stdio: ["ignore", "pipe", "inherit"] });
    let output = "";
    receiver.stdout.on("data", (chunk) => {
      output += chunk;
    });
    await once(receiver.stdout, "data");
    expect(loadNative().sdNotify(address, "READY=1\nSTATUS=Grüße, 30 fps")).toBe("");
    await once(receiver, "close");
    expect(output).toBe("bound\nREADY=1\nSTATUS=Grüße, 30 fps\n");
  });

  test("what cannot be sent says why", () => {
    const { sdNotify } = loadNative();
    expect(sdNotify("/no/such/socket", "x")).toBe("No such file or directory");
    expect(sdNotify("", "x")).not.toBe("");
    expect(sdNotify("/".repeat(200), "x")).toBe("File name too long");
  });

  test("a thousand of them leave no descriptor open", () => {
    const { sdNotify } = loadNative();
    const isSocket = (name: string) => {
      try {
        return readlinkSync(`/proc/self/fd/${name}`).startsWith("socket:");
      } catch {
        return false;
      }
    };
    const sockets = () => readdirSync("/proc/self/fd").filter(isSocket).length;
    const before = sockets();
    for (let at = 0; at < 1000; at++) sdNotify("/no/such/socket", "x");
    expect(sockets()).toBeLessThan(before + 500);
  });
});
