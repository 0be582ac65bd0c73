// SPDX-License-Identifier: Apache-2.0
// The live page on real programs: settings changed on a running engine, a broker that is killed and comes back, a minute at 30
// frames a second, a page that is put to sleep.
import mqtt from "mqtt";
import type { Page } from "playwright-core";
import { afterEach, expect, type TestContext, test } from "vitest";
import { openBrowser } from "../doubles/browser.js";
import { sleep, until } from "../doubles/frames.js";
import { startMosquitto } from "../doubles/mosquitto.js";
import { needs } from "../doubles/needs.js";
import { frameMessage, knownFrame, openPageFeed } from "../doubles/page-feed.js";
import { type Running, startProgram } from "../doubles/program.js";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

interface Handle {
  shownFrames: { sets: number; skipped: number; outOfOrder: number };
  state(): {
    device: string;
    control: { values: Record<string, unknown> };
    documents: Record<string, { info?: { parameters?: { match?: Record<string, unknown> } } }>;
  };
}
const shownFrames = (page: Page) =>
  page.evaluate(() => (globalThis as never as { depthwatt: Handle }).depthwatt.shownFrames);
const shownSets = async (page: Page) => (await shownFrames(page)).sets;

function started(words: string[]): Running {
  const running = startProgram(words);
  cleanups.push(async () => {
    running.child.kill("SIGTERM");
    await running.ended;
  });
  return running;
}

async function openPage(running: Running) {
  const address = () => /^page +(\S+)$/m.exec(running.stdout())?.[1];
  await until("the program names its page", () => address() !== undefined, 30_000);
  const browser = await openBrowser(address() as string);
  cleanups.push(() => browser.close());
  return browser;
}

/** In the order in which they were opened; closed the other way round when the test is over. */
function closing(onTestFinished: TestContext["onTestFinished"]) {
  const closers: (() => unknown)[] = [];
  onTestFinished(async () => {
    for (const close of closers.reverse()) await close();
  });
  return closers;
}

// Both wait more than they work.
needs("chromium").suite("the live page of a run", () => {
  test.concurrent("a minute at 30 frames a second: no frame twice or out of order, and the heap stays as it was", async ({
    onTestFinished,
    expect,
  }) => {
    const closers = closing(onTestFinished);
    const size = { width: 640, height: 480 };
    const feed = await openPageFeed(size);
    closers.push(() => feed.close());
    const browser = await openBrowser(feed.url);
    closers.push(() => browser.close());
    const { page, context } = browser;
    const frames = [1, 2, 3].map((seed) => knownFrame(seed, size.width * size.height));
    closers.push(feed.stream(30, frames));
    const inspector = await context.newCDPSession(page);
    await inspector.send("Performance.enable");
    const heapBytes = async () => {
      await inspector.send("HeapProfiler.collectGarbage");
      const { metrics } = await inspector.send("Performance.getMetrics");
      return metrics.find(({ name }) => name === "JSHeapUsedSize")?.value as number;
    };
    await sleep(5000);
    const before = await heapBytes();
    const { sets: first } = await shownFrames(page);
    await sleep(60_000);
    const after = await heapBytes();
    const { sets, skipped, outOfOrder } = await shownFrames(page);
    const grown = ((after - before) / 1e6).toFixed(1);
    process.stdout.write(
      `60 s at 30 fps: ${sets - first} sets shown, ${skipped} passed over, heap +${grown} MB\n`,
    );
    expect(outOfOrder).toBe(0);
    expect(sets).toBeGreaterThan(60);
    expect(after - before).toBeLessThan(10e6);
    expect(browser.complaints).toEqual([]);
  }, 180_000);

  test.concurrent("a hidden page is sent nothing for 30 s, and continues with the newest frame when it is shown again", async ({
    onTestFinished,
    expect,
  }) => {
    const closers = closing(onTestFinished);
    const feed = await openPageFeed();
    closers.push(() => feed.close());
    const browser = await openBrowser(feed.url);
    closers.push(() => browser.close());
    const { page } = browser;
    closers.push(feed.stream(30));
    await expect.poll(() => shownSets(page), { timeout: 15_000 }).toBeGreaterThan(3);
    // Hides a tab as a browser does; a tab that is driven from outside is never hidden.
    await page.evaluate(() => {
      const real = globalThis.requestAnimationFrame;
      const held: FrameRequestCallback[] = [];
      globalThis.requestAnimationFrame = (callback) => held.push(callback);
      Object.assign(globalThis, {
        wake: () => {
          globalThis.requestAnimationFrame = real;
          for (const callback of held) real(callback);
        },
      });
    });
    await sleep(1000);
    expect(feed.hub.watched("bench")).toBe(true);
    for (let i = 0; i < 300; i++) {
      expect(feed.hub.wanted("bench").size).toBe(0);
      await sleep(100);
    }
    await page.evaluate(() => (globalThis as never as { wake(): void }).wake());
    const asleep = feed.sent();
    const newest = () =>
      page.evaluate(() => {
        type Set = { pictures: { depth: { header: { frameNumber: number } } } };
        return (globalThis as never as { depthwatt: { shownSet(): Set } }).depthwatt.shownSet().pictures.depth
          .header.frameNumber;
      });
    await expect.poll(newest, { timeout: 10_000 }).toBeGreaterThan(asleep);
  }, 120_000);
});

