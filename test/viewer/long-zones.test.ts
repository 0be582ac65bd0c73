// SPDX-License-Identifier: Apache-2.0
// The live page and a real run: zones drawn by mouse and by keyboard that are published and saved, the governor's budget, and
// the log's own lines.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import mqtt from "mqtt";
import type { Page } from "playwright-core";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type Browser, openBrowser } from "../doubles/browser.js";
import { until } from "../doubles/frames.js";
import { type Mosquitto, startMosquitto } from "../doubles/mosquitto.js";
import { needs } from "../doubles/needs.js";
import { type Running, startProgram } from "../doubles/program.js";

const SECRET = "draw a line in the sand";
const KEY = "outputs.derived.zones";

interface Handle {
  state(): {
    device: string;
    control: { values: Record<string, unknown> };
    documents: Record<string, { metrics?: { governor?: Record<string, unknown> } }>;
    log: { level: string; text: string }[];
  };
}

needs("chromium", "mosquitto").suite("zones, budget and log of a run, from its page", () => {
  const heard = new Map<string, { zones: Record<string, unknown> }>();
  let folder: string;
  let broker: Mosquitto;
  let client: mqtt.MqttClient;
  let running: Running;
  let browser: Browser;
  let page: Page;

  beforeEach(async () => {
    heard.clear();
    folder = mkdtempSync(join(tmpdir(), "depthwatt-page-zones-"));
    writeFileSync(join(folder, "secret"), `${SECRET}\n`, { mode: 0o600 });
    writeFileSync(join(folder, "depthwatt.yaml"), "# the robot in hall 2\npower: {sensor: none}\n");
    broker = await startMosquitto();
    client = await mqtt.connectAsync(broker.url);
    client.on("message", (topic, payload) => heard.set(topic, JSON.parse(payload.toString())));
    await client.subscribeAsync("depthwatt/robot-1/zones");
    const settings = [
      ...["source.synthetic.width=320", "source.synthetic.height=240", "match.numDisparities=32"],
      ...["control.enabled=true", `control.secretFile=${join(folder, "secret")}`],
      ...["outputs.derived.enabled=true", "outputs.metricsIntervalMs=500"],
      ...[
        "outputs.derived.alarms=ahead 60 seen=0.01",
        "outputs.derived.floor=set",
        "outputs.derived.grid=true",
      ],
      // The camera of the synthetic scene.
      ...["outputs.derived.floorHeightMetres=1.3", "outputs.derived.floorTiltDegrees=11.31"],
    ].flatMap((one) => ["--set", one]);
    const words = ["run", "--config", join(folder, "depthwatt.yaml"), "--broker", broker.url, "--rate", "8"];
    running = startProgram([...words, "--device", "robot-1", ...settings]);
    const address = () => /^page +(\S+)$/m.exec(running.stdout())?.[1];
    await until("the program names its page", () => address() !== undefined, 30_000);
    browser = await openBrowser(address()!, { width: 1280, height: 1400 });
    page = browser.page;
    await page.locator('.stage[data-size="320x240"]').waitFor();
    await page.getByRole("tab", { name: "Settings" }).click();
    await page.getByLabel("Control secret").fill(SECRET);
  });

  afterEach(async () => {
    await browser?.close();
    running?.child.kill("SIGTERM");
    await running?.ended;
    await client?.endAsync(true);
    await broker?.stop();
    rmSync(folder, { recursive: true, force: true });
    expect(browser.complaints).toEqual([]);
    expect(browser.foreign).toEqual([]);
  });

  const value = (key: string) =>
    page.evaluate(
      (name) => (globalThis as never as { depthwatt: Handle }).depthwatt.state().control.values[name],
      key,
    );
  const published = () => Object.keys(heard.get("depthwatt/robot-1/zones")?.zones ?? {});
  const zonePanel = () => page.locator(".zones");
  const place = async () => {
    const canvas = page.locator(".sheet.left canvas");
    await canvas.scrollIntoViewIfNeeded();
    const box = (await canvas.boundingBox()) as { x: number; y: number; width: number; height: number };
    return (x: number, y: number) =>
      [box.x + ((x + 0.5) * box.width) / 320, box.y + ((y + 0.5) * box.height) / 240] as const;
  };
  /** The middle of a pixel in shares, as the setting has it. */
  const corner = (x: number, y: number) =>
    `${Math.round((1e4 * (x + 0.5)) / 320) / 1e4},${Math.round((1e4 * (y + 0.5)) / 240) / 1e4}`;

  const CONVEYOR = [
    [40, 60],
    [200, 50],
    [210, 180],
    [120, 120],
    [50, 190],
  ] as const;
  async function drawZone(name: string, corners: readonly (readonly [number, number])[]) {
    await zonePanel().getByRole("button", { name: "Draw zone" }).click();
    const at = await place();
    for (const [x, y] of corners) await page.mouse.click(...at(x, y));
    await zonePanel().locator(`[data-zone-corners="${corners.length}"]`).waitFor();
    await zonePanel().getByLabel("Name").fill(name);
    await zonePanel().getByRole("button", { name: "Finish zone" }).click();
    await zonePanel().locator("[data-said=ok]").getByText(`${name} is drawn`).waitFor();
  }

  test("a zone drawn with the mouse arrives in the live setting, and its nearest distance is published", async () => {
    await until("the zone of the default", () => published().join() === "ahead", 15_000);
    await page.locator('[data-drawn-zone="ahead"]').first().waitFor({ state: "attached" });
    await drawZone("conveyor", CONVEYOR);
    const text = `ahead 0.25,0.2 0.75,0.2 0.75,0.8 0.25,0.8; conveyor ${CONVEYOR.map(([x, y]) => corner(x, y)).join(" ")}`;
    await expect.poll(() => value(KEY)).toBe(text);
    await until("the zone in its topic", () => published().join() === "ahead,conveyor", 10_000);
    expect(heard.get("depthwatt/robot-1/zones")!.zones.conveyor).toHaveProperty("nearestMetres");
    expect(running.stderr()).toContain("conveyor ");
    // It lies over the picture where it was drawn.
    const drawn = await page.locator('[data-drawn-zone="conveyor"] path').first().getAttribute("d");
    expect(drawn).toMatch(/^M40\.5 60\.5L200\.5 50\.5L210\.5 180\.5L120\.5 120\.5L50\.5 190\.5Z$/);
  });

  test("a zone shows the state of its alarm", async () => {
    await drawZone("conveyor", CONVEYOR);
    await zonePanel().locator('[data-zone="ahead"] [data-alarm=on]', { hasText: "alarm" }).waitFor();
    expect(await zonePanel().locator('[data-zone="conveyor"] [data-alarm]').count()).toBe(0);
  });

  test("the grid of the floor is drawn from above", async () => {
    await page.locator(".top-view [data-grid-nearest]", { hasText: /nearest obstacle \d/ }).waitFor();
    expect(await page.locator(".top-view > canvas").evaluate((one: HTMLCanvasElement) => one.width)).toBe(
      400,
    );
  });

  test("one that crosses itself is refused with the reason, and can be fixed", async () => {
    await zonePanel().getByRole("button", { name: "Draw zone" }).click();
    const at = await place();
    for (const [x, y] of [
      [20, 20],
      [100, 100],
      [100, 20],
      [20, 100],
    ] as const)
      await page.mouse.click(...at(x, y));
    await zonePanel().getByRole("button", { name: "Finish zone" }).click();
    await zonePanel().locator("[data-said=refused]").getByText("does not cross itself").waitFor();
    expect(await value(KEY)).not.toContain("zone-1");
    await zonePanel().getByRole("button", { name: "Take corner back" }).click();
    await zonePanel().getByRole("button", { name: "Finish zone" }).click();
    await expect.poll(() => value(KEY)).toContain("zone-1 ");
    await until("the zone in its topic", () => published().includes("zone-1"), 10_000);
  });

  test("by the keyboard alone: arrows and Enter set corners, Backspace takes one back, Esc ends", async () => {
    await zonePanel().getByRole("button", { name: "Draw zone" }).focus();
    await page.keyboard.press("Enter");
    const canvas = page.locator(".sheet.value canvas");
    await canvas.focus();
    const corners = page.locator("[data-zone-corners]");
    const press = async (...keys: string[]) => {
      for (const key of keys) await page.keyboard.press(key);
    };
    await press("ArrowRight", "Enter");
    await expect.poll(() => corners.getAttribute("data-zone-corners")).toBe("1");
    await press(
      "Shift+ArrowRight",
      "Shift+ArrowRight",
      "Enter",
      "Shift+ArrowDown",
      "Shift+ArrowDown",
      "Enter",
    );
    await expect.poll(() => corners.getAttribute("data-zone-corners")).toBe("3");
    await press("Backspace");
    await expect.poll(() => corners.getAttribute("data-zone-corners")).toBe("2");
    await press("ArrowDown", "Enter");
    await expect.poll(() => corners.getAttribute("data-zone-corners")).toBe("3");
    await zonePanel().getByLabel("Name").fill("by-keys");
    await page.keyboard.press("Enter");
    await expect.poll(() => value(KEY)).toContain("by-keys ");
    await zonePanel().getByRole("button", { name: "Draw zone" }).focus();
    await page.keyboard.press("Enter");
    await canvas.focus();
    await press("Enter", "Escape");
    await expect.poll(() => corners.count()).toBe(0);
    await zonePanel().getByRole("button", { name: "Remove by-keys" }).click();
    await expect.poll(() => value(KEY)).not.toContain("by-keys");
  });

  test("what was drawn goes into the configuration file", async () => {
    await drawZone("conveyor", CONVEYOR);
    await page.locator("[data-step=save]").click();
    await page.locator(".steps [data-said=ok]", { hasText: "Saved to" }).waitFor();
    const saved = readFileSync(join(folder, "depthwatt.yaml"), "utf8");
    expect(saved).toContain("# the robot in hall 2\n");
    expect(saved).toMatch(/zones: .*conveyor 0\.1266,0\.2521 /s);
  });

  test("without a zone nothing is published of any, and undo brings the last one back", async () => {
    await until("the zone of the default", () => published().join() === "ahead", 15_000);
    await drawZone("conveyor", CONVEYOR);
    for (const name of ["ahead", "conveyor"]) {
      await zonePanel()
        .getByRole("button", { name: `Remove ${name}` })
        .click();
      await expect.poll(async () => String((await value(KEY)) ?? "")).not.toContain(`${name} `);
    }
    expect((await value(KEY)) ?? null).toBeNull();
    expect((await value("outputs.derived.alarms")) ?? null).toBeNull();
    expect(await page.locator("[data-drawn-zone]").count()).toBe(0);
    await page.locator("[data-step=undo]").click();
    await expect.poll(() => value(KEY)).toMatch(/^conveyor /);
    await until("the zone is back", () => published().join() === "conveyor", 10_000);
  });

  test("the governor's budget is set from the page: the governor begins to work and reports it, and ends without one", async () => {
    const governor = () =>
      page.evaluate(() => {
        const { device, documents } = (globalThis as never as { depthwatt: Handle }).depthwatt.state();
        return documents[device]?.metrics?.governor;
      });
    expect(await governor()).toMatchObject({ available: false });
    const row = page.locator('[data-setting="power.budgetWatts"]');
    await row.locator("input").fill("7.5");
    await row.locator("input").press("Enter");
    await row.locator("[data-said=ok]").getByText("running with 7.5").waitFor();
    await expect.poll(governor, { timeout: 15_000 }).toMatchObject({ available: true, budgetWatts: 7.5 });
    await page.getByRole("tab", { name: "Figures" }).click();
    const reported = page.locator("[data-figure=governor]");
    await expect.poll(() => reported.innerText(), { timeout: 15_000 }).toContain("at most 7.5 W, ");
    await page.getByRole("tab", { name: "Settings" }).click();
    await page.getByRole("button", { name: "Unset power.budgetWatts" }).click();
    await row.locator("[data-said=ok]").getByText("running without a value").waitFor();
    await expect.poll(governor, { timeout: 15_000 }).toMatchObject({ available: false });
    await page.getByRole("tab", { name: "Figures" }).click();
    await expect.poll(() => reported.count(), { timeout: 15_000 }).toBe(0);
  });

  test("the log shows the run's own lines, newest first: changes, and the warning that the broker is away", async () => {
    await drawZone("conveyor", CONVEYOR);
    await drawZone("aisle", CONVEYOR.slice(0, 3));
    await page.getByRole("tab", { name: "Log" }).click();
    const lines = page.locator(".log li");
    await expect.poll(() => lines.first().innerText()).toMatch(/^\d\d:\d\d:\d\d .*aisle /);
    const texts = await lines.allInnerTexts();
    const earlier = texts.findIndex((line) => line.includes("conveyor") && !line.includes("aisle"));
    expect(earlier).toBeGreaterThan(0);
    await broker.stop("SIGKILL");
    await expect.poll(() => lines.first().innerText(), { timeout: 20_000 }).toContain("broker: ");
    expect(await lines.first().getAttribute("class")).toBe("warn");
    // The page shows the program's log.
    const [, said = ""] = /^\d\d:\d\d:\d\d (.*)$/s.exec(await lines.first().innerText())!;
    expect(running.stderr()).toContain(JSON.stringify(said).slice(1, -1));
  });
});
