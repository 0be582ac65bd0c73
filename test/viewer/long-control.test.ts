// SPDX-License-Identifier: Apache-2.0
// The live page changes the run that it shows: each kind of setting, the source, the region by mouse, the way back, and the
// configuration file; with the right secret, once.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { unzipSync } from "fflate";
import type { Page } from "playwright-core";
import { afterEach, beforeEach, expect, test } from "vitest";
import { WebSocket } from "ws";
import { writeScene } from "../../camera/index.js";
import { requestPayload, setSecret } from "../../clients/page/settings/request.js";
import { loadNative } from "../../edge/contracts/native.js";
import type { ToPage } from "../../edge/outputs/viewer/protocol.js";
import { PRESETS } from "../../edge/presets/index.js";
import { type Browser, openBrowser } from "../doubles/browser.js";
import { sleep, until } from "../doubles/frames.js";
import { freePort } from "../doubles/mosquitto.js";
import { needs } from "../doubles/needs.js";
import { type Running, startProgram } from "../doubles/program.js";

const SECRET = "open sesame, at once";
const FILE = `# the robot in hall 2
source: {synthetic: {rateHz: 10}} # enough for the aisle
power: {sensor: none}
control: {enabled: true, secretFile: secret}
match:
  # walls of glass
  sgm: {uniqueness: 8, paths: 8}
`;

interface Handle {
  shownFrames: { sets: number };
  shownSet(): { pictures: Record<string, { header: { width: number; height: number } }> } | undefined;
  state(): {
    device: string;
    control: { values: Record<string, unknown> };
    documents: Record<
      string,
      {
        info?: { parameters?: { match?: Record<string, unknown> }; source?: string };
        metrics?: { seconds: number };
      }
    >;
  };
}

