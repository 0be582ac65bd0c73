// SPDX-License-Identifier: Apache-2.0
// Tests access to the live page: with a keyboard alone, a phone, a screen reader; no foreign page, no access without
// the password; and its behaviour when its program ends, or sends garbage.
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import type { AddressInfo } from "node:net";
import type { Page } from "playwright-core";
import { afterEach, expect, test } from "vitest";
import type { PictureStream } from "../../core/frame/frame-format.js";
import { PasswordGate } from "../../edge/http/index.js";
import { type Browser, type BrowserOptions, openBrowser } from "../doubles/browser.js";
import { sleep, until } from "../doubles/frames.js";
import { needs } from "../doubles/needs.js";
import { openPageFeed, type PageFeed, type PageFeedOptions } from "../doubles/page-feed.js";
import { readPixels } from "./shown-page.js";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function opened(
  options: PageFeedOptions = {},
  view: BrowserOptions = {},
): Promise<{ feed: PageFeed; browser: Browser; page: Page }> {
  const feed = await openPageFeed(options);
  cleanups.push(() => feed.close());
  const browser = await openBrowser(feed.url, view);
  cleanups.push(() => browser.close());
  return { feed, browser, page: browser.page };
}

const shownSets = (page: Page): Promise<number> =>
  page.evaluate(
    () =>
      (globalThis as never as { depthwatt: { shownFrames: { sets: number } } }).depthwatt.shownFrames.sets,
  );

/** Serious and critical findings, as "rule: element". */
async function barriers(page: Page): Promise<string[]> {
  await page.evaluate(AXE);
  return page.evaluate(async () => {
    type Finding = { id: string; impact: string; nodes: { html: string; failureSummary: string }[] };
    const { axe } = globalThis as never as { axe: { run(): Promise<{ violations: Finding[] }> } };
    const { violations } = await axe.run();
    return violations
      .filter(({ impact }) => impact === "serious" || impact === "critical")
      .flatMap(({ id, nodes }) =>
        nodes.map(({ html, failureSummary }) => `${id}: ${html}: ${failureSummary}`),
      );
  });
}

