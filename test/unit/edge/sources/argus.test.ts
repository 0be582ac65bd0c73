// SPDX-License-Identifier: Apache-2.0
// Tests how a source notices NVIDIA's camera daemon: a missing socket, a dead one, and when only a new process helps.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { lookAtArgus } from "../../../../edge/commands/doctor/look-at-devices.js";
import { loadConfig } from "../../../../edge/config/index.js";
import {
  argusWatch,
  checkArgus,
  hasPrivateTmp,
  NEW_PROCESS_AFTER_MS,
  usesArgus,
} from "../../../../edge/sources/command/argus.js";

const folder = mkdtempSync(join(tmpdir(), "depthwatt-argus-"));
afterAll(() => rmSync(folder, { recursive: true }));
const socket = join(folder, "argus_socket");

async function daemon(): Promise<() => Promise<void>> {
  const server = createServer((connection) => connection.end());
  await new Promise<void>((resolve) => server.listen(socket, resolve));
  return () => new Promise((resolve) => server.close(() => resolve()));
}

test("commands of NVIDIA's camera stack are recognised", () => {
  expect(usesArgus("gst-launch-1.0 nvarguscamerasrc sensor-id=0 ! fdsink")).toBe(true);
  expect(usesArgus("ffmpeg -i rtsp://left/stream -f yuv4mpegpipe -")).toBe(false);
});

test("a missing socket says how to start the daemon; in the service, that it restarts", () => {
  const error = (privateTmp: boolean) => {
    try {
      checkArgus({ socket: join(folder, "none"), privateTmp });
    } catch (caught) {
      return caught;
    }
    return undefined;
  };
  expect(error(false)).toMatchObject({
    code: "DEVICE_UNAVAILABLE",
    message: expect.stringContaining("found no such file"),
    hint: expect.stringContaining("systemctl restart nvargus-daemon"),
  });
  expect(error(true)).toMatchObject({
    hint: expect.stringContaining("once a minute"),
    context: { newProcessAfterMs: NEW_PROCESS_AFTER_MS },
  });
  writeFileSync(join(folder, "file"), "");
  expect(() => checkArgus({ socket: join(folder, "file"), privateTmp: false })).toThrow(
    "another kind of file",
  );
});

test("a daemon that loops ends the process once its socket has been dead for a minute, and only in a private /tmp", async () => {
  const stop = await daemon();
  let now = 0;
  const watch = argusWatch({ socket, privateTmp: true, nowMs: () => now });
  const other = argusWatch({ socket, privateTmp: false, nowMs: () => now });
  expect(await watch()).toBeUndefined();
  await stop();
  expect(await watch()).toBeUndefined();
  now = NEW_PROCESS_AFTER_MS - 1;
  expect(await watch()).toBeUndefined();
  const again = await daemon();
  expect(await watch()).toBeUndefined();
  await again();
  now += 10;
  expect(await watch()).toBeUndefined();
  now += NEW_PROCESS_AFTER_MS;
  expect((await watch())?.message).toContain("nothing answers there");
  expect(await other()).toBeUndefined();
});

test("a private /tmp is seen in the list of mounts", () => {
  const own =
    "612 580 254:0 /tmp/systemd-private-0aa-depthwatt.service-x/tmp /tmp rw,nosuid - ext4 /dev/vda rw\n";
  expect(hasPrivateTmp(own)).toBe(true);
  expect(hasPrivateTmp("35 28 0:31 / /tmp rw,nosuid,nodev shared:5 - tmpfs tmpfs rw\n")).toBe(false);
});

test("the doctor looks at the daemon where a command uses it", async () => {
  const config = (command: string) =>
    loadConfig({
      environment: {},
      set: ["source.kind=command", `source.command.sideBySide=${command}`],
    }).config;
  const argus = config("gst-launch-1.0 nvarguscamerasrc");
  expect(await lookAtArgus(config("ffmpeg -i x"), { socket })).toBeUndefined();
  expect(await lookAtArgus(argus, { socket })).toMatchObject({ state: "bad", exitCode: 3 });
  const stop = await daemon();
  expect(await lookAtArgus(argus, { socket })).toMatchObject({ state: "ok" });
  await stop();
});
