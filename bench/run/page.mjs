// SPDX-License-Identifier: Apache-2.0
// Measures what a 640x480 frame costs the live page in headless Chromium, which draws in software: time of the page's
// thread for a frame at 10 Hz, and time from one shown frame to the next where they come as fast as they are taken.
//   node bench/run/page.mjs [--rounds N]      after `npm run test:setup`, which installs Chromium
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { chromium } from "playwright-core";
import { median } from "../../dist/core/statistics.js";
import { scriptArguments } from "../../scripts/arguments.mjs";
import { PROGRAM, spawnJson } from "../shared/depthwatt.mjs";
import { RESULT_OPTIONS, writeResult } from "../shared/result-file.mjs";

const { values } = scriptArguments({
  options: { rounds: { type: "string", default: "3" }, ...RESULT_OPTIONS },
});
const FRAMES = 40;

const folder = mkdtempSync(join(tmpdir(), "depthwatt-page-"));
spawnJson(process.execPath, [PROGRAM, "scene", "--frames", 8, "--json", "--out", folder]);
const recording = [`--left=${join(folder, "left")}`, `--right=${join(folder, "right")}`];
recording.push(`--calibration=${join(folder, "calibration.json")}`, "--set=source.replay.loop=true");

/** Runs `use` with a page that shows the recording at a rate. A cheap matcher leaves the CPU to the page. */
async function withPage(rate, use) {
  const words = ["run", ...recording, "--rate", rate, "--broker=none", "--set=match.numDisparities=16"];
  const program = spawn(process.execPath, [PROGRAM, ...words], { stdio: ["ignore", "pipe", "ignore"] });
  const ended = new Promise((resolve) => program.on("close", resolve));
  let context;
  try {
    let url;
    for await (const line of createInterface(program.stdout)) {
      url = /^page +(http:\S+)/.exec(line)?.[1];
      if (url) break;
    }
    if (!url) throw new Error(`depthwatt run ended with ${await ended} before it served its page`);
    program.stdout.resume();
    context = await chromium.launchPersistentContext(join(folder, "profile"), {
      executablePath: "/usr/bin/chromium",
      args: ["--no-sandbox", "--disable-gpu"],
    });
    const page = context.pages()[0];
    await page.goto(url);
    await use(page);
  } finally {
    await context?.close();
    program.kill();
    await ended;
  }
}

const shown = (page) => page.evaluate(() => ({ ...globalThis.depthwatt.shownFrames, at: performance.now() }));

/** Waits for a number of frames. @returns what `shown` says after each look that finds a new one */
async function looks(page, frames) {
  const seen = [await shown(page)];
  while (seen.at(-1).sets - seen[0].sets < frames) {
    await sleep(20);
    const now = await shown(page);
    if (now.sets > seen.at(-1).sets) seen.push(now);
  }
  return seen;
}

const rows = ["Picture", "Point cloud"].map((tab) => ({ kind: "measured", tab, scriptMs: [], frameMs: [] }));
try {
  for (let round = 0; round < Number(values.rounds); round++) {
    for (const row of rows) {
      const open = async (page) => {
        await page.getByRole("tab", { name: row.tab }).click();
        await looks(page, 10);
      };
      await withPage("10", async (page) => {
        await open(page);
        row.scriptMs.push(median((await looks(page, FRAMES)).map(({ drawMs }) => drawMs)));
      });
      await withPage("max", async (page) => {
        await open(page);
        const seen = await looks(page, FRAMES);
        row.frameMs.push((seen.at(-1).at - seen[0].at) / (seen.at(-1).sets - seen[0].sets));
      });
    }
  }
} finally {
  rmSync(folder, { recursive: true, maxRetries: 5 });
}
writeResult("page", values, {
  what: "a frame of 640x480 in the live page, software renderer, medians of rounds, ms",
  rounds: Number(values.rounds),
  rows: rows.map((row) => ({ ...row, scriptMs: median(row.scriptMs), frameMs: median(row.frameMs) })),
});