needs("chromium").suite("control from the live page", () => {
  let folder: string;
  let running: Running;
  let address: string;
  let browser: Browser;
  let page: Page;

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), "depthwatt-page-control-"));
    writeFileSync(join(folder, "secret"), `${SECRET}\n`, { mode: 0o600 });
    writeFileSync(join(folder, "depthwatt.yaml"), FILE);
    running = startProgram([
      "run",
      "--config",
      join(folder, "depthwatt.yaml"),
      "--broker",
      "none",
      "--device",
      "robot-1",
      "--set",
      "refine.median=true",
      // Not auto: another test's program could take that port while this one begins again.
      "--set",
      `http.port=${await freePort()}`,
    ]);
    const named = () => /^page +(\S+)$/m.exec(running.stdout())?.[1];
    await until("the program names its page", () => named() !== undefined, 30_000);
    address = named()!;
    browser = await openBrowser(address);
    page = browser.page;
    while ((await shown()) === 0) await sleep(50);
    await page.getByRole("tab", { name: "Settings" }).click();
    await page.getByRole("button", { name: "Open all groups" }).click();
    await page.getByLabel("Control secret").fill(SECRET);
  });

  afterEach(async () => {
    await browser?.close();
    running?.child.kill("SIGTERM");
    await running?.ended;
    rmSync(folder, { recursive: true, force: true });
  });

  // A device serves ten requests a second, from all clients together.
  const served = () => sleep(1000);

  const shown = () =>
    page.evaluate(() => (globalThis as never as { depthwatt: Handle }).depthwatt.shownFrames.sets);
  const value = (key: string) =>
    page.evaluate(
      (name) => (globalThis as never as { depthwatt: Handle }).depthwatt.state().control.values[name],
      key,
    );
  const documents = () =>
    page.evaluate(() => {
      const { device, documents: all } = (globalThis as never as { depthwatt: Handle }).depthwatt.state();
      return all[device];
    });
  const info = async () => (await documents())?.info;
  const metrics = async () => (await documents())?.metrics;
  const computed = async (name: string) => (await info())?.parameters?.match?.[name];
  const row = (key: string) => page.locator(`[data-setting="${key}"]`);
  const change = async (key: string, to: string) => {
    const input = row(key).locator("input");
    await input.fill(to);
    await input.press("Enter");
  };
  const said = (key: string, how: "ok" | "refused") => row(key).locator(`[data-said=${how}]`);
  const undo = () => page.locator("[data-step=undo]").click();

  test("a wrong secret changes nothing; the right one changes the running engine, and its echo is shown", async () => {
    await page.getByLabel("Control secret").fill("open barley, at once");
    await change("match.sgm.uniqueness", "21");
    await said("match.sgm.uniqueness", "refused").getByText("signature").waitFor();
    expect(await value("match.sgm.uniqueness")).toBe(8);
    expect(await row("match.sgm.uniqueness").locator("input").inputValue()).toBe("8");

    await page.getByLabel("Control secret").fill(SECRET);
    await change("match.sgm.uniqueness", "22");
    await said("match.sgm.uniqueness", "ok").getByText("running with 22").waitFor();
    await expect.poll(() => computed("uniqueness"), { timeout: 15_000 }).toBe(22);
    expect(await value("match.sgm.uniqueness")).toBe(22);
    await change("match.sgm.uniqueness", "1000");
    await said("match.sgm.uniqueness", "refused").waitFor();
    expect(await value("match.sgm.uniqueness")).toBe(22);
    await undo();
    await expect.poll(() => computed("uniqueness"), { timeout: 15_000 }).toBe(8);
    expect(running.stderr()).toContain("settings changed by the page at 127.0.0.1: match.sgm.uniqueness=22");
    // Only its signature travels, and it is kept nowhere.
    expect(await page.evaluate(() => JSON.stringify({ ...localStorage, ...sessionStorage }))).not.toContain(
      "sesame",
    );
  });

  test("what somebody types stays while figures come in, and Escape gives up", async () => {
    const input = row("match.sgm.uniqueness").locator("input");
    await input.focus();
    await page.keyboard.press("ControlOrMeta+a");
    await page.keyboard.type("1");
    const before = (await metrics())!.seconds;
    await expect.poll(async () => (await metrics())!.seconds).toBeGreaterThan(before + 1);
    expect(await input.inputValue()).toBe("1");
    await page.keyboard.press("Escape");
    expect(await input.inputValue()).toBe("8");
  });

  test("each kind of setting: a choice, a switch, a number or a word, one that may have no value", async () => {
    await row("match.sgm.paths").locator("select").selectOption("4");
    await expect.poll(() => computed("paths"), { timeout: 15_000 }).toBe(4);
    // A switch shows what holds, and so springs back until the program has answered: no check() or uncheck().
    await row("refine.median").locator("input").click();
    await expect.poll(() => value("refine.median")).toBe(false);
    await change("outputs.viewer.rateHz", "7.5");
    await expect.poll(() => value("outputs.viewer.rateHz")).toBe(7.5);
    await change("outputs.viewer.rateHz", "max");
    await expect.poll(() => value("outputs.viewer.rateHz")).toBe("max");
    await served();
    // The governor's goal comes and goes.
    await change("power.minFps", "2");
    await expect.poll(() => value("power.minFps")).toBe(2);
    await page.getByRole("button", { name: "Unset power.minFps" }).click();
    await said("power.minFps", "ok").getByText("running without a value").waitFor();
    expect((await value("power.minFps")) ?? null).toBeNull();
    await undo();
    await expect.poll(() => value("power.minFps")).toBe(2);
    await undo();
    await expect.poll(async () => (await value("power.minFps")) ?? null).toBeNull();
    await row("match.algorithm").locator("select").selectOption("cbca");
    await expect.poll(async () => (await computed("armX")) ?? null, { timeout: 15_000 }).not.toBeNull();
    await undo();
    await expect.poll(() => computed("paths"), { timeout: 15_000 }).toBe(4);
  });

  test("a preset sets all that it names; one step takes it back", async () => {
    const presets = page.locator(".presets");
    await presets.locator("[data-preset=fast]").click();
    await presets.locator("[data-said=ok]").getByText("fast: ").waitFor();
    await expect.poll(() => value("match.halfResolution")).toBe(true);
    await undo();
    await expect.poll(() => value("match.sgm.paths"), { timeout: 15_000 }).toBe(8);
    await served();
    await presets.locator("select").selectOption("esaw-9-improved");
    await presets.getByText("exponential").waitFor();
    expect(await value("match.algorithm")).toBe("sgm");
    await presets.getByRole("button", { name: "Use preset" }).click();
    await presets.locator("[data-said=ok]").getByText("esaw-9-improved: ").waitFor();
    for (const [key, wanted] of Object.entries(PRESETS["esaw-9-improved"]!.settings))
      await expect.poll(() => value(key), { message: key }).toBe(wanted);
    await expect.poll(() => computed("steps"), { timeout: 15_000 }).toBe(9);
    await undo();
    await expect.poll(() => computed("paths"), { timeout: 15_000 }).toBe(8);
    expect(await value("refine.speckleSize")).toBe(60);
  });

  test("a region drawn with the mouse arrives in pixels", async () => {
    await page.getByRole("button", { name: "Draw region" }).click();
    const canvas = page.locator(".sheet.left canvas");
    await canvas.scrollIntoViewIfNeeded();
    const box = (await canvas.boundingBox()) as { x: number; y: number; width: number; height: number };
    const at = (x: number, y: number) =>
      [box.x + ((x + 0.5) * box.width) / 640, box.y + ((y + 0.5) * box.height) / 480] as const;
    await page.mouse.move(...at(420, 300));
    await page.mouse.down();
    await page.mouse.move(...at(200, 200), { steps: 3 });
    await page.mouse.move(...at(101, 60), { steps: 3 });
    await page.mouse.up();
    const region = async () =>
      Promise.all(["x", "y", "width", "height"].map((name) => value(`region.${name}`)));
    await expect.poll(region, { timeout: 15_000 }).toEqual([101, 60, 320, 241]);
    await undo();
    await expect.poll(region, { timeout: 15_000 }).toEqual([0, 0, 0, 0]);
  });

  test("another source is found by searching, refused where it cannot be opened, and shown where it can", async () => {
    const size = { width: 320, height: 240, frames: 3, view: "rectified", truth: "none" } as const;
    await writeScene(loadNative(), { ...size, folder: join(folder, "hall") });
    await page.getByLabel("Search settings").fill("source left images");
    await change("source.replay.left", "/nowhere");
    await expect.poll(() => value("source.replay.left")).toBe("/nowhere");
    await page.getByLabel("Search settings").fill("source replay");
    await change("source.replay.right", join(folder, "hall/right"));
    // The answer to the change before moves the row: a click may miss it, a key does not.
    await row("source.replay.loop").locator("input").press("Space");
    await expect.poll(() => value("source.replay.loop")).toBe(true);
    await page.getByLabel("Search settings").fill("source.kind");
    const kind = row("source.kind").locator("select");
    await kind.selectOption("replay");
    await said("source.kind", "refused").getByText("/nowhere").waitFor();
    expect(await value("source.kind")).toBe("synthetic");
    expect(await kind.inputValue()).toBe("synthetic");
    await page.getByLabel("Search settings").fill("source replay");
    await change("source.replay.left", join(folder, "hall/left"));
    await expect.poll(() => value("source.replay.left")).toBe(join(folder, "hall/left"));
    await page.getByLabel("Search settings").fill("");
    await row("source.kind").locator("select").selectOption("replay");
    await expect.poll(async () => (await info())?.source, { timeout: 15_000 }).toContain("hall/left");
    const shownSize = () =>
      page.evaluate(() => {
        const set = (globalThis as never as { depthwatt: Handle }).depthwatt.shownSet();
        const header = Object.values(set?.pictures ?? {})[0]?.header;
        return header && `${header.width}x${header.height}`;
      });
    await expect.poll(shownSize, { timeout: 15_000 }).toBe("320x240");
    await page.locator('.stage[data-size="320x240"]').waitFor();
    await undo();
    await expect.poll(shownSize, { timeout: 15_000 }).toBe("640x480");
  });

  test("what was changed goes into the configuration file, whose comments stay", async () => {
    await row("refine.median").locator("input").click();
    await expect.poll(() => value("refine.median")).toBe(false);
    await row("match.sgm.paths").locator("select").selectOption("4");
    await expect.poll(() => value("match.sgm.paths")).toBe(4);
    await change("match.sgm.uniqueness", "12");
    await said("match.sgm.uniqueness", "ok").getByText("running with 12").waitFor();
    await page.locator("[data-step=save]").click();
    const reported = page.locator(".steps [data-said=ok]", { hasText: `Saved to ${folder}/depthwatt.yaml` });
    await reported.waitFor();
    expect(await reported.innerText()).toContain("at the next start: refine.median");
    const saved = readFileSync(join(folder, "depthwatt.yaml"), "utf8");
    expect(saved).toContain("# the robot in hall 2\n");
    expect(saved).toContain("# enough for the aisle");
    expect(saved).toContain("# walls of glass\n");
    expect(saved).toMatch(/uniqueness: 12/);
    expect(saved).toMatch(/paths: 4/);
    expect(await page.locator("[data-step=save]").count()).toBe(0);
    expect(browser.complaints).toEqual([]);
  });

  test("the device's snapshot is a zip file, and a restart begins with the file as it was saved", async () => {
    const [snapshot] = await Promise.all([
      page.waitForEvent("download"),
      page.locator("[data-command=snapshot]").click(),
    ]);
    const files = unzipSync(readFileSync(await snapshot.path()));
    expect(Object.keys(files)).toEqual(expect.arrayContaining(["left.png", "depth.png", "frame.json"]));

    await change("match.sgm.uniqueness", "12");
    await said("match.sgm.uniqueness", "ok").getByText("running with 12").waitFor();
    await page.locator("[data-step=save]").click();
    await page.locator(".steps [data-said=ok]", { hasText: "Saved to" }).waitFor();
    await change("match.sgm.uniqueness", "15");
    await said("match.sgm.uniqueness", "ok").getByText("running with 15").waitFor();
    const restart = page.locator("[data-command=restart]");
    await restart.click();
    await restart.getByText("Press again to restart").waitFor();
    const pressed = performance.now();
    await restart.click();
    await page.locator(".commands [data-said=ok]").getByText("restarting").waitFor();
    await until("the run begins again", () => running.stderr().includes("restart: beginning again"));
    // It has the same address, without what was not saved, and the page finds it again.
    await expect.poll(() => value("match.sgm.uniqueness"), { timeout: 20_000 }).toBe(12);
    await expect.poll(() => computed("uniqueness"), { timeout: 20_000 }).toBe(12);
    const secondsBefore = async () => (await metrics())!.seconds - (performance.now() - pressed) / 1000;
    await expect.poll(secondsBefore, { timeout: 20_000 }).toBeLessThan(0);
    const sets = await shown();
    await expect.poll(shown, { timeout: 20_000 }).toBeGreaterThan(sets);
  });

  test("a request that somebody has listened to is refused the second time, from whichever page", async () => {
    setSecret(SECRET);
    const signedFor = "page of depthwatt/robot-1";
    const body = { keys: ["match.sgm.paths"] };
    const payload = requestPayload({ id: "1", command: "get", body, signedFor, timeMs: Date.now() });
    const answers: unknown[] = [];
    for (let i = 0; i < 2; i++) {
      const socket = new WebSocket(`${address.replace("http", "ws")}/live`, { origin: address });
      socket.on("open", () => socket.send(JSON.stringify({ type: "ask", id: i, command: "get", payload })));
      socket.on("message", (data) => {
        const message = JSON.parse(String(data)) as ToPage;
        if (message.type === "answer") answers.push(message.answer);
      });
      await until("an answer", () => answers.length === i + 1);
      socket.close();
    }
    expect(answers).toMatchObject([
      { ok: true, values: { "match.sgm.paths": 8 } },
      { ok: false, code: "CONTROL_REPLAYED" },
    ]);
  });

  test("a page whose program has gone reports it, also to who changes a setting", async () => {
    running.child.kill("SIGKILL");
    await page.getByText("The program does not answer. Trying again.").waitFor();
    await change("match.sgm.uniqueness", "13");
    await said("match.sgm.uniqueness", "refused").getByText("The program does not answer.").waitFor();
    expect(await row("match.sgm.uniqueness").locator("input").inputValue()).toBe("8");
  });
});