needs("chromium").suite("access to the live page", () => {
  test("no barrier that axe-core calls serious, wide and light, narrow and dark, on every tab", async () => {
    const { feed, browser, page } = await opened();
    feed.hub.document("bench", "metrics", {
      fps: 30,
      stages: { match: { p50Ms: 1, p95Ms: 2, p99Ms: 3 } },
      power: { available: false, reason: "no power sensor: ".padEnd(200, "nothing there, ") },
    });
    feed.hub.log("warn", "a warning");
    cleanups.push(feed.stream(10));
    for (const [width, colorScheme] of [
      [1280, "light"],
      [360, "dark"],
    ] as const) {
      await page.setViewportSize({ width, height: 800 });
      await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
      for (const [view, side] of [
        ["Picture", "Figures"],
        ["Point cloud", "Plots"],
        ["Picture", "Settings"],
        ["Picture", "Log"],
      ] as const) {
        await page.getByRole("tab", { name: view }).click();
        await page.getByRole("tab", { name: side }).click();
        expect(await barriers(page), `${view}, ${side}, ${width}, ${colorScheme}`).toEqual([]);
        const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        expect(overflow, `${view}, ${side}, ${width}`).toBeLessThanOrEqual(0);
      }
    }
    expect(browser.complaints).toEqual([]);
  });

  test("a browser without WebGL 2 shows a notice, and saves the cloud all the same", async () => {
    const { feed, browser, page } = await opened({}, { flags: ["--disable-3d-apis"] });
    cleanups.push(feed.stream(10));
    await expect.poll(() => shownSets(page), { timeout: 15_000 }).toBeGreaterThan(0);
    await page.getByRole("tab", { name: "Point cloud" }).click();
    await page.getByText("This browser offers no WebGL 2").waitFor();
    expect(await page.locator(".cloud canvas").count()).toBe(0);
    expect(await barriers(page)).toEqual([]);
    const saved = page.waitForEvent("download");
    await page.getByRole("button", { name: "Save PLY" }).click();
    expect(readFileSync(await (await saved).path(), "latin1")).toMatch(
      /^ply\nformat binary_little_endian 1.0\n/,
    );
    expect(browser.complaints.filter((text) => !/WebGL/.test(text))).toEqual([]);
  });

  test("plots keep to their column and to the theme, whichever way the window and the theme change", async () => {
    const { feed, page } = await opened();
    cleanups.push(feed.stream(10));
    await page.getByRole("tab", { name: "Plots" }).click();
    for (const fps of [10, 20, 30]) feed.hub.document("bench", "metrics", { fps });
    const grid = async () => {
      const pixels = await readPixels(page, "[data-plot=fps] canvas");
      const opaque = pixels.filter((_, i) => i % 4 < 3 && pixels[i - (i % 4) + 3] === 255);
      return opaque.reduce((sum, value) => sum + value, 0) / opaque.length;
    };
    await page.locator("[data-plot=fps] canvas").waitFor();
    for (const width of [1280, 360, 1000, 768, 1280]) {
      await page.setViewportSize({ width, height: 800 });
      const overflow = () =>
        page.evaluate(() => {
          const panel = document.getElementById("side-panel") as HTMLElement;
          const widest = Math.max(
            ...[...panel.querySelectorAll("*")].map((at) => at.getBoundingClientRect().right),
          );
          return widest - panel.getBoundingClientRect().right;
        });
      await expect.poll(overflow, { message: `${width} px` }).toBeLessThanOrEqual(0);
    }
    const light = await grid();
    await page.emulateMedia({ colorScheme: "dark" });
    await expect.poll(grid).toBeLessThan(light - 40);
    await page.getByLabel("Theme").selectOption("Light");
    await expect.poll(grid).toBeGreaterThan(light - 20);
  });

  test("all of it by the keyboard alone", async () => {
    const { feed, page } = await opened();
    cleanups.push(feed.stream(10));
    await expect.poll(() => shownSets(page), { timeout: 15_000 }).toBeGreaterThan(0);
    const reach = async (name: string) => {
      for (let i = 0; i < 40; i++) {
        await page.keyboard.press("Tab");
        const focused = await page.evaluate(() => {
          const element = document.activeElement as HTMLElement;
          return element.getAttribute("aria-label") ?? element.innerText ?? "";
        });
        if (focused.startsWith(name)) return;
      }
      throw new Error(`Tab does not reach ${name}`);
    };
    await reach("Freeze");
    await page.keyboard.press("Enter");
    const frozen = await shownSets(page);
    await sleep(500);
    expect(await shownSets(page)).toBe(frozen);
    await page.keyboard.press("Space");
    await expect.poll(() => shownSets(page)).toBeGreaterThan(frozen);
    await reach("Figures");
    await page.keyboard.press("ArrowRight");
    expect(await page.getByRole("tab", { name: "Plots" }).getAttribute("aria-selected")).toBe("true");
    await page.keyboard.press("End");
    expect(await page.getByRole("tab", { name: "Log" }).getAttribute("aria-selected")).toBe("true");
  });

  test("a password is asked for, a wrong one is refused, and nothing is shown before", async () => {
    const { feed, page } = await opened({ gate: new PasswordGate("correct horse") });
    cleanups.push(feed.stream(10));
    await page.getByLabel("Password").fill("battery staple");
    await page.getByRole("button", { name: "Enter" }).click();
    await page.getByText("That is not the password.").waitFor();
    expect(await shownSets(page)).toBe(0);
    expect(feed.hub.watched("bench")).toBe(false);
    await page.getByLabel("Password").fill("correct horse");
    await page.keyboard.press("Enter");
    await expect.poll(() => shownSets(page), { timeout: 15_000 }).toBeGreaterThan(0);
  });

  test("another site's page gets neither an answer nor a socket", async () => {
    const feed = await openPageFeed();
    cleanups.push(() => feed.close());
    const stranger = createServer((_request, response) => {
      response.setHeader("Content-Type", "text/html");
      response.end("<!doctype html><link rel=icon href='data:,'><title>stranger</title>");
    });
    stranger.listen(0, "127.0.0.1");
    await once(stranger, "listening");
    cleanups.push(() => stranger.close());
    const { port } = stranger.address() as AddressInfo;
    const browser = await openBrowser(`http://127.0.0.1:${port}/`);
    cleanups.push(() => browser.close());
    const outcome = await browser.page.evaluate(async (url) => {
      const fetched = await fetch(url).then(
        (response) => `answer ${response.status}`,
        () => "refused",
      );
      const blind = await fetch(url, { mode: "no-cors" }).then(
        (response) => response.type,
        () => "refused",
      );
      const socket = new WebSocket(`${url.replace("http", "ws")}/live`);
      const spoke = await new Promise<string>((resolve) => {
        socket.onmessage = () => resolve("welcome");
        socket.onerror = () => resolve("refused");
      });
      return { fetched, blind, spoke };
    }, feed.url);
    expect(outcome).toEqual({ fetched: "refused", blind: "refused", spoke: "refused" });
    expect(feed.hub.pages).toBe(0);
  });

  test("says that the program is gone and shows frames again soon after its return", async () => {
    const { feed, page } = await opened();
    let stop = feed.stream(20);
    await expect.poll(() => shownSets(page), { timeout: 15_000 }).toBeGreaterThan(0);
    stop();
    const { port } = new URL(feed.url);
    await feed.close();
    await page.getByText("The program does not answer. Trying again.").waitFor();
    const before = await shownSets(page);
    const again = await openPageFeed({ port: Number(port) });
    cleanups.push(() => again.close());
    stop = again.stream(20);
    cleanups.push(() => stop());
    // It tries again after 250 ms, then after half a second: the rest is room for what else the machine does.
    await expect.poll(() => shownSets(page), { timeout: 5000, interval: 20 }).toBeGreaterThan(before);
    await expect.poll(() => page.getByText("The program does not answer").count()).toBe(0);
  });

  test("garbage of another producer is reported and breaks nothing", async () => {
    const { feed, browser, page } = await opened();
    const good = feed.stream(20);
    await expect.poll(() => shownSets(page), { timeout: 15_000 }).toBeGreaterThan(0);
    good();
    const noise = Uint8Array.from({ length: 5000 }, (_, i) => (i * 167) & 255);
    for (const document of [
      null,
      [],
      "text",
      7,
      { fps: {}, stages: { x: null }, power: { rails: [null] }, drops: 3 },
    ]) {
      for (const type of ["metrics", "info", "cameraInfo", "state"] as const)
        feed.hub.document("bench", type, document);
    }
    for (const side of ["Plots", "Settings", "Log", "Figures"])
      await page.getByRole("tab", { name: side }).click();
    await until("a page has room", () => feed.hub.wanted("bench").size > 0);
    feed.hub.send("bench", new Map<PictureStream, Uint8Array>([["depth", noise]]), () => {});
    await page.getByText(/depth is damaged: frame header/).waitFor();
    const before = await shownSets(page);
    cleanups.push(feed.stream(20));
    await expect.poll(() => shownSets(page)).toBeGreaterThan(before + 3);
    expect(browser.complaints).toEqual([]);
  });
});
