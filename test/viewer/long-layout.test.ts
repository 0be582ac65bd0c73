// SPDX-License-Identifier: Apache-2.0
// Tests the live page's layout at three widths in both themes: nothing overflows or is clipped, controls stay on the
// screen and are large enough, handles are below their bars; and axe-core finds nothing.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { describedSettings, loadConfig } from "../../edge/config/index.js";
import { PRESET_CHOICES } from "../../edge/presets/index.js";
import { type Browser, openBrowser } from "../doubles/browser.js";
import { needs } from "../doubles/needs.js";
import { knownFrame, openPageFeed, type PageFeed } from "../doubles/page-feed.js";
import { showFrame } from "./shown-page.js";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const SIZES = [
  { width: 390, height: 844 },
  { width: 1280, height: 800 },
  { width: 1920, height: 1080 },
];

async function findings(page: Page): Promise<string[]> {
  await page.evaluate(AXE);
  return page.evaluate(async () => {
    type Finding = { id: string; nodes: { html: string }[] };
    type Axe = { run(options: object): Promise<{ violations: Finding[] }> };
    const { axe } = globalThis as never as { axe: Axe };
    const runOnly = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"];
    const { violations } = await axe.run({ runOnly });
    return violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html}`));
  });
}

/** Elements that reach beyond the window, and controls whose text does not fit into them. */
const clipped = (page: Page) =>
  page.evaluate(() => {
    const wide = document.documentElement.scrollWidth > innerWidth ? ["the page scrolls sideways"] : [];
    const cut = [...document.querySelectorAll("button, dt, dd, label, summary, h2")]
      .filter((at) => at.scrollWidth > at.clientWidth + 1 && getComputedStyle(at).display !== "inline")
      .map((at) => `${at.tagName}: ${at.textContent}`);
    const small = [...document.querySelectorAll("button, select, input")]
      .map((at) => ({ at, box: at.getBoundingClientRect() }))
      .filter(({ at, box }) => box.height > 0 && box.height < 24 && at.getAttribute("type") !== "checkbox")
      .map(({ at, box }) => `${at.outerHTML.slice(0, 80)} is ${box.height} px high`);
    return [...wide, ...cut, ...small];
  });

needs("chromium").suite("the layout of the live page", () => {
  let feed: PageFeed;
  let browser: Browser;
  let page: Page;

  beforeAll(async () => {
    const { config } = loadConfig({ set: ["board=none"], environment: {} });
    const answer = {
      ok: false,
      code: "CONTROL_INVALID",
      message: "expected 4 or 8",
      hint: "Choose one.",
    } as const;
    feed = await openPageFeed({
      width: 320,
      height: 240,
      control: {
        describe: () => ({
          type: "control",
          state: { enabled: true, canSave: false, note: "No secret is needed." },
          ...describedSettings(config, true),
          presets: PRESET_CHOICES,
        }),
        ask: async ({ id }) => ({ type: "answer", id, answer }),
      },
    });
    feed.hub.document("bench", "metrics", {
      fps: 30,
      stages: { match: { p50Ms: 1, p95Ms: 2, p99Ms: 3 } },
      health: { alignment: { rotationDegrees: { pitch: -0.05, yaw: 0.04, roll: 0 } } },
      outputs: {
        mcap: { available: false, reason: "no file" },
        derived: { available: false, reason: "off" },
      },
    });
    browser = await openBrowser(feed.url);
    page = browser.page;
    await showFrame(page, feed, knownFrame(5, feed.width * feed.height));
  });

  afterAll(async () => {
    await browser?.close();
    await feed?.close();
  });

  for (const colorScheme of ["light", "dark"] as const)
    for (const size of SIZES)
      test(`${size.width} pixels, ${colorScheme}`, async () => {
        await page.setViewportSize(size);
        await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
        for (const [view, side] of [
          ["Picture", "Figures"],
          ["Point cloud", "Plots"],
          ["Picture", "Settings"],
        ] as const) {
          await page.getByRole("tab", { name: view }).click();
          await page.getByRole("tab", { name: side }).click();
          if (view === "Point cloud") await page.getByRole("button", { name: "Save PLY" }).waitFor();
          const state = `${view}, ${side}`;
          expect(await clipped(page), state).toEqual([]);
          expect(await findings(page), state).toEqual([]);
          if (size.width < 1000) continue;
          const last = view === "Picture" ? "Snapshot" : "Save PLY";
          const box = (await page.getByRole("button", { name: last, exact: true }).boundingBox())!;
          expect(box.y + box.height, state).toBeLessThanOrEqual(size.height);
        }
      });

  test("a handle is below the bar of its value", async () => {
    await page.setViewportSize({ width: 1280, height: 800 });
    await page.getByRole("tab", { name: "Picture" }).click();
    const bars = (await page.locator(".histogram").boundingBox())!;
    for (const name of ["From", "To"]) {
      const track = (await page.getByRole("slider", { name }).boundingBox())!;
      // The middle of a thumb of 24 pixels at both ends of its way.
      expect(track.x + 12).toBeCloseTo(bars.x, 0);
      expect(track.x + track.width - 12).toBeCloseTo(bars.x + bars.width, 0);
    }
  });

  test("a refusal is two sentences, and a group closes and opens", async () => {
    await page.getByRole("tab", { name: "Settings" }).click();
    await page.locator('[data-setting="match.sgm.paths"] select').selectOption("8");
    await page.locator("[data-said=refused]").getByText("Expected 4 or 8. Choose one.").waitFor();
    const group = page.locator('[data-group="match.sgm"]');
    await group.locator("summary").click();
    await expect.poll(() => group.locator("select").first().isVisible()).toBe(false);
    await group.locator("summary").click();
    await expect.poll(() => group.locator("select").first().isVisible()).toBe(true);
    expect(await page.title()).toBe("bench (online) – depthwatt");
    expect(browser.complaints).toEqual([]);
  });
});
