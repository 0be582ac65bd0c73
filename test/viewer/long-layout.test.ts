// SPDX-License-Identifier: Apache-2.0
// Tests how each state of the live page looks at three widths in both themes: nothing overflows or is clipped, controls
// are large enough, axe-core finds nothing, and screenshots match those of test/viewer/looks.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Page } from "playwright-core";
import sharp from "sharp";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { describedSettings, loadConfig } from "../../edge/config/index.js";
import { PasswordGate } from "../../edge/http/index.js";
import type { CalibrationDocument, ControlAnswer } from "../../edge/outputs/viewer/protocol.js";
import { PRESET_CHOICES } from "../../edge/presets/index.js";
import { type Browser, openBrowser } from "../doubles/browser.js";
import { needs } from "../doubles/needs.js";
import { type KnownFrame, openPageFeed, type PageFeed } from "../doubles/page-feed.js";
import { forgetOptions, readPixels, showFrame } from "./shown-page.js";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const LOOKS = new URL("looks/", import.meta.url).pathname;
/** A narrow window has the height of two phones, to show more of the page. */
const SIZES = [
  { width: 390, height: 1600 },
  { width: 1280, height: 800 },
  { width: 1920, height: 1080 },
];
const SCHEMES = ["light", "dark"] as const;
/** Screenshots are compared as means of squares of so many pixels, so that the edges of letters do not count. */
const CELL = 8;
/** Cells of a sheet may differ by this, and so many of its 115 000 may differ by more. */
const MAX_DIFFERENCE = 32;
const MAX_DIFFERENT_CELLS = 60;
/** Sheets taken until one matches: canvases are painted some time after the window has changed. */
const MAX_SHEETS = 3;

interface Pixels {
  data: Uint8Array;
  width: number;
  height: number;
}

/** Returns the mean colours of the cells of a screenshot. */
async function reduced(png: Uint8Array): Promise<Pixels> {
  const { data, info } = await sharp(png).removeAlpha().raw().toBuffer({ resolveWithObject: true });
  const width = Math.floor(info.width / CELL);
  const height = Math.floor(info.height / CELL);
  const sums = new Uint32Array(3 * width * height);
  for (let y = 0; y < height * CELL; y++)
    for (let x = 0; x < width * CELL; x++)
      for (let channel = 0; channel < 3; channel++)
        sums[3 * (Math.floor(y / CELL) * width + Math.floor(x / CELL)) + channel]! +=
          data[3 * (y * info.width + x) + channel]!;
  return { data: Uint8Array.from(sums, (sum) => Math.round(sum / CELL ** 2)), width, height };
}

/** Puts pictures next to each other. */
async function sheetOf(pictures: readonly Pixels[]): Promise<Pixels> {
  const width = pictures.reduce((sum, picture) => sum + picture.width, 0);
  const height = Math.max(...pictures.map((picture) => picture.height));
  let left = 0;
  const layers = pictures.map((picture) => {
    const layer = {
      input: Buffer.from(picture.data),
      raw: { width: picture.width, height: picture.height, channels: 3 as const },
      left,
      top: 0,
    };
    left += picture.width;
    return layer;
  });
  const empty = { width, height, channels: 3 as const, background: "#808080" };
  const data = await sharp({ create: empty }).composite(layers).removeAlpha().raw().toBuffer();
  return { data, width, height };
}

/** Returns the number of cells that differ, or a sentence if the sizes do. */
function differentCells(found: Pixels, expected: Pixels): number | string {
  if (found.width !== expected.width || found.height !== expected.height)
    return `${found.width}x${found.height} instead of ${expected.width}x${expected.height}`;
  let count = 0;
  for (let at = 0; at < found.data.length; at += 3)
    if ([0, 1, 2].some((i) => Math.abs(found.data[at + i]! - expected.data[at + i]!) > MAX_DIFFERENCE))
      count++;
  return count;
}

