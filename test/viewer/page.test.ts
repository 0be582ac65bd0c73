// SPDX-License-Identifier: Apache-2.0
// The live page in Chromium, as a person uses it: what is on the screen against what was sent, pixel by pixel.
import { readFileSync } from "node:fs";
import { unzipSync } from "fflate";
import type { Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { decodeGreyPng } from "../../edge/consumer/png.js";
import { coloursOf } from "../../edge/outputs/viewer/page/picture/colour-maps.js";
import { type Browser, openBrowser } from "../doubles/browser.js";
import { sleep, until } from "../doubles/frames.js";
import { needs } from "../doubles/needs.js";
import { CAMERA, type KnownFrame, knownFrame, openPageFeed, type PageFeed } from "../doubles/page-feed.js";

const text = (page: Page, selector: string) => page.locator(selector).first().innerText();

/** All pixels of a canvas as RGBA; through a copy, since the page's own canvas is made for writing. */
const pixelsOf = async (page: Page, selector: string): Promise<number[]> =>
  page.locator(selector).evaluate((canvas: HTMLCanvasElement) => {
    const copy = new OffscreenCanvas(canvas.width, canvas.height);
    const context = copy.getContext("2d", { willReadFrequently: true }) as OffscreenCanvasRenderingContext2D;
    context.drawImage(canvas, 0, 0);
    return [...context.getImageData(0, 0, canvas.width, canvas.height).data];
  });

needs("chromium").suite("the live page in Chromium", () => {
  let feed: PageFeed;
  let browser: Browser;
  let page: Page;
  let frame: KnownFrame;

  beforeAll(async () => {
    feed = await openPageFeed();
    browser = await openBrowser(feed.url);
    page = browser.page;
    frame = knownFrame(42, feed.width * feed.height);
    await until("the page is there", () => feed.hub.pages === 1);
    await show(frame);
  });

  afterAll(async () => {
    await browser?.close();
    await feed?.close();
  });

  afterEach(() => {
    expect(browser.complaints).toEqual([]);
    expect(browser.foreign).toEqual([]);
  });

  /** Sends it until it is on the screen. */
  async function show(next: KnownFrame): Promise<void> {
    const before = feed.sent();
    const newest = () =>
      page.evaluate(() => {
        type Set = { pictures: { depth: { header: { frameNumber: number } } } };
        const { shownSet } = (globalThis as never as { depthwatt: { shownSet(): Set | undefined } })
          .depthwatt;
        return shownSet()?.pictures.depth.header.frameNumber ?? 0;
      });
    const deadline = performance.now() + 15_000;
    while ((await newest()) <= before) {
      if (performance.now() > deadline) throw new Error("waited 15 s in vain for a frame to be shown");
      await feed.send(next);
      await sleep(30);
    }
  }

  test("holds every count of every stream as it was sent", async () => {
    const held = await page.evaluate(() => {
      type Set = { pictures: Record<string, { counts: Iterable<number> }> };
      const { shownSet } = (globalThis as never as { depthwatt: { shownSet(): Set } }).depthwatt;
      return Object.entries(shownSet().pictures).map(
        ([stream, { counts }]) => [stream, [...counts]] as const,
      );
    });
    expect(held.map(([stream]) => stream).sort()).toEqual(["confidence", "depth", "disparity", "left"]);
    for (const [stream, counts] of held) expect(counts).toEqual([...frame[stream as keyof KnownFrame]]);
  });

  test("paints the left image and the depth, each pixel by the range and the colours that are chosen", async () => {
    const left = await pixelsOf(page, ".sheet.left canvas");
    expect(left.length).toBe(4 * frame.left.length);
    expect(left).toEqual([...frame.left].flatMap((grey) => [grey, grey, grey, 255]));

    await page.getByLabel("Mark filled pixels").uncheck();
    await page.locator(".range input[type=checkbox]").uncheck();
    await page.getByRole("slider", { name: "From" }).fill("300");
    await page.getByRole("slider", { name: "To" }).fill("900");
    const range = await page.evaluate(
      () => JSON.parse(localStorage.getItem("depthwatt.options") as string).ranges.depth,
    );
    expect(range.max / range.min).toBeCloseTo(660 ** 0.6, 6);
    const colours = coloursOf("turbo");
    const expected = [...frame.depth].flatMap((millimetres) => {
      if (millimetres === 0) return [0, 0, 0, 0];
      const share = 1 - (millimetres * 0.001 - range.min) / (range.max - range.min);
      const word = colours[Math.round(255 * Math.min(1, Math.max(0, share)))] as number;
      return [word & 255, (word >> 8) & 255, (word >> 16) & 255, 255];
    });
    expect(await pixelsOf(page, ".sheet.value canvas")).toEqual(expected);
  });

  test("marks filled pixels by stripes and leaves matched ones alone", async () => {
    const plain = await pixelsOf(page, ".sheet.value canvas");
    await page.getByLabel("Mark filled pixels").check();
    const marked = await pixelsOf(page, ".sheet.value canvas");
    let striped = 0;
    for (let i = 0; i < frame.depth.length; i++) {
      const [x, y] = [i % feed.width, Math.floor(i / feed.width)];
      const filled = frame.depth[i] !== 0 && frame.confidence[i] === 0 && (x + y) % 6 < 2;
      const differs = [0, 1, 2].some((channel) => plain[4 * i + channel] !== marked[4 * i + channel]);
      if (filled) striped++;
      if (!filled) expect(differs).toBe(false);
    }
    expect(striped).toBeGreaterThan(100);
  });

  test("says what is under the cursor: metres, disparity, confidence, filled or without a value", async () => {
    const canvas = page.locator(".sheet.value canvas");
    const box = (await canvas.boundingBox()) as { width: number; height: number };
    const at = async (index: number) => {
      const [x, y] = [index % feed.width, Math.floor(index / feed.width)];
      const position = { x: ((x + 0.5) * box.width) / feed.width, y: ((y + 0.5) * box.height) / feed.height };
      await canvas.hover({ position });
      await expect.poll(() => text(page, "[data-probe=position]")).toBe(`${x}, ${y}`);
      const shown = (name: string) => text(page, `[data-probe=${name}]`);
      return Promise.all(["depth", "disparity", "confidence", "grey"].map(shown));
    };
    const matched = frame.depth.findIndex(
      (depth, i) => i > 5000 && depth > 0 && frame.disparity[i]! > 0 && frame.confidence[i]! > 0,
    );
    const filled = frame.depth.findIndex((depth, i) => i > 5000 && depth > 0 && frame.confidence[i] === 0);
    const hole = frame.depth.findIndex((depth, i) => i > 5000 && depth === 0);
    expect(await at(matched)).toEqual([
      `${(frame.depth[matched]! / 1000).toFixed(3)} m`,
      `${(frame.disparity[matched]! / 16 - 1 / 16).toFixed(4)} px`,
      String(frame.confidence[matched]),
      String(frame.left[matched]),
    ]);
    expect((await at(filled))[2]).toBe("0 (filled: no match of its own)");
    expect((await at(hole))[0]).toBe("no value");
  });

  test("the probe walks by the keyboard", async () => {
    const canvas = page.locator(".sheet.value canvas");
    await canvas.hover({ position: { x: 40, y: 40 } });
    const [x, y] = (await text(page, "[data-probe=position]")).split(", ").map(Number) as [number, number];
    await canvas.focus();
    for (const key of ["ArrowRight", "ArrowRight", "ArrowDown", "Shift+ArrowRight"])
      await page.keyboard.press(key);
    await expect.poll(() => text(page, "[data-probe=position]")).toBe(`${x + 12}, ${y + 1}`);
  });

  test("a frozen page stays as it is and asks for nothing", async () => {
    await page.getByRole("button", { name: "Freeze" }).click();
    const before = await pixelsOf(page, ".sheet.left canvas");
    const other = knownFrame(43, feed.width * feed.height);
    for (let i = 0; i < 5; i++) await feed.send(other);
    expect(feed.hub.wanted("bench").size).toBe(0);
    expect(await pixelsOf(page, ".sheet.left canvas")).toEqual(before);
    await page.getByRole("button", { name: "Freeze" }).click();
    await show(other);
    expect(await pixelsOf(page, ".sheet.left canvas")).not.toEqual(before);
    await show(frame);
  });

  test("figures and stage bars are the published ones", async () => {
    feed.hub.document("bench", "metrics", {
      fps: 29.97,
      backend: "cuda",
      backendReason: "an H200 answered",
      latencyMs: { p50: 4.5, p95: 6.25, p99: 9 },
      stages: { match: { p50Ms: 1.5, p95Ms: 2.5, p99Ms: 3 }, encode: { p50Ms: 0.5, p95Ms: 0.75, p99Ms: 1 } },
      drops: { engineBusy: 3 },
      power: {
        available: true,
        watts: 7.5,
        fpsPerWatt: 3.996,
        joulesPerFrame: 0.25,
        rails: {
          VDD_IN: { available: true, watts: 7.5 },
          VDD_SOC: { available: false, reason: "no such rail" },
        },
      },
    });
    const figure = (name: string) => text(page, `[data-figure=${name}]`);
    await expect.poll(() => figure("fps")).toBe("29.97 fps");
    expect(await figure("latency")).toBe("4.5 / 6.3 / 9.0 ms");
    expect(await figure("joules")).toBe("250.0 mJ");
    expect(await figure("rails")).toBe("VDD_IN: 7.50 W\nVDD_SOC: no such rail");
    expect(await figure("drops")).toBe("engineBusy: 3");
    expect(await figure("backendReason")).toBe("an H200 answered");
    expect(await text(page, "[data-headline=efficiency]")).toBe("4.00");
    expect((await text(page, "[data-stage=match]")).trim().split(/\s+/)).toEqual(["match", "1.50", "2.50"]);
    const bars = await page
      .locator("[data-stage=match] rect")
      .evaluateAll((all) => all.map((bar) => bar.getAttribute("width")));
    expect(bars).toEqual(["100", "60"]);
  });

  test("plots draw the published figures", async () => {
    await page.getByRole("tab", { name: "Plots" }).click();
    for (const fps of [10, 20, 30])
      feed.hub.document("bench", "metrics", {
        fps,
        power: { watts: fps / 10, rails: {} },
        drops: { late: fps },
      });
    await expect.poll(() => text(page, "[data-plot=fps] [data-newest=fps]")).toBe("30.0");
    expect(await text(page, "[data-plot=watts] [data-newest=total]")).toBe("3.00");
    const pixels = await pixelsOf(page, "[data-plot=fps] canvas");
    let drawn = 0;
    for (let i = 0; i < pixels.length; i += 4)
      if (pixels[i]! < 60 && pixels[i + 2]! > 120 && pixels[i + 3]! > 100) drawn++;
    expect(drawn).toBeGreaterThan(20);
    await page.getByRole("tab", { name: "Figures" }).click();
  });

  test("a PLY file has the points of the reconstruction", async () => {
    await page.getByRole("tab", { name: "Point cloud" }).click();
    await page.getByLabel("From (m)").fill("1");
    await page.getByLabel("To (m)").fill("40");
    await show(frame);
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
    await page.getByRole("tab", { name: "Picture" }).click();
    await show(frame);
  });

  test("a snapshot holds all streams bit for bit", async () => {
    const waiting = page.waitForEvent("download");
    await page.getByRole("button", { name: "Snapshot" }).click();
    const files = unzipSync(readFileSync(await (await waiting).path()));
    const shape = { width: feed.width, height: feed.height };
    expect([...decodeGreyPng(files["depth.png"]!, { ...shape, depth: 16 })]).toEqual([...frame.depth]);
    expect([...decodeGreyPng(files["disparity.png"]!, { ...shape, depth: 16 })]).toEqual([
      ...frame.disparity,
    ]);
    expect([...decodeGreyPng(files["left.png"]!, { ...shape, depth: 8 })]).toEqual([...frame.left]);
    const { device, cameraInfo, headers } = JSON.parse(new TextDecoder().decode(files["frame.json"]));
    expect([device, cameraInfo, headers.depth.width]).toEqual(["bench", CAMERA, feed.width]);
  });
});
