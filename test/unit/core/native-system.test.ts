// SPDX-License-Identifier: Apache-2.0
// The addon's clocks, file locks and datagrams.
import { closeSync, mkdtempSync, openSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { loadNative } from "../../../edge/contracts/native.js";

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