needs("chromium", "mosquitto").suite("the live page of depthwatt view", () => {
  test("shows what a device publishes, says when the broker is away, and recovers", async () => {
    let broker = await startMosquitto();
    cleanups.push(() => broker.stop());
    const streams = ["left", "confidence", "disparity"].flatMap((name) => [
      "--set",
      `outputs.mqtt.${name}.enabled=true`,
    ]);
    const url = broker.url;
    started(["run", "--broker", url, "--rate", "5", "--device", "robot-7", ...streams]);
    const viewing = started(["view", url, "--port", "auto"]);
    const { page } = await openPage(viewing);
    await expect.poll(() => shownSets(page), { timeout: 30_000 }).toBeGreaterThan(2);
    expect(await page.locator("[data-device]").innerText()).toBe("robot-7");
    await expect.poll(() => page.locator("[data-figure=state]").innerText()).toMatch(/^online/);
    const { port } = broker;
    await broker.stop("SIGKILL");
    await page.getByText(/The broker cannot be reached/).waitFor();
    const before = await shownSets(page);
    broker = await startMosquitto({ port });
    const back = performance.now();
    await expect.poll(() => shownSets(page), { timeout: 15_000, interval: 50 }).toBeGreaterThan(before);
    process.stdout.write(
      `a device is seen again ${(performance.now() - back).toFixed(0)} ms after its broker\n`,
    );
    await expect.poll(() => page.getByText(/The broker cannot be reached/).count()).toBe(0);
  });

  test("a broker that was away for 8 s is seen soon after its return; other producers' garbage breaks nothing", async () => {
    let broker = await startMosquitto();
    cleanups.push(() => broker.stop());
    const { url, port } = broker;
    const device = mqtt.connect(url, { reconnectPeriod: 100 });
    cleanups.push(() => device.endAsync(true));
    const size = { width: 160, height: 120 };
    const frame = knownFrame(5, size.width * size.height);
    let number = 0;
    const publishing = setInterval(() => {
      if (!device.connected) return;
      number++;
      for (const name of ["left", "confidence"] as const)
        device.publish(
          `depthwatt/robot-8/${name}`,
          Buffer.from(frameMessage(name, frame[name], size, number)),
        );
      const depth = frameMessage("depth", frame.depth, { ...size, encoding: "rvl" }, number);
      device.publish("depthwatt/robot-8/depth", Buffer.from(depth));
    }, 50);
    cleanups.push(() => clearInterval(publishing));
    const state = (name: string, value: string, reason: string) =>
      device.publish(`depthwatt/${name}/state`, JSON.stringify({ state: value, reason }), { retain: true });
    state("robot-8", "online", "a test");
    state("robot-9", "offline", "the connection to the device was lost");
    const { page, complaints } = await openPage(started(["view", url, "--port", "auto"]));
    await expect.poll(() => page.getByLabel("Device").locator("option").count(), { timeout: 30_000 }).toBe(2);

    // Each device with its last state; frames only of the chosen one.
    const picker = page.getByLabel("Device");
    expect((await picker.locator("option").allInnerTexts()).sort()).toEqual(["robot-8", "robot-9 (offline)"]);
    await picker.selectOption("robot-9");
    await page.getByText("robot-9 is offline: the connection to the device was lost").waitFor();
    // Not with the picture of the one before.
    await page.locator('.stage[data-size=""]').waitFor();
    await picker.selectOption("robot-8");
    const seen = await shownSets(page);
    await expect.poll(() => shownSets(page), { timeout: 15_000 }).toBeGreaterThan(seen + 2);

    for (let i = 0; i < 50; i++) {
      const noise = Buffer.from(Array.from({ length: 40 * i }, (_, at) => (at * 167 + i) & 255));
      for (const topic of ["depth", "left", "state", "info", "metrics", "camera_info"])
        for (const name of ["robot-8", "stranger"]) device.publish(`depthwatt/${name}/${topic}`, noise);
      const real = frameMessage("depth", frame.depth, { ...size, encoding: "rvl" }, number);
      real[100 + i]! ^= 0xff;
      device.publish("depthwatt/robot-8/depth", Buffer.from(real));
      // A right frame under a wrong name.
      device.publish(
        "depthwatt/robot-8/confidence",
        Buffer.from(frameMessage("left", frame.left, size, number)),
      );
    }
    for (const garbage of ["null", "[]", "7", '{"state": {"toString": 1}}', '{"fps": {}, "stages": [null]}'])
      for (const topic of ["state", "info", "metrics", "camera_info"])
        device.publish(`depthwatt/stranger/${topic}`, garbage);
    for (const side of ["Plots", "Settings", "Figures", "Log"])
      await page.getByRole("tab", { name: side }).click();
    await page
      .getByText(/robot-8\/depth: /)
      .first()
      .waitFor();
    const noisy = await shownSets(page);
    await expect.poll(() => shownSets(page), { timeout: 15_000 }).toBeGreaterThan(noisy + 5);

    await broker.stop("SIGKILL");
    await page.getByText(/The broker cannot be reached/).waitFor();
    await sleep(8000);
    const before = await shownSets(page);
    broker = await startMosquitto({ port });
    const back = performance.now();
    await expect.poll(() => shownSets(page), { timeout: 15_000, interval: 20 }).toBeGreaterThan(before);
    const recovered = performance.now() - back;
    process.stdout.write(`the page recovers ${recovered.toFixed(0)} ms after its broker\n`);
    // The view looks for the broker every second. Pauses that grew all the time would have ended after seven; the rest
    // is reserve for other load.
    expect(recovered).toBeLessThan(5000);
    await expect.poll(() => page.getByText(/The broker cannot be reached/).count()).toBe(0);
    expect(complaints).toEqual([]);
  }, 120_000);
});
