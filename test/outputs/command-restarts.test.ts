// SPDX-License-Identifier: Apache-2.0
// Programs that read pictures (outputs.command), and hang, end, or get another size: restarts, counted frames, one notice.
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, expect, test } from "vitest";
import { offerPicture as offer, openCommand } from "../doubles/command-output.js";
import { until } from "../doubles/frames.js";
import { sharedFrame as makeFrame } from "../doubles/shared-memory.js";

const folder = mkdtempSync(join(tmpdir(), "depthwatt-command-"));
const toFile = `cat > ${join(folder, "out")}`;
const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});
afterAll(() => rmSync(folder, { recursive: true }));

async function open(...words: Parameters<typeof openCommand>) {
  const opened = await openCommand(...words);
  cleanups.push(() => opened.output.close());
  return opened;
}

test("a program that reads nothing costs counted frames, is ended and is started again", async () => {
  const { output, notices } = await open({ command: "exec sleep 100", timeoutMs: 100 });
  // More than a pipe holds.
  const large = makeFrame(1, 640, 480);
  for (let i = 0; i < 3; i++) offer(output, large);
  await until(
    "it is started again",
    () => (output.counters().details as { restarts: number }).restarts === 1,
  );
  expect(notices).toEqual(['command "sh": read nothing for 0.1 s. It is started again in 0.5 s.']);
  expect(output.counters()).toMatchObject({ sent: 0, drops: { busy: 2, lost: 1 } });
});

test("a program that ends is named once with its last line, and frames meanwhile are counted", async () => {
  const { output, notices } = await open({
    command: "echo a >&2; echo rtsp://me:secret@host is broken >&2; exit 3",
  });
  await until("it has ended twice", () => (output.counters().details as { restarts: number }).restarts === 2);
  expect(notices).toHaveLength(1);
  expect(notices[0]).toMatch(
    /^command "sh": ended with exit code 3; its last line: rtsp:\/\/.*host is broken/,
  );
  expect(notices[0]).not.toContain("secret");
  await until("it is away", () => !(output.counters().details as { running: boolean }).running);
  offer(output, makeFrame(1));
  expect(output.counters()).toMatchObject({
    drops: { notRunning: 1 },
    details: { lastEnd: expect.any(String) },
  });
});

test("frames of another size start the program again", async () => {
  const { output } = await open({ command: toFile });
  offer(output, makeFrame(1));
  await until("it is read", () => output.counters().sent === 1);
  offer(output, makeFrame(2, 32, 16));
  await until(
    "it is started again",
    () => (output.counters().details as { restarts: number }).restarts === 1,
  );
  offer(output, makeFrame(2, 32, 16));
  await until("it is read", () => output.counters().sent === 2);
  await output.close();
  expect(readFileSync(join(folder, "out"), "latin1")).toMatch(/^YUV4MPEG2 W32 H16 /);
  expect(output.counters().drops).toEqual({ otherSize: 1 });
});
