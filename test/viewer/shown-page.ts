// SPDX-License-Identifier: Apache-2.0
// Reads from the live page what a test checks: its texts, the pixels of its canvases, a frame with known content.
import type { Page } from "playwright-core";
import { sleep } from "../doubles/frames.js";
import type { KnownFrame, PageFeed } from "../doubles/page-feed.js";

export const text = (page: Page, selector: string) => page.locator(selector).first().innerText();

/** Empties what the page stores in the browser, before each load. */
export const forgetOptions = (page: Page) =>
  page.addInitScript(() => location.protocol === "http:" && localStorage.clear());

/** All pixels of a canvas as RGBA; through a copy, since the page's own canvas is made for writing. */
export async function readPixels(page: Page, selector: string): Promise<Uint8Array> {
  const pixels = await page.locator(selector).evaluate((canvas: HTMLCanvasElement) => {
    const copy = new OffscreenCanvas(canvas.width, canvas.height);
    const context = copy.getContext("2d", { willReadFrequently: true }) as OffscreenCanvasRenderingContext2D;
    context.drawImage(canvas, 0, 0);
    const { data } = context.getImageData(0, 0, canvas.width, canvas.height);
    let bytes = "";
    for (const byte of data) bytes += String.fromCharCode(byte);
    return btoa(bytes);
  });
  return new Uint8Array(Buffer.from(pixels, "base64"));
}

/** The first difference, as a sentence; undefined where there is none. Quicker than toEqual by seconds, for pictures. */
export function differing(found: ArrayLike<number>, expected: ArrayLike<number>): string | undefined {
  if (found.length !== expected.length) return `${found.length} values, expected ${expected.length}`;
  for (let i = 0; i < found.length; i++)
    if (found[i] !== expected[i]) return `value ${i} is ${found[i]}, expected ${expected[i]}`;
  return undefined;
}

type Handle = { shownSet(): { pictures: { depth: { header: { frameNumber: number } } } } | undefined };

/** Sends it until it is on the screen. */
export async function showFrame(page: Page, feed: PageFeed, frame: KnownFrame): Promise<void> {
  const before = feed.sent();
  const newest = () =>
    page.evaluate(() => {
      const { shownSet } = (globalThis as never as { depthwatt: Handle }).depthwatt;
      return shownSet()?.pictures.depth.header.frameNumber ?? 0;
    });
  const deadline = performance.now() + 15_000;
  while ((await newest()) <= before) {
    if (performance.now() > deadline) throw new Error("waited 15 s in vain for a frame to be shown");
    await feed.send(frame);
    await sleep(30);
  }
}
