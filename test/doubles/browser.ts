// SPDX-License-Identifier: Apache-2.0
// Debian's Chromium, driven by playwright-core: a new profile for each page, and everything that its console says kept.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { type BrowserContext, chromium, type Page } from "playwright-core";

const FLAGS = [
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

export interface Browser {
  page: Page;
  context: BrowserContext;
  /** Errors and warnings of the console, and uncaught exceptions. */
  complaints: string[];
  /** Addresses outside of the page's own origin that were asked for. */
  foreign: string[];
  close(): Promise<void>;
}

export interface BrowserOptions {
  width?: number;
  height?: number;
  colorScheme?: "light" | "dark";
  reducedMotion?: "reduce" | "no-preference";
  /** Switches of Chromium next to the usual ones. */
  flags?: readonly string[];
  downloads?: string;
}

/** The software renderer's own remark about a picture that is read back. */
const STALL = /GPU stall due to ReadPixels/;

export async function openBrowser(url: string, options: BrowserOptions = {}): Promise<Browser> {
  const profile = mkdtempSync(join(tmpdir(), "depthwatt-chromium-"));
  const { width = 1280, height = 900, colorScheme = "light", reducedMotion = "no-preference" } = options;
  const { flags = [] } = options;
  const context = await chromium.launchPersistentContext(profile, {
    executablePath: "/usr/bin/chromium",
    headless: true,
    // A sanitizer that is preloaded for our addon is not for Chromium, which never ends with it.
    env: { ...process.env, LD_PRELOAD: undefined },
    args: [...FLAGS, ...flags],
    viewport: { width, height },
    acceptDownloads: true,
    colorScheme,
    reducedMotion,
  });
  const page = context.pages()[0] ?? (await context.newPage());
  const complaints: string[] = [];
  const foreign: string[] = [];
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type()) && !STALL.test(message.text()))
      complaints.push(`${message.type()}: ${message.text()}`);
  });
  page.on("pageerror", (error) => complaints.push(`exception: ${error.message}`));
  const { origin } = new URL(url);
  page.on("request", (request) => {
    const asked = request.url();
    if (!asked.startsWith(origin) && !asked.startsWith("blob:")) foreign.push(asked);
  });
  const counts = process.env.NODE_V8_COVERAGE;
  if (counts !== undefined) await page.coverage.startJSCoverage({ resetOnNavigation: false });
  await page.goto(url);
  return {
    page,
    context,
    complaints,
    foreign,
    async close() {
      if (counts !== undefined && !page.isClosed()) await writeCounts(page, counts);
      await context.close();
      rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

/** Writes what V8 counted in the page's scripts like a process of Node: see test/coverage/programs.mjs. */
async function writeCounts(page: Page, folder: string): Promise<void> {
  const scripts = await page.coverage.stopJSCoverage();
  const result = scripts.map(({ url, scriptId, functions }) => ({
    scriptId,
    url: pathToFileURL(resolve("dist/page/assets", basename(new URL(url).pathname))).href,
    functions,
  }));
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, `browser-${crypto.randomUUID()}.json`), JSON.stringify({ result }));
}
