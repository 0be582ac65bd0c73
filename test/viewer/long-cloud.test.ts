// SPDX-License-Identifier: Apache-2.0
// Tests the point cloud: touch, its point size and its colours by height, drawn from a board of known size and place;
// and that nothing moves automatically if reduced motion is set.
import type { CDPSession, Page } from "playwright-core";
import sharp from "sharp";
import { afterAll, beforeAll, expect, test } from "vitest";
import { colourTable } from "../../clients/page/picture/colour-maps.js";
import { type Browser, openBrowser } from "../doubles/browser.js";
import { sleep } from "../doubles/frames.js";
import { needs } from "../doubles/needs.js";
import { CAMERA, type KnownFrame, openPageFeed, type PageFeed } from "../doubles/page-feed.js";

/** A board of 60 x 100 pixels in the middle, 2.6 m away: where the view turns. */
const BOARD = { left: 50, right: 110, top: 10, bottom: 110, millimetres: 2600 };
/** Brighter than the background, whose brightest channel is 23. */
const LIT = 40;

function board(width: number, height: number): KnownFrame {
  const frame: KnownFrame = {
    depth: new Uint16Array(width * height),
    disparity: new Uint16Array(width * height),
    confidence: new Uint8Array(width * height).fill(255),
    left: new Uint8Array(width * height).fill(255),
  };
  for (let y = BOARD.top; y < BOARD.bottom; y++)
    frame.depth.fill(BOARD.millimetres, y * width + BOARD.left, y * width + BOARD.right);
  return frame;
}

interface Seen {
  /** Pixels that are not the background. */
  lit: number;
  left: number;
  right: number;
  top: number;
  bottom: number;
  middle: [x: number, y: number];
  pixel(x: number, y: number): [red: number, green: number, blue: number];
}

