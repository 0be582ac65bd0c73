// SPDX-License-Identifier: Apache-2.0
// The grid of the floor on the live page: every kind of cell at its place, each with a pattern that needs no colour.
import type { Page } from "playwright-core";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type Browser, openBrowser } from "../doubles/browser.js";
import { until } from "../doubles/frames.js";
import { needs } from "../doubles/needs.js";
import { knownFrame, openPageFeed, type PageFeed } from "../doubles/page-feed.js";
import { readPixels, showFrame } from "./shown-page.js";

const SIDE = 20;
const SIZE = 400 / SIDE;
/** Unknown but for one cell of each kind. */
const rows = Array.from({ length: SIDE }, () => "?".repeat(SIDE));
rows[2] = `${"?".repeat(4)}.#v${"?".repeat(13)}`;

needs("chromium").suite("the floor from above", () => {
  let feed: PageFeed;
  let browser: Browser;
  let page: Page;

  beforeEach(async () => {
    feed = await openPageFeed();
    browser = await openBrowser(feed.url);
    page = browser.page;
    await until("the page is there", () => feed.hub.pages === 1);
    await showFrame(page, feed, knownFrame(42, feed.width * feed.height));
  });

  afterEach(async () => {
    await browser?.close();
    await feed?.close();
  });

  const panel = () => page.locator(".top-view");
  const grid = (document: object) => feed.hub.document("bench", "grid", document);

  test("is shown only if the device has a grid", async () => {
    expect(await panel().count()).toBe(0);
    grid({ available: false, reason: "no floor: fewer than a twentieth of the pixels were matched" });
    await panel().getByText("no floor: fewer than a twentieth").waitFor();
    expect(await panel().locator("canvas").count()).toBe(0);
  });

  test("free, occupied, drop-off and unknown cells differ in the brightness of their pixels", async () => {
    grid({ cellMetres: 0.25, rows, scan: { ranges: [null, 4.375, 4.5] } });
    await panel().getByText("nearest obstacle 4.38 m").waitFor();
    const canvas = panel().getByRole("img", { name: "5.0 m by 5.0 m" });
    await expect.poll(() => canvas.evaluate((one: HTMLCanvasElement) => one.width)).toBe(400);
    const pixels = await readPixels(page, ".top-view > canvas");
    /** Red pixels count as dark as they are to a person who sees no red. */
    const brightness = (row: number, column: number, x: number, y: number) => {
      const at = 4 * ((row * SIZE + y) * 400 + column * SIZE + x);
      return 0.6 * pixels[at + 1]! + 0.4 * pixels[at + 2]!;
    };
    const cell = (column: number) =>
      Array.from({ length: SIZE * SIZE }, (_, at) => brightness(2, column, at % SIZE, Math.floor(at / SIZE)));
    const [free, occupied, drop, unknown] = [cell(4), cell(5), cell(6), cell(7)];
    expect(Math.min(...free)).toBe(255);
    expect(Math.max(...occupied)).toBe(0);
    const middle = SIZE / 2;
    const darkShare = (values: number[]) => values.filter((value) => value < 128).length / values.length;
    // Both diagonals of a drop-off are dark on white; an unknown cell is grey with one darker diagonal.
    expect([brightness(2, 6, 2, 2), brightness(2, 6, SIZE - 3, 2)].every((value) => value < 60)).toBe(true);
    expect(brightness(2, 6, middle, 1)).toBeGreaterThan(200);
    expect(darkShare(drop)).toBeGreaterThan(0.2);
    expect(brightness(2, 7, SIZE - 3, 2)).toBeLessThan(brightness(2, 7, 2, 2) - 30);
    expect(unknown.every((value) => value > 60 && value < 200)).toBe(true);
  });

  test("a document of another program that is no grid is not drawn", async () => {
    for (const wrong of [
      { rows: 7 },
      { rows: [] },
      { rows: ["..", 5] },
      { rows: ["<b>"], cellMetres: "x" },
      { rows: Array(200_000).fill("#") },
      { rows: ["#".repeat(1001)] },
    ]) {
      grid(wrong);
      await expect
        .poll(async () => (await panel().count()) === 1 && (await page.locator("b b").count()))
        .toBe(0);
    }
    grid({ rows, scan: { ranges: [-3, "1", null] } });
    await panel().getByText("no obstacle in the grid").waitFor();
    expect(browser.complaints).toEqual([]);
  });

  test("is not shown any longer once its device stopped, also not to a page that is opened later", async () => {
    const state = (name: string) => feed.hub.document("bench", "state", { state: name, reason: "a test" });
    state("degraded");
    grid({ cellMetres: 0.25, rows, scan: { ranges: [4.5] } });
    await panel().getByText("nearest obstacle 4.50 m").waitFor();
    state("stopped");
    await panel().getByText("the device stopped").waitFor();
    state("online");
    await page.reload();
    await panel().getByText("the device stopped").waitFor();
    expect(await panel().locator("canvas").count()).toBe(0);
    grid({ cellMetres: 0.25, rows, scan: { ranges: [4.25] } });
    await panel().getByText("nearest obstacle 4.25 m").waitFor();
  });
});
