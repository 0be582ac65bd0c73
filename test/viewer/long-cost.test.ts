// SPDX-License-Identifier: Apache-2.0
// Measures the cost of a 640x480 frame for the page's thread, in Chromium's software renderer.
import { afterEach, expect, test } from "vitest";
import { median } from "../../core/index.js";
import { openBrowser } from "../doubles/browser.js";
import { sleep } from "../doubles/frames.js";
import { needs } from "../doubles/needs.js";
import { knownFrame, openPageFeed } from "../doubles/page-feed.js";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

needs("chromium").suite("what a frame costs the page", () => {
  test("JavaScript takes a few milliseconds a frame, in the picture and in the cloud", async () => {
    const size = { width: 640, height: 480 };
    const feed = await openPageFeed(size);
    cleanups.push(() => feed.close());
    const { page, close } = await openBrowser(feed.url);
    cleanups.push(close);
    cleanups.push(
      feed.stream(
        10,
        [1, 2, 3].map((seed) => knownFrame(seed, size.width * size.height)),
      ),
    );
    const costs: Record<string, number> = {};
    for (const tab of ["Picture", "Point cloud"]) {
      await page.getByRole("tab", { name: tab }).click();
      await sleep(1500);
      const taken: number[] = [];
      for (let i = 0; i < 20; i++) {
        taken.push(
          await page.evaluate(
            () =>
              (globalThis as never as { depthwatt: { shownFrames: { drawMs: number } } }).depthwatt
                .shownFrames.drawMs,
          ),
        );
        await sleep(100);
      }
      costs[tab] = median(taken);
    }
    process.stdout.write(`JavaScript a frame of 640x480, medians, ms: ${JSON.stringify(costs)}\n`);
    // The cloud needs three uploads; the image needs a look at each pixel.
    expect(costs["Point cloud"]).toBeLessThan(3);
    expect(costs.Picture).toBeLessThan(20);
  });

  test("how long a frame takes until the next one is shown, where as many come as are asked for", async () => {
    const size = { width: 640, height: 480 };
    const feed = await openPageFeed(size);
    cleanups.push(() => feed.close());
    const { page, close } = await openBrowser(feed.url);
    cleanups.push(close);
    const frames = [1, 2, 3].map((seed) => knownFrame(seed, size.width * size.height));
    cleanups.push(feed.stream(60, frames));
    const shown = () =>
      page.evaluate(
        () =>
          (globalThis as never as { depthwatt: { shownFrames: { sets: number } } }).depthwatt.shownFrames
            .sets,
      );
    const frameMs: Record<string, number> = {};
    for (const tab of ["Picture", "Point cloud"]) {
      await page.getByRole("tab", { name: tab }).click();
      await sleep(1500);
      const [sets, before] = [await shown(), performance.now()];
      await sleep(4000);
      frameMs[tab] = Math.round((performance.now() - before) / Math.max(1, (await shown()) - sets));
    }
    process.stdout.write(`Frame time of 640x480 in the software renderer, ms: ${JSON.stringify(frameMs)}\n`);
    for (const time of Object.values(frameMs)) expect(time).toBeLessThan(3000);
  });
});
