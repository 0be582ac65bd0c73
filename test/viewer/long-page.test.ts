// SPDX-License-Identifier: Apache-2.0
// The live page in Chromium, what page.test.ts leaves out: freezing, plots, the point cloud and its files.
import { readFileSync } from "node:fs";
import type { Page } from "playwright-core";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type Browser, openBrowser } from "../doubles/browser.js";
import { sleep, until } from "../doubles/frames.js";
import { needs } from "../doubles/needs.js";
import { CAMERA, type KnownFrame, knownFrame, openPageFeed, type PageFeed } from "../doubles/page-feed.js";
import { differing, readPixels, showFrame, text } from "./shown-page.js";

needs("chromium").suite("the live page in Chromium, all of it", () => {
  let feed: PageFeed;
  let browser: Browser;
  let page: Page;
  let frame: KnownFrame;

  beforeEach(async () => {
    feed = await openPageFeed();
    browser = await openBrowser(feed.url);
    page = browser.page;
    frame = knownFrame(42, feed.width * feed.height);
    await until("the page is there", () => feed.hub.pages === 1);
    await showFrame(page, feed, frame);
  });

  afterEach(async () => {
    await browser?.close();
    await feed?.close();
    expect(browser.complaints).toEqual([]);
    expect(browser.foreign).toEqual([]);
  });

  test("a frozen page stays as it is and asks for nothing", async () => {
    await page.getByRole("button", { name: "Freeze" }).click();
    const before = await readPixels(page, ".sheet.left canvas");
    const other = knownFrame(43, feed.width * feed.height);
    for (let i = 0; i < 5; i++) await feed.send(other);
    expect(feed.hub.wanted("bench").size).toBe(0);
    expect(differing(await readPixels(page, ".sheet.left canvas"), before)).toBeUndefined();
    await page.getByRole("button", { name: "Freeze" }).click();
    await showFrame(page, feed, other);
    expect(differing(await readPixels(page, ".sheet.left canvas"), before)).toBeDefined();
  });

  test("plots draw the published figures", async () => {
    await page.getByRole("tab", { name: "Plots" }).click();
    for (const fps of [10, 20, 30]) {
      feed.hub.document("bench", "metrics", {
        fps,
        power: { watts: fps / 10, rails: {} },
        drops: { late: fps },
      });
      await sleep(500);
    }
    await expect.poll(() => text(page, "[data-plot=fps] [data-newest=fps]")).toBe("30.0");
    expect(await text(page, "[data-plot=watts] [data-newest=total]")).toBe("3.00");
    const pixels = await readPixels(page, "[data-plot=fps] canvas");
    let drawn = 0;
    for (let i = 0; i < pixels.length; i += 4)
      if (pixels[i]! < 60 && pixels[i + 2]! > 120 && pixels[i + 3]! > 100) drawn++;
    expect(drawn).toBeGreaterThan(20);
    // The samples of the last second, of 60 in the plot; the pointer is at the first of them.
    await page.locator("[data-plot=fps] .u-over").scrollIntoViewIfNeeded();
    const box = (await page.locator("[data-plot=fps] .u-over").boundingBox())!;
    await page.mouse.move(box.x + box.width * (1 - 1.2 / 60), box.y + box.height / 2);
    await page.locator("[data-plot=watts] [data-plot-time]").waitFor();
    await expect.poll(() => text(page, "[data-plot=fps] [data-newest=fps]")).toMatch(/^[12]0\.0$/);
    await page.mouse.move(0, 0);
    await expect.poll(() => text(page, "[data-plot=fps] [data-newest=fps]")).toBe("30.0");
  });

  test("plots draw watts by rail and temperatures by sensor, each in its colour", async () => {
    await page.getByRole("tab", { name: "Plots" }).click();
    for (const step of [0, 1, 2]) {
      const rails = { VDD_GPU: { watts: 4 + step }, VDD_SOC: { available: false, reason: "no such rail" } };
      const context = { temperaturesCelsius: { cpu: 40 + step, gpu: 50 + step } };
      feed.hub.document("bench", "metrics", { fps: 30, power: { watts: 9 + step, rails, context } });
      await sleep(500);
    }
    const newest = (plot: string, line: string) => text(page, `[data-plot=${plot}] [data-newest="${line}"]`);
    await expect.poll(() => newest("temperature", "gpu")).toBe("52.0");
    expect(await newest("temperature", "cpu")).toBe("42.0");
    const days = [
      { date: "2026-11-24", pitch: 0.01, yaw: 0.02, roll: 0.1, looks: 900 },
      { date: "2026-11-25", pitch: 0.012, yaw: 0.02, roll: 0.135, looks: 900 },
    ];
    feed.hub.document("bench", "info", { drift: { file: "/drift.json", days } });
    await expect.poll(() => newest("drift", "roll")).toBe("0.135");
    expect(await newest("watts", "VDD_GPU")).toBe("6.00");
    expect(await newest("watts", "total")).toBe("11.0");
    // A rail that cannot be read has no line; its reason is in the figures.
    expect(await page.locator('[data-plot=watts] [data-newest="VDD_SOC"]').count()).toBe(0);
    for (const plot of ["watts", "temperature"]) {
      const pixels = await readPixels(page, `[data-plot=${plot}] canvas`);
      // The first two colours of lines: blue, and orange.
      const drawn = { blue: 0, orange: 0 };
      for (let i = 0; i < pixels.length; i += 4) {
        const [red, green, blue, opacity] = pixels.subarray(i, i + 4);
        if (opacity! < 100) continue;
        if (red! < 60 && blue! > 120) drawn.blue++;
        if (red! > 150 && green! > 40 && green! < 140 && blue! < 60) drawn.orange++;
      }
      expect(drawn.blue, plot).toBeGreaterThan(3);
      expect(drawn.orange, plot).toBeGreaterThan(3);
    }
  });

  test("a PLY file has the points of the reconstruction", async () => {
    await page.getByRole("tab", { name: "Point cloud" }).click();
    await page.getByLabel("From (m)").fill("1");
    await page.getByLabel("To (m)").fill("40");
    await showFrame(page, feed, frame);
    const waiting = page.waitForEvent("download");
    await page.getByRole("button", { name: "Save PLY" }).click();
    const file = readFileSync(await (await waiting).path());
    const end = file.indexOf("end_header\n") + "end_header\n".length;
    const { K } = CAMERA;
    const range = await page.evaluate(
      () => JSON.parse(localStorage.getItem("depthwatt.options") as string).ranges.depth,
    );
    const expected = [...frame.depth].flatMap((millimetres, i) => {
      const z = millimetres * 0.001;
      if (millimetres === 0 || z < range.min || z > range.max) return [];
      const [x, y] = [i % feed.width, Math.floor(i / feed.width)];
      return [[((x - K[2]!) * z) / K[0]!, ((y - K[5]!) * z) / K[4]!, z, frame.left[i]!]];
    });
    expect(file.subarray(0, end).toString()).toContain(`element vertex ${expected.length}\n`);
    expect(expected.length).toBeGreaterThan(1000);
    expect(file.length).toBe(end + 15 * expected.length);
    for (const [i, [x, y, z, grey]] of expected.entries()) {
      const at = end + 15 * i;
      expect([file.readFloatLE(at), file.readFloatLE(at + 4), file.readFloatLE(at + 8)]).toEqual([
        Math.fround(x!),
        Math.fround(y!),
        Math.fround(z!),
      ]);
      expect([...file.subarray(at + 12, at + 15)]).toEqual([grey, grey, grey]);
    }
  });

  test("the cloud is drawn, and turns by keys and by the mouse", async () => {
    await page.getByRole("tab", { name: "Point cloud" }).click();
    await page.getByRole("button", { name: "Save PLY" }).waitFor();
    const shot = () => page.locator(".cloud canvas").screenshot();
    const first = await shot();
    await page.locator(".cloud canvas").focus();
    for (let i = 0; i < 6; i++) await page.keyboard.press("ArrowLeft");
    await expect.poll(async () => (await shot()).equals(first)).toBe(false);
    const turned = await shot();
    const box = (await page.locator(".cloud canvas").boundingBox()) as { x: number; y: number };
    await page.mouse.move(box.x + 100, box.y + 100);
    await page.mouse.down();
    await page.mouse.move(box.x + 180, box.y + 60, { steps: 4 });
    await page.mouse.up();
    await expect.poll(async () => (await shot()).equals(turned)).toBe(false);
    await page.getByRole("button", { name: "Reset view" }).click();
    await expect.poll(async () => (await shot()).equals(first)).toBe(true);
  });
});
