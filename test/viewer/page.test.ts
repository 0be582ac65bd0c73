// SPDX-License-Identifier: Apache-2.0
// Tests the live page in Chromium like a user: compares the screen with the sent frames, pixel by pixel.
import { readFileSync } from "node:fs";
import { unzipSync } from "fflate";
import type { Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { decodePng } from "../../clients/javascript/src/png.js";
import { colourTable } from "../../clients/page/picture/colour-maps.js";
import type { HubControl } from "../../edge/outputs/viewer/hub.js";
import type { ControlAnswer } from "../../edge/outputs/viewer/protocol.js";
import { type Browser, openBrowser } from "../doubles/browser.js";
import { until } from "../doubles/frames.js";
import { needs } from "../doubles/needs.js";
import { CAMERA, type KnownFrame, knownFrame, openPageFeed, type PageFeed } from "../doubles/page-feed.js";
import { differing, forgetOptions, readPixels, showFrame, text } from "./shown-page.js";

/** A device whose settings may be changed; it refuses numbers above 100, and to restart. */
function controlledDevice(changed: () => void) {
  const number = { type: "integer", minimum: 0, maximum: 100 };
  const settings = [
    {
      key: "match.sgm.uniqueness",
      description: "Margin.",
      unit: "%",
      schema: number,
      default: 8,
      live: true,
    },
    {
      key: "match.sgm.paths",
      description: "Directions.",
      schema: { enum: [2, 4, 8] },
      default: 8,
      live: true,
    },
    { key: "match.sad.window", description: "Side.", unit: "px", schema: number, default: 9, live: true },
    { key: "refine.median", description: "Filter.", schema: { type: "boolean" }, default: true, live: true },
    { key: "region.x", description: "Left edge.", schema: number, default: 0, live: true },
    { key: "outputs.mqtt.name", description: "Name.", schema: { type: "string" }, live: true },
    {
      key: "match.algorithm",
      description: "Matcher.",
      schema: { type: "string" },
      default: "sgm",
      live: false,
    },
  ];
  const values: Record<string, unknown> = {
    "match.algorithm": "sgm",
    "match.sgm.uniqueness": 8,
    "match.sgm.paths": 8,
    "refine.median": true,
  };
  const presets = [
    { name: "long-range", summary: "for far things", group: "use" },
    { name: "paper-2008", summary: "the settings of the paper", group: "paper" },
  ] as const;
  const asked: { command: string; body: Record<string, unknown> }[] = [];
  const refusal = {
    ok: false,
    code: "CONFIG_INVALID",
    message: "expected 0 to 100",
    hint: "Use less.",
  } as const;
  const answers: Record<string, (body: Record<string, unknown>) => ControlAnswer> = {
    snapshot: () => ({ ok: true, base64: Buffer.from("a zip").toString("base64") }) as ControlAnswer,
    restart: () => ({ ...refusal, message: "nothing would start it again" }),
    set: (body) => {
      const change = (body.values ?? { "match.sgm.paths": 4 }) as Record<string, unknown>;
      if (Number(change["match.sgm.uniqueness"]) > 100) return refusal;
      Object.assign(values, change);
      const saved = { file: "depthwatt.yaml", overridden: ["match.sgm.paths"] };
      return { ok: true, values: change, ...(body.save === true && { saved }) } as ControlAnswer;
    },
  };
  const control: HubControl = {
    describe: () => ({
      type: "control",
      state: { enabled: true, canSave: true, note: "Changes need no secret here." },
      settings,
      values: { ...values },
      presets,
    }),
    ask: async ({ id, command, payload }) => {
      const { body } = JSON.parse(payload);
      asked.push({ command, body });
      const answer = answers[command]!(body);
      changed();
      return { type: "answer", id, answer };
    },
  };
  return { control, asked, values };
}

needs("chromium").suite("the live page in Chromium", () => {
  let feed: PageFeed;
  let browser: Browser;
  let page: Page;
  let frame: KnownFrame;
  let device: ReturnType<typeof controlledDevice>;

  async function openFeed(port = 0) {
    device = controlledDevice(() => feed.hub.controlChanged());
    feed = await openPageFeed({ control: device.control, port });
  }

  beforeAll(async () => {
    await openFeed();
    browser = await openBrowser(feed.url);
    page = browser.page;
    await forgetOptions(page);
    frame = knownFrame(42, feed.width * feed.height);
  });

  // The page without stored options, and a device with its initial settings, at the same address.
  beforeEach(async () => {
    await page.goto("about:blank");
    await feed.close();
    await openFeed(Number(new URL(feed.url).port));
    await page.goto(feed.url);
    await until("the page is there", () => feed.hub.pages === 1);
    await showFrame(page, feed, frame);
  });

  afterAll(async () => {
    await browser?.close();
    await feed?.close();
  });

  afterEach(() => {
    expect(browser.complaints).toEqual([]);
    expect(browser.foreign).toEqual([]);
  });

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
    const left = await readPixels(page, ".sheet.left canvas");
    expect(left.length).toBe(4 * frame.left.length);
    const greys = [...frame.left].flatMap((grey) => [grey, grey, grey, 255]);
    expect(differing(left, greys)).toBeUndefined();

    await page.getByLabel("Mark filled pixels").uncheck();
    await page.locator(".range input[type=checkbox]").uncheck();
    await page.getByRole("slider", { name: "From" }).fill("300");
    await page.getByRole("slider", { name: "To" }).fill("900");
    const range = await page.evaluate(
      () => JSON.parse(localStorage.getItem("depthwatt.options") as string).ranges.depth,
    );
    expect(range.max / range.min).toBeCloseTo(660 ** 0.6, 6);
    const colours = colourTable("turbo");
    const expected = [...frame.depth].flatMap((millimetres) => {
      if (millimetres === 0) return [0, 0, 0, 0];
      const share = 1 - (millimetres * 0.001 - range.min) / (range.max - range.min);
      const word = colours[Math.round(255 * Math.min(1, Math.max(0, share)))] as number;
      return [word & 255, (word >> 8) & 255, (word >> 16) & 255, 255];
    });
    expect(differing(await readPixels(page, ".sheet.value canvas"), expected)).toBeUndefined();
  });

  test("marks filled pixels by stripes and leaves matched ones alone", async () => {
    await page.getByLabel("Mark filled pixels").uncheck();
    const plain = await readPixels(page, ".sheet.value canvas");
    await page.getByLabel("Mark filled pixels").check();
    const marked = await readPixels(page, ".sheet.value canvas");
    let striped = 0;
    const strangers: number[][] = [];
    for (let i = 0; i < frame.depth.length; i++) {
      const [x, y] = [i % feed.width, Math.floor(i / feed.width)];
      const filled = frame.depth[i] !== 0 && frame.confidence[i] === 0 && (x + y) % 6 < 2;
      const differs = [0, 1, 2].some((channel) => plain[4 * i + channel] !== marked[4 * i + channel]);
      if (filled) striped++;
      else if (differs) strangers.push([x, y]);
    }
    expect(strangers).toEqual([]);
    expect(striped).toBeGreaterThan(100);
  });

  test("shows the values under the cursor: metres, disparity, confidence, filled or without a value", async () => {
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
    expect((await at(filled))[2]).toBe("0 (filled: not matched)");
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

  test("figures and stage bars are the published ones", async () => {
    feed.hub.document("bench", "metrics", {
      fps: 29.97,
      backend: "cuda",
      backendReason: "an H200 answered",
      latencyMs: { p50: 4.5, p95: 6.25, p99: 9 },
      stages: { match: { p50Ms: 1.5, p95Ms: 2.5, p99Ms: 3 }, encode: { p50Ms: 0.5, p95Ms: 0.75, p99Ms: 1 } },
      drops: { engineBusy: 3, "viewer.pageBusy": 5, "mqtt.rateLimit": 7, "left.late": 2 },
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
    expect(await figure("lost")).toBe("engine busy: 3\nleft camera: late, without a partner: 2");
    expect(await figure("skipped")).toBe("live page: hidden or busy: 5\nMQTT: rate limit: 7");
    expect(await figure("backendReason")).toBe("an H200 answered");
    expect(await text(page, "[data-headline=efficiency]")).toBe("4.00");
    expect((await text(page, "[data-stage=match]")).trim().split(/\s+/)).toEqual(["match", "1.50", "2.50"]);
    const bars = await page
      .locator("[data-stage=match] rect")
      .evaluateAll((all) => all.map((bar) => bar.getAttribute("width")));
    expect(bars).toEqual(["100", "60"]);
  });

  test("a snapshot holds all streams bit for bit", async () => {
    const [snapshot] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Snapshot" }).click(),
    ]);
    const files = unzipSync(readFileSync(await snapshot.path()));
    const shape = { width: feed.width, height: feed.height };
    expect([...decodePng(files["depth.png"]!, { ...shape, depth: 16 })]).toEqual([...frame.depth]);
    expect([...decodePng(files["disparity.png"]!, { ...shape, depth: 16 })]).toEqual([...frame.disparity]);
    expect([...decodePng(files["left.png"]!, { ...shape, depth: 8 })]).toEqual([...frame.left]);
    const { device, cameraInfo, headers } = JSON.parse(new TextDecoder().decode(files["frame.json"]));
    expect([device, cameraInfo, headers.depth.width]).toEqual(["bench", CAMERA, feed.width]);
  });

  test("settings are shown by group, searched, changed, refused, taken back and saved", async () => {
    await page.getByRole("tab", { name: "Settings" }).click();
    const row = (key: string) => page.locator(`[data-setting="${key}"]`);
    const said = (key: string) => text(page, `[data-setting="${key}"] [role=status]`);
    const groups = () =>
      page
        .locator(".groups details")
        .evaluateAll((all) => (all as HTMLDetailsElement[]).map((one) => [one.dataset.group, one.open]));
    // Outputs are closed at first; the idle matcher is found by searching.
    expect(await groups()).toEqual([
      ["match.sgm", true],
      ["refine", true],
      ["region", true],
      ["outputs.mqtt", false],
    ]);
    await page.getByRole("button", { name: "Open all groups" }).click();
    expect((await groups()).map(([, open]) => open)).toEqual([true, true, true, true]);
    await page.locator('[data-group="region"] summary').click();
    expect((await groups())[2]).toEqual(["region", false]);
    await page.getByLabel("Search settings").fill("side window");
    expect(await groups()).toEqual([["match.sad", true]]);
    await page.getByLabel("Search settings").fill("no such thing");
    await page.getByText("No setting has these words.").waitFor();
    await page.getByLabel("Search settings").fill("");

    const number = row("match.sgm.uniqueness").locator("input");
    await number.fill("101");
    await number.press("Enter");
    await expect.poll(() => said("match.sgm.uniqueness")).toBe("Expected 0 to 100. Use less.");
    expect(await number.inputValue()).toBe("8");
    await number.fill("22");
    await number.press("Escape");
    expect(await number.inputValue()).toBe("8");
    await number.fill("22");
    await number.press("Enter");
    await expect.poll(() => said("match.sgm.uniqueness")).toBe("running with 22");
    await row("match.sgm.uniqueness").getByRole("button", { name: "Reset" }).click();
    await expect.poll(() => said("match.sgm.uniqueness")).toBe("running with 8");
    await row("refine.median").locator("input").uncheck();
    await expect.poll(() => said("refine.median")).toBe("running with false");
    await row("match.sgm.paths").locator("select").selectOption("2");
    await expect.poll(() => said("match.sgm.paths")).toBe("running with 2");
    const name = row("outputs.mqtt.name");
    await name.locator("input").fill("hall");
    await name.locator("input").press("Enter");
    await expect.poll(() => said("outputs.mqtt.name")).toBe("running with hall");
    await name.getByRole("button", { name: "Unset" }).click();
    await expect.poll(() => said("outputs.mqtt.name")).toBe("running without a value");

    await page.locator("[data-step=undo]").click();
    await expect.poll(() => name.locator("input").inputValue()).toBe("hall");
    await page.locator("[data-preset=long-range]").click();
    await page.getByText("long-range: 1 settings were set.").waitFor();
    await page.locator(".presets select").selectOption("paper-2008");
    await page.getByText("The settings of the paper.").waitFor();
    await page.getByRole("button", { name: "Use preset" }).click();
    await page.getByText("paper-2008: 1 settings were set.").waitFor();
    expect(device.asked.slice(-2).map(({ body }) => body)).toEqual([
      { preset: "long-range" },
      { preset: "paper-2008" },
    ]);
    await page.locator("[data-step=save]").click();
    await page.getByText("A flag or variable still sets at the next start: match.sgm.paths.").waitFor();
    expect(device.asked.at(-1)!.body).toMatchObject({ save: true, values: { "refine.median": false } });
  });

  test("the device is asked for a snapshot, and for a restart only after a second press", async () => {
    await page.getByRole("tab", { name: "Settings" }).click();
    const [snapshot] = await Promise.all([
      page.waitForEvent("download"),
      page.locator("[data-command=snapshot]").click(),
    ]);
    expect(snapshot.suggestedFilename()).toBe("bench-snapshot.zip");
    expect(readFileSync(await snapshot.path(), "utf8")).toBe("a zip");
    const restart = page.locator("[data-command=restart]");
    await restart.click();
    expect(await restart.innerText()).toBe("Press again to restart");
    expect(device.asked.at(-1)!.command).toBe("snapshot");
    await restart.click();
    await expect
      .poll(() => text(page, ".commands [role=status]"))
      .toBe("Nothing would start it again. Use less.");
  });

  test("plots have a curve of each figure in the chosen window", async () => {
    feed.hub.document("bench", "metrics", { fps: 30, latencyMs: { p50: 4 }, power: { watts: 8 } });
    await page.getByRole("tab", { name: "Plots" }).click();
    const newest = (plot: string) => text(page, `[data-plot=${plot}] [data-newest]`);
    await expect.poll(() => newest("fps")).toBe("30.0");
    expect([await newest("latency"), await newest("watts")]).toEqual(["4.00", "8.00"]);
    expect(await page.locator("[data-plot=rotation]").count()).toBe(0);
    await page.getByLabel("Window").selectOption("600");
    await page.locator("[data-plot=fps] .u-over").hover();
    await page.locator("[data-plot=fps] [data-plot-time]").waitFor();
  });

  test("the point cloud is saved in the chosen range, by keys and switches", async () => {
    await page.getByRole("tab", { name: "Point cloud" }).click();
    const cloud = page.getByLabel(/^Point cloud\. Arrow keys/);
    await cloud.focus();
    for (const key of ["ArrowLeft", "Shift+ArrowUp", "+", "x"]) await page.keyboard.press(key);
    await page.getByLabel("Colour").selectOption("height");
    const near = page.getByLabel("From (m)");
    for (const typed of ["-1", "10"]) {
      await near.fill(typed);
      await near.press("Enter");
    }
    const far = page.getByLabel("To (m)");
    await far.fill("20");
    await far.press("Enter");
    const inRange = (i: number) => frame.depth[i]! >= 10_000 && frame.depth[i]! <= 20_000;
    const points = async () => {
      const [file] = await Promise.all([
        page.waitForEvent("download"),
        page.getByRole("button", { name: "Save PLY" }).click(),
      ]);
      return Number(/element vertex (\d+)/.exec(readFileSync(await file.path(), "latin1"))![1]);
    };
    const all = [...frame.depth.keys()].filter(inRange);
    expect(await points()).toBe(all.length);
    await page.getByLabel("Filled pixels").uncheck();
    expect(await points()).toBe(all.filter((i) => frame.confidence[i]! > 0).length);
    await page.getByRole("button", { name: "Reset view" }).click();
    await page.getByLabel("Axes").uncheck();
    expect(await page.locator(".cloud svg").count()).toBe(0);
  });
});