needs("chromium").suite("the point cloud under fingers", () => {
  let feed: PageFeed;
  let browser: Browser;
  let page: Page;
  let inspector: CDPSession;

  beforeAll(async () => {
    feed = await openPageFeed();
    browser = await openBrowser(feed.url);
    page = browser.page;
    inspector = await browser.context.newCDPSession(page);
    await inspector.send("Emulation.setTouchEmulationEnabled", { enabled: true, maxTouchPoints: 2 });
    const stop = feed.stream(20, [board(feed.width, feed.height)]);
    await page.getByRole("tab", { name: "Point cloud" }).click();
    await page.getByLabel("From (m)").fill("1");
    await page.getByLabel("To (m)").fill("10");
    await page.getByLabel("To (m)").press("Enter");
    await page.getByLabel("Axes").uncheck();
    const deadline = performance.now() + 20_000;
    while ((await seen()).lit < 1000) {
      if (performance.now() > deadline) throw new Error("waited 20 s in vain for the board to be drawn");
      await sleep(100);
    }
    stop();
    await drawn();
  });

  afterAll(async () => {
    await browser?.close();
    await feed?.close();
  });

  const canvas = () => page.locator(".cloud canvas");

  /**
   * Waits until every change is on the screen: its parts have rendered, and each frame that they asked for is drawn.
   */
  async function drawn(): Promise<void> {
    await sleep(200);
    await page.evaluate(async () => {
      for (let frames = 0; frames < 5; frames++)
        await new Promise<number>((resolve) => requestAnimationFrame(resolve));
    });
  }

  async function seen(): Promise<Seen> {
    const { data, info } = await sharp(await canvas().screenshot())
      .removeAlpha()
      .raw()
      .toBuffer({ resolveWithObject: true });
    const pixel = (x: number, y: number) =>
      [...data.subarray(3 * (y * info.width + x)).subarray(0, 3)] as [number, number, number];
    const found = { lit: 0, left: info.width, right: 0, top: info.height, bottom: 0 };
    // Its outermost pixels are half the page's.
    for (let y = 2; y < info.height - 2; y++)
      for (let x = 2; x < info.width - 2; x++) {
        if (Math.max(...pixel(x, y)) < LIT) continue;
        found.lit++;
        found.left = Math.min(found.left, x);
        found.right = Math.max(found.right, x + 1);
        found.top = Math.min(found.top, y);
        found.bottom = Math.max(found.bottom, y + 1);
      }
    const middle: Seen["middle"] = [(found.left + found.right) / 2, (found.top + found.bottom) / 2];
    return { ...found, middle, pixel };
  }

  /** Moves fingers from places to others, in steps, as a screen reports them. */
  async function touch(from: [number, number][], to: [number, number][]): Promise<void> {
    const box = (await canvas().boundingBox()) as { x: number; y: number };
    const at = (share: number) =>
      from.map(([x, y], id) => ({
        x: box.x + x + share * (to[id]![0] - x),
        y: box.y + y + share * (to[id]![1] - y),
        id,
      }));
    await inspector.send("Input.dispatchTouchEvent", { type: "touchStart", touchPoints: at(0) });
    for (let step = 1; step <= 5; step++)
      await inspector.send("Input.dispatchTouchEvent", { type: "touchMove", touchPoints: at(step / 5) });
    await inspector.send("Input.dispatchTouchEvent", { type: "touchEnd", touchPoints: [] });
    await drawn();
  }

  async function reset(): Promise<Seen> {
    await page.getByRole("button", { name: "Reset view" }).click();
    await drawn();
    return seen();
  }

  test("one finger turns it: the board stays in its place and is seen from the side", async () => {
    const before = await reset();
    const [x, y] = before.middle;
    await touch([[x, y]], [[x + 80, y]]);
    const after = await seen();
    expect(after.right - after.left).toBeLessThan(0.97 * (before.right - before.left));
    expect(after.right - after.left).toBeGreaterThan(0.3 * (before.right - before.left));
    expect(Math.abs(after.middle[0] - x)).toBeLessThan(20);
  });

  test("two fingers side by side move it as far as they go", async () => {
    const before = await reset();
    const [x, y] = before.middle;
    await touch(
      [
        [x - 40, y],
        [x + 40, y],
      ],
      [
        [x + 20, y + 30],
        [x + 100, y + 30],
      ],
    );
    const after = await seen();
    expect(after.middle[0] - x).toBeGreaterThan(54);
    expect(after.middle[0] - x).toBeLessThan(66);
    expect(after.middle[1] - y).toBeGreaterThan(25);
    expect(after.middle[1] - y).toBeLessThan(35);
    expect(Math.abs(after.right - after.left - (before.right - before.left))).toBeLessThan(5);
  });

  test("two fingers that part bring it nearer, by as much as they part", async () => {
    const before = await reset();
    const [x, y] = before.middle;
    await touch(
      [
        [x - 50, y],
        [x + 50, y],
      ],
      [
        [x - 75, y],
        [x + 75, y],
      ],
    );
    const after = await seen();
    const grown = (after.right - after.left) / (before.right - before.left);
    expect(grown).toBeGreaterThan(1.44);
    expect(grown).toBeLessThan(1.56);
    expect(Math.abs(after.middle[0] - x)).toBeLessThan(5);
  });

  test("the wheel and + and - zoom in and out, Shift moves it by the mouse and by arrows", async () => {
    const before = await reset();
    const [x, y] = before.middle;
    const box = (await canvas().boundingBox()) as { x: number; y: number };
    const widthNow = async () => {
      await drawn();
      const { left, right } = await seen();
      return (right - left) / (before.right - before.left);
    };
    await page.mouse.move(box.x + x, box.y + y);
    // The wheel scrolls the page until the cloud is chosen.
    await page.mouse.wheel(0, -100);
    expect(Math.abs((await widthNow()) - 1)).toBeLessThan(0.04);
    await canvas().focus();
    await page.mouse.wheel(0, -100);
    expect(Math.abs((await widthNow()) - Math.exp(0.12))).toBeLessThan(0.04);
    await page.mouse.wheel(0, 100);
    expect(Math.abs((await widthNow()) - 1)).toBeLessThan(0.04);
    await canvas().focus();
    await page.keyboard.press("+");
    expect(Math.abs((await widthNow()) - 1.15)).toBeLessThan(0.04);
    await page.keyboard.press("-");
    expect(Math.abs((await widthNow()) - 1)).toBeLessThan(0.04);
    await page.keyboard.press("Shift+ArrowRight");
    await drawn();
    const byKey = await seen();
    expect(Math.abs(byKey.middle[0] - x)).toBeGreaterThan(10);
    expect(Math.abs(byKey.right - byKey.left - (before.right - before.left))).toBeLessThan(5);

    await reset();
    await page.keyboard.down("Shift");
    await page.mouse.move(box.x + x, box.y + y);
    await page.mouse.down();
    await page.mouse.move(box.x + x + 60, box.y + y + 30, { steps: 4 });
    await page.mouse.up();
    await page.keyboard.up("Shift");
    await drawn();
    const { middle } = await seen();
    expect(Math.abs(middle[0] - x - 60)).toBeLessThan(6);
    expect(Math.abs(middle[1] - y - 30)).toBeLessThan(6);
  });

  test("points of half the size leave gaps, larger ones stand over the border", async () => {
    const size = page.getByLabel("Point size");
    const whole = await reset();
    const litAt = async (value: string) => {
      await size.fill(value);
      await drawn();
      return seen();
    };
    const area = ({ left, right, top, bottom }: Seen) => (right - left) * (bottom - top);
    const [half, one, four] = [await litAt("0.5"), await litAt("1"), await litAt("4")];
    expect(half.lit).toBeLessThan(0.6 * area(half));
    expect(one.lit).toBeGreaterThan(0.9 * area(one));
    expect(four.right - four.left).toBeGreaterThan(one.right - one.left + 3);
    expect(whole.lit).toBeGreaterThan(half.lit);
    await size.fill("1");
  });

  test("by height every row has its colour, by the image none", async () => {
    const byImage = await reset();
    const middle = Math.round(byImage.middle[0]);
    expect(byImage.pixel(middle, Math.round(byImage.middle[1]))).toEqual([255, 255, 255]);
    const colour = page.locator(".cloud .field", { hasText: "Colour" }).locator("select");
    await colour.selectOption("Height");
    await drawn();
    const { top, bottom, pixel } = await seen();
    const colours = colourTable("turbo");
    const { K } = CAMERA;
    for (const share of [0.1, 0.3, 0.5, 0.7, 0.9]) {
      const row = BOARD.top + share * (BOARD.bottom - BOARD.top);
      const metres = ((row - K[5]!) / K[4]!) * (BOARD.millimetres / 1000);
      const word = colours[Math.round((255 * (1.5 - metres)) / 3)] as number;
      const expected = [word & 255, (word >> 8) & 255, (word >> 16) & 255];
      const found = pixel(middle, Math.round(top + share * (bottom - top)));
      for (const [channel, value] of expected.entries())
        expect(Math.abs(found[channel]! - value), `at ${share}: ${found} for ${expected}`).toBeLessThan(16);
    }
    await colour.selectOption("Left image");
  });

  test("where motion is to be reduced, nothing on the page has a transition or an animation", async () => {
    const moving = () =>
      page.evaluate(() =>
        [...document.querySelectorAll("*")]
          .filter((element) => {
            const { transitionDuration, animationName, scrollBehavior } = getComputedStyle(element);
            const still = /^0s(, 0s)*$/.test(transitionDuration) && animationName === "none";
            return !still || scrollBehavior === "smooth";
          })
          .map(({ tagName }) => tagName),
      );
    await page.emulateMedia({ reducedMotion: "no-preference" });
    expect(await moving()).toContain("BUTTON");
    await page.emulateMedia({ reducedMotion: "reduce" });
    expect(await moving()).toEqual([]);
    expect(browser.complaints).toEqual([]);
  });
});
