// SPDX-License-Identifier: Apache-2.0
// The addon's clocks, file locks and datagrams.
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { closeSync, mkdtempSync, openSync, rmSync } from "node:fs";
import { connect, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { addonPath } from "../../../core/addon.js";
import { loadNative } from "../../../edge/contracts/native.js";
import { needs, needsOwnMalloc } from "../../doubles/needs.js";

const native = loadNative();
const refused = (message: string) => expect.objectContaining({ code: "ENGINE_PARAMETER", message });

test("both clocks are those of JavaScript at one moment", () => {
  const [monotonic, realtime] = [process.hrtime.bigint(), BigInt(Date.now())];
  const { monotonicNs, realtimeNs } = native.clocks();
  const [monotonicAfter, realtimeAfter] = [process.hrtime.bigint(), BigInt(Date.now())];
  expect(monotonicNs).toBeGreaterThan(monotonic);
  expect(monotonicNs).toBeLessThan(monotonicAfter);
  // Date.now() counts whole milliseconds.
  expect(realtimeNs).toBeGreaterThanOrEqual(realtime * 1_000_000n);
  expect(realtimeNs).toBeLessThan((realtimeAfter + 1n) * 1_000_000n);
});

test("a file is locked until it is closed", () => {
  const folder = mkdtempSync(join(tmpdir(), "depthwatt-lock-"));
  const open = () => openSync(join(folder, "lock"), "w");
  try {
    const [first, second] = [open(), open()];
    expect([first, first, second].map((descriptor) => native.lockFile(descriptor))).toEqual([
      true,
      true,
      false,
    ]);
    closeSync(first);
    expect(native.lockFile(second)).toBe(true);
    closeSync(second);
  } finally {
    rmSync(folder, { recursive: true });
  }
  const message = "lockFile: expected the descriptor of an open file";
  for (const call of [[-1], ["1"], [], [1, 2]] as never[][])
    expect(() => native.lockFile(...(call as unknown as [number]))).toThrow(refused(message));
});

test("a datagram's address has 1 to 107 bytes", () => {
  // 107 slashes are the root folder, which is no socket.
  for (const [length, reason] of [
    [0, "File name too long"],
    [1, "Connection refused"],
    [107, "Connection refused"],
    [108, "File name too long"],
  ] as const)
    for (const message of ["x", Uint8Array.of(1)])
      expect(native.sdNotify("/".repeat(length), message as string), `${length}`).toBe(reason);
  const message = "sdNotify: expected a socket address and a message";
  for (const call of [["/"], ["/", 5], ["/", new Uint16Array(1)], [5, "x"], ["/", "x", "x"]])
    expect(() => native.sdNotify(...(call as [string, string]))).toThrow(refused(message));
});

test("the peer of a Unix socket is this process; TCP, a file and a descriptor that is closed have none", async () => {
  const folder = mkdtempSync(join(tmpdir(), "depthwatt-peer-"));
  const descriptor = (socket: Socket) => (socket as unknown as { _handle: { fd: number } })._handle.fd;
  /** Connects to itself, and returns the descriptor of the accepted socket to `use`. */
  async function withPeer(
    place: { path: string } | { port: number; host: string },
    use: (descriptor: number) => void,
  ) {
    const server = createServer().listen(place);
    await once(server, "listening");
    const address = server.address();
    const client =
      typeof address === "string" ? connect(address) : connect({ port: address!.port, host: "127.0.0.1" });
    const [accepted] = (await once(server, "connection")) as [Socket];
    try {
      use(descriptor(accepted));
    } finally {
      for (const socket of [client, accepted]) socket.destroy();
      server.close();
    }
  }
  const refusal = refused("peerCredentials: expected the descriptor of a connected Unix socket");
  try {
    await withPeer({ path: join(folder, "socket") }, (unix) => {
      const own = { pid: process.pid, uid: process.geteuid!(), gid: process.getegid!() };
      expect(native.peerCredentials(unix)).toEqual(own);
      for (const call of [[], [unix, unix], [String(unix)]] as never[][])
        expect(() => native.peerCredentials(...(call as unknown as [number]))).toThrow(refusal);
    });
    await withPeer({ port: 0, host: "127.0.0.1" }, (tcp) =>
      expect(() => native.peerCredentials(tcp)).toThrow(refusal),
    );
    const file = openSync(join(folder, "file"), "w");
    expect(() => native.peerCredentials(file)).toThrow(refusal);
    closeSync(file);
    expect(() => native.peerCredentials(file)).toThrow(refusal);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

needs("toolchain").suite("a system that answers otherwise", () => {
  const folder = mkdtempSync(join(tmpdir(), "depthwatt-system-"));
  afterAll(() => rmSync(folder, { recursive: true }));

  test("a file system without locks, and every state of the clock", () => {
    const library = join(folder, "system_answers.so");
    const source = join(import.meta.dirname, "../../doubles/native/system_answers.c");
    execFileSync("gcc", ["-shared", "-fPIC", "-o", library, source, "-ldl"]);
    const program = `
      const { constants: { errno } } = require("node:os");
      const native = require(process.argv[1]);
      const locked = ["ENOLCK", "EOPNOTSUPP", "EWOULDBLOCK", "EBADF"].map((name) => {
        process.env.FLOCK_ERRNO = String(errno[name]);
        try { return native.lockFile(0); } catch (error) { return error.code; }
      });
      // TIME_ERROR is 5 and TIME_WAIT 4; STA_UNSYNC is 64 and STA_PLL 1.
      const clock = ["0 1 2500 1250 37", "4 0 1 0 0", "0 65 16000000 0 37", "5 1 0 0 0", "-1 1"].map((answer) => {
        process.env.ADJTIMEX = answer;
        return native.wallClock();
      });
      console.log(JSON.stringify({ locked, clock, gives: native.giveMemoryBack() }));`;
    const env = { ...process.env, LD_PRELOAD: `${process.env.LD_PRELOAD ?? ""} ${library}` };
    const { locked, clock, gives } = JSON.parse(
      execFileSync(process.execPath, ["--eval", program, addonPath()], { env, encoding: "utf8" }),
    ) as { locked: unknown[]; clock: unknown[]; gives: boolean };
    expect(gives, "the C library's own malloc takes both limits").toBe(needsOwnMalloc().met);
    expect(locked).toEqual([true, true, false, "ENGINE_PARAMETER"]);
    const state = (synchronised: boolean, maxErrorMs: number, estimatedErrorMs: number, tai: number) => ({
      synchronised,
      maxErrorMs,
      estimatedErrorMs,
      taiOffsetSeconds: tai,
    });
    expect(clock).toEqual([
      state(true, 2.5, 1.25, 37),
      state(true, 0.001, 0, 0),
      state(false, 16_000, 0, 37),
      state(false, 0, 0, 0),
      expect.stringMatching(
        /^the kernel does not answer adjtimex \(Operation not permitted\); .*ProtectClock/,
      ),
    ]);
  });
});
