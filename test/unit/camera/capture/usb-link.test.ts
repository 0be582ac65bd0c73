// SPDX-License-Identifier: Apache-2.0
// The USB bus and speed of a camera, from a tree laid out as the kernel lays out sysfs.
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { usbLinkFrom } from "../../../../camera/live/usb-link.js";

let folder: string;
let sysfs: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "depthwatt-usb-"));
  sysfs = join(folder, "class/video4linux");
  const usb = join(folder, "devices/pci0000:00/0000:00:14.0/usb1/1-4");
  mkdirSync(join(usb, "1-4:1.0/video4linux/video0"), { recursive: true });
  writeFileSync(join(usb, "speed"), "480\n");
  writeFileSync(join(usb, "busnum"), "1\n");
  symlinkSync(join(usb, "1-4:1.0"), join(usb, "1-4:1.0/video4linux/video0/device"));
  const csi = join(folder, "devices/platform/tegra-capture-vi");
  mkdirSync(join(csi, "video4linux/video1"), { recursive: true });
  symlinkSync(csi, join(csi, "video4linux/video1/device"));
  mkdirSync(sysfs, { recursive: true });
  symlinkSync(join(usb, "1-4:1.0/video4linux/video0"), join(sysfs, "video0"));
  symlinkSync(join(csi, "video4linux/video1"), join(sysfs, "video1"));
  mkdirSync(join(folder, "dev/by-id"), { recursive: true });
  writeFileSync(join(folder, "dev/video0"), "");
  symlinkSync("../video0", join(folder, "dev/by-id/usb-camera"));
});
afterAll(() => rmSync(folder, { recursive: true }));

test("bus and speed of a USB camera, also by a link to its node", () => {
  const link = { bus: "1", megabitsPerSecond: 480 };
  expect(usbLinkFrom(join(folder, "dev/video0"), sysfs)).toEqual(link);
  expect(usbLinkFrom(join(folder, "dev/by-id/usb-camera"), sysfs)).toEqual(link);
});

test("a sensor on the board and a missing node have no link", () => {
  writeFileSync(join(folder, "dev/video1"), "");
  expect(usbLinkFrom(join(folder, "dev/video1"), sysfs)).toBeUndefined();
  expect(usbLinkFrom(join(folder, "dev/video9"), sysfs)).toBeUndefined();
});