/** Returns how the sheet differs from the committed one: undefined if it matches. */
async function lookDifference(name: string, found: Pixels): Promise<string | undefined> {
  if (process.env.DEPTHWATT_WRITE_GOLDEN) return undefined;
  const file = sharp(join(LOOKS, `${name}.png`));
  const { data, info } = await file.removeAlpha().raw().toBuffer({ resolveWithObject: true });
  const different = differentCells(found, { data, width: info.width, height: info.height });
  return typeof different === "number" && different <= MAX_DIFFERENT_CELLS
    ? undefined
    : `${name} looks different: ${different} cells`;
}

/** Compares the sheet with the committed one; DEPTHWATT_WRITE_GOLDEN writes it instead. */
async function compareLook(name: string, found: Pixels): Promise<void> {
  const { data, width, height } = found;
  const picture = sharp(data, { raw: { width, height, channels: 3 } }).png({ compressionLevel: 9 });
  const committed = join(LOOKS, `${name}.png`);
  const difference = await lookDifference(name, found);
  const kept = process.env.DEPTHWATT_WRITE_GOLDEN ? committed : join(tmpdir(), `depthwatt-look-${name}.png`);
  if (difference !== undefined || process.env.DEPTHWATT_WRITE_GOLDEN) await picture.toFile(kept);
  if (difference === undefined) return;
  throw new Error(
    `${difference}. Compare ${kept} with ${committed}; if the change is wanted, set DEPTHWATT_WRITE_GOLDEN=1 ` +
      "and run this file again",
  );
}

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

/** A box in front of a wall that recedes to the right, with a hole and a filled part. */
function boxFrame(width: number, height: number): KnownFrame {
  const at = (value: (x: number, y: number) => number) =>
    Array.from({ length: width * height }, (_, i) => value(i % width, Math.floor(i / width)));
  const isBox = (x: number, y: number) => x > 0.3 * width && x < 0.55 * width && y > 0.4 * height;
  const isHole = (x: number, y: number) => x > 0.8 * width && y < 0.2 * height;
  const depth = at((x, y) => (isHole(x, y) ? 0 : isBox(x, y) ? 1500 : 3000 + Math.round((4000 * x) / width)));
  return {
    depth: Uint16Array.from(depth),
    disparity: Uint16Array.from(depth, (mm) => (mm === 0 ? 0 : Math.round((16 * 320 * 100) / mm))),
    confidence: Uint8Array.from(at((x, y) => (isHole(x, y) || x < 0.1 * width ? 0 : 230))),
    left: Uint8Array.from(at((x, y) => (isBox(x, y) ? 200 : 60 + Math.round((80 * y) / height)))),
  };
}

const CALIBRATION: Omit<CalibrationDocument, "images"> = {
  verdict: "taken",
  text: "Pair taken. Tilt the board to the left.",
  wanted: "the board tilted to the left, and the upper right part of the right image",
  board: "9x6 inner corners",
  progress: {
    pairs: 7,
    wantedPairs: 20,
    share: 0.4,
    columns: 5,
    rows: 4,
    cells: {
      left: Array.from({ length: 20 }, (_, i) => i % 3),
      right: Array.from({ length: 20 }, (_, i) => i % 2),
    },
    tilts: { left: 0, right: 2, upper: 1, lower: 3 },
    wantedTilts: 2,
  },
  worth: {
    rmsPixels: 0.195,
    focalPercent: 0.08,
    depthErrors: [
      { depthMetres: 1, totalMetres: 0.004 },
      { depthMetres: 10, totalMetres: 0.41 },
    ],
  },
};

needs("chromium").suite("the looks of the live page", () => {
  let feeds: PageFeed[];
  let browser: Browser;
  let page: Page;
  let feed: PageFeed;
  let empty: PageFeed;
  let broker: PageFeed;
  let board: PageFeed;
  let asked: { command: string; body: object }[];
  let answer: ControlAnswer;
  const metrics = (recorder: object, correction = { pitch: 0, yaw: 0, roll: 0 }) =>
    feed.hub.document("bench", "metrics", {
      fps: 30,
      latencyMs: { p50: 21.5 },
      stages: { match: { p50Ms: 1, p95Ms: 2, p99Ms: 3 } },
      health: { alignment: { rotationDegrees: { pitch: -0.05, yaw: 0.04, roll: 0 } }, correction },
      power: { available: false, reason: "no power sensor" },
      outputs: { mcap: recorder, derived: { available: false, reason: "off" } },
    });

  beforeAll(async () => {
    mkdirSync(LOOKS, { recursive: true });
    browser = await openBrowser("about:blank");
    page = browser.page;
    await forgetOptions(page);
    // Plots end at the same time in each run.
    await page.clock.setFixedTime("2026-01-01T12:00:00Z");
  });

  afterAll(() => browser?.close());

  beforeEach(async () => {
    feeds = [];
    asked = [];
    answer = { ok: false, code: "CONTROL_INVALID", message: "expected 4 or 8", hint: "Choose one." };
    const { config } = loadConfig({ set: ["board=none", "match.sgm.paths=8"], environment: {} });
    const settings = describedSettings(config, true);
    const open = async (options: Parameters<typeof openPageFeed>[0]) => {
      const opened = await openPageFeed({ width: 320, height: 240, ...options });
      feeds.push(opened);
      return opened;
    };
    feed = await open({
      control: {
        describe: () => ({
          type: "control",
          state: { enabled: true, canSave: false, note: "No secret is needed." },
          ...settings,
          presets: PRESET_CHOICES,
        }),
        ask: async ({ id, command, payload }) => {
          asked.push({ command, body: JSON.parse(payload).body });
          return { type: "answer", id, answer };
        },
      },
    });
    metrics({ available: false, reason: "no file" });
    feed.hub.log("info", "depthwatt run started");
    feed.hub.log("warn", "the cameras have moved relative to each other: recalibrate");
    empty = await open({ gate: new PasswordGate("correct horse") });
    const askedBelow = { enabled: false, reason: "asked below", askedBelow: "depthwatt" } as const;
    const describe = () => ({
      type: "control" as const,
      state: askedBelow,
      settings: [],
      values: {},
      presets: [],
    });
    broker = await open({
      kind: "view",
      control: { describe, ask: async ({ id }) => ({ type: "answer", id, answer }) },
    });
    board = await open({ kind: "calibrate" });
    await page.setViewportSize(SIZES[1]!);
  });

  afterEach(async () => {
    await page.goto("about:blank");
    await page.context().clearCookies();
    for (const opened of feeds) await opened.close();
    expect(browser.complaints).toEqual([]);
  });

  const tabs = async (view: string, side: string) => {
    await page.getByRole("tab", { name: view }).click();
    await page.getByRole("tab", { name: side }).click();
    if (view === "Point cloud") await page.getByRole("button", { name: "Save PLY" }).waitFor();
    if (side === "Plots") await page.locator(".plots").waitFor();
  };
  const goto = (to: PageFeed) => page.goto(to.url);
  const login = async (word: string) => {
    await page.getByLabel("Password").fill(word);
    await page.getByRole("button", { name: "Enter" }).click();
  };
  const running = async (view = "Picture", side = "Figures") => {
    await goto(feed);
    await showFrame(page, feed, boxFrame(feed.width, feed.height));
    await tabs(view, side);
  };
  const withoutFrames = async (view: string, side: string) => {
    await goto(empty);
    await login("correct horse");
    await tabs(view, side);
  };

  /** Each state: how the page enters it, and the last control that a wide window shows without scrolling. */
  const STATES: Record<string, { enter: () => Promise<unknown>; last?: string }> = {
    picture: { enter: () => running(), last: "Snapshot" },
    cloud: { enter: () => running("Point cloud", "Plots"), last: "Save PLY" },
    settings: { enter: () => running("Picture", "Settings"), last: "Snapshot" },
    log: { enter: () => running("Picture", "Log") },
    password: { enter: () => goto(empty) },
    "password-wrong": {
      enter: async () => {
        await goto(empty);
        await login("battery staple");
        await page.getByText("That is not the password.").waitFor();
      },
    },
    "no-frames": { enter: () => withoutFrames("Picture", "Figures") },
    "no-frames-cloud": { enter: () => withoutFrames("Point cloud", "Plots") },
    "no-frames-settings": { enter: () => withoutFrames("Picture", "Settings") },
    "broker-lost": {
      enter: async () => {
        broker.hub.source(false, "connection refused");
        await goto(broker);
        await tabs("Picture", "Settings");
        await page.getByText("connection refused").waitFor();
      },
    },
    offline: {
      enter: async () => {
        await goto(broker);
        broker.hub.source(true, "mqtt://broker.local");
        broker.hub.document("bench", "state", { state: "offline", reason: "the connection was lost" });
        await tabs("Picture", "Figures");
        await page.getByText("bench is offline").waitFor();
      },
    },
    "calibration-waiting": {
      enter: async () => {
        await goto(board);
        await page.locator(".calibration p").first().waitFor();
      },
    },
    calibration: {
      enter: async () => {
        await goto(board);
        const jpeg = await sharp({ create: { width: 320, height: 240, channels: 3, background: "#567" } })
          .jpeg()
          .toBuffer();
        const corners = Array.from({ length: 108 }, (_, i) =>
          i % 2 === 0 ? 60 + 20 * ((i / 2) % 9) : 60 + 20 * Math.floor(i / 18),
        );
        const image = { jpeg: jpeg.toString("base64"), width: 320, height: 240, corners };
        board.hub.document("bench", "calibration", { ...CALIBRATION, images: { left: image, right: image } });
        await page.locator(".guidance").waitFor();
        await expect.poll(async () => (await readPixels(page, '[data-side="right"] canvas'))[3]).toBe(255);
      },
    },
  };

  /** Shows the page at a width in a theme. */
  const show = async (size: (typeof SIZES)[number], colorScheme: (typeof SCHEMES)[number]) => {
    await page.setViewportSize(size);
    await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
    // The page chooses system-ui, which is another font on each machine. This one comes with Chromium's package.
    await page.evaluate(() => document.documentElement.style.setProperty("font-family", "DejaVu Sans"));
    // The point cloud is drawn again in the frame after its canvas has changed.
    await page.evaluate(async () => {
      for (let frames = 0; frames < 2; frames++)
        await new Promise<number>((resolve) => requestAnimationFrame(resolve));
    });
  };

  const takeSheet = async (name: string, check: (state: string, height: number) => Promise<void>) => {
    const pictures: Pixels[] = [];
    for (const colorScheme of SCHEMES)
      for (const size of SIZES) {
        await show(size, colorScheme);
        await check(
          `${name}, ${size.width} pixels, ${colorScheme}`,
          size.width < 1000 ? Infinity : size.height,
        );
        const png = await page.screenshot({ animations: "disabled" });
        pictures.push(await reduced(png));
        const { SCREENSHOT_FOLDER: folder } = process.env;
        if (folder) writeFileSync(join(folder, `${name}-${size.width}-${colorScheme}.png`), png);
      }
    return sheetOf(pictures);
  };

  test.each(Object.entries(STATES))(
    "%s",
    async (name, { enter, last }) => {
      await enter();
      let found = await takeSheet(name, async (state, fold) => {
        expect(await clipped(page), state).toEqual([]);
        expect(await findings(page), state).toEqual([]);
        if (last === undefined) return;
        const box = (await page.getByRole("button", { name: last, exact: true }).boundingBox())!;
        expect(box.y + box.height, state).toBeLessThanOrEqual(fold);
      });
      for (let sheets = 1; sheets < MAX_SHEETS && (await lookDifference(name, found)) !== undefined; sheets++)
        found = await takeSheet(name, async () => {});
      await compareLook(name, found);
    },
    60_000,
  );

  test("a handle is below the bar of its value", async () => {
    await running();
    const bars = (await page.locator(".histogram").boundingBox())!;
    for (const name of ["From", "To"]) {
      const track = (await page.getByRole("slider", { name }).boundingBox())!;
      // The middle of a thumb of 24 pixels at both ends of its way.
      expect(track.x + 12).toBeCloseTo(bars.x, 0);
      expect(track.x + track.width - 12).toBeCloseTo(bars.x + bars.width, 0);
    }
  });

  test("a refusal is two sentences, and a group closes and opens", async () => {
    await running("Picture", "Settings");
    await page.locator('[data-setting="match.sgm.paths"] select').selectOption("4");
    await page.locator("[data-said=refused]").getByText("Expected 4 or 8. Choose one.").waitFor();
    const group = page.locator('[data-group="match.sgm"]');
    await group.locator("summary").click();
    await expect.poll(() => group.locator("select").first().isVisible()).toBe(false);
    await group.locator("summary").click();
    await expect.poll(() => group.locator("select").first().isVisible()).toBe(true);
    expect(await page.title()).toBe("bench (online) – depthwatt");
  });

  test("Reset sets the default, and only changed settings have it", async () => {
    await running("Picture", "Settings");
    answer = { ok: true, values: { "match.sgm.paths": 4 } };
    expect(await page.getByRole("button", { name: "Reset match." }).count()).toBe(1);
    await page.getByRole("button", { name: "Reset match.sgm.paths" }).click();
    await page.locator("[data-said=ok]").getByText("running with 4").waitFor();
    expect(asked.at(-1)).toMatchObject({ command: "set", body: { values: { "match.sgm.paths": 4 } } });
  });

  test("Record begins and ends a recording, and says why it cannot", async () => {
    await running();
    const record = page.getByRole("button", { name: "Record" });
    expect(await record.isDisabled()).toBe(true);
    expect(await record.getAttribute("title")).toBe("Start the program with outputs.mcap.file to record.");
    answer = { ok: true };
    metrics({ recording: false, file: "/data/run.mcap" });
    await expect.poll(() => record.getAttribute("title")).toBe("Records to /data/run.mcap on the device");
    await record.click();
    await expect.poll(() => asked.at(-1)).toMatchObject({ command: "record", body: { recording: true } });
    answer = { ok: false, code: "DISK_FULL", message: "the disk is full", hint: "Delete files." };
    metrics({ recording: true, file: "/data/run.mcap" });
    await expect.poll(() => record.getAttribute("aria-pressed")).toBe("true");
    await record.click();
    await page.getByText("The disk is full. Delete files.").waitFor();
    expect(asked.at(-1)).toMatchObject({ command: "record", body: { recording: false } });
  });

  test("a correction is kept as the calibration, and undone", async () => {
    await running();
    const keep = page.getByRole("button", { name: "Keep correction" });
    expect(await keep.count()).toBe(0);
    metrics({ recording: false, file: "/data/run.mcap" }, { pitch: 0.3, yaw: 0, roll: 0.4 });
    await expect
      .poll(() => keep.getAttribute("title"))
      .toBe("Saves the corrected rotation of 0.50 degrees as the calibration");
    answer = { ok: false, code: "OUTPUT_UNWRITABLE", message: "no place to write", hint: "Make one." };
    await keep.click();
    await page.getByText("No place to write. Make one.").waitFor();
    answer = { ok: true, file: "/etc/rig-2.json", before: "/etc/rig.json" };
    await keep.click();
    await expect.poll(() => asked.at(-1)).toMatchObject({ command: "recalibrate", body: { undo: false } });
    metrics({ recording: false, file: "/data/run.mcap" });
    const undo = page.getByRole("button", { name: "Undo correction" });
    await expect.poll(() => undo.getAttribute("title")).toBe("Returns to /etc/rig.json");
    await undo.click();
    await expect.poll(() => asked.at(-1)).toMatchObject({ command: "recalibrate", body: { undo: true } });
    await undo.waitFor({ state: "detached" });
  });
});
