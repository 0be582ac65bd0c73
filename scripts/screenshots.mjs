// SPDX-License-Identifier: Apache-2.0
// Makes the pictures of the live page that the docs show: `depthwatt run` with the synthetic scene, seen in Debian's Chromium.
// Words: --out DIR (default docs/2-concepts), --all for three widths in both themes.
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { chromium } from "playwright-core";
import sharp from "sharp";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const { values } = parseArgs({
  options: { out: { type: "string" }, all: { type: "boolean", default: false } },
});
const out = values.out ?? join(root, "docs/2-concepts");
const profile = mkdtempSync(join(tmpdir(), "depthwatt-screenshots-"));

const program = spawn(
  process.execPath,
  [join(root, "dist/edge/cli/main.js"), "run", "--broker", "none", "--rate", "10", "--device", "robot-1"],
  { stdio: ["ignore", "pipe", "inherit"] },
);
const address = await new Promise((resolve, reject) => {
  let text = "";
  program.stdout.on("data", (chunk) => {
    text += chunk;
    const found = /^page +(\S+)$/m.exec(text);
    if (found) resolve(found[1]);
  });
  program.once("exit", (code) =>
    reject(new Error(`depthwatt run ended with ${code} before it named its page`)),
  );
});

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
const context = await chromium.launchPersistentContext(profile, {
  executablePath: "/usr/bin/chromium",
  headless: true,
  args: FLAGS,
});
const page = context.pages()[0] ?? (await context.newPage());

async function shoot(name, { width, height, scheme, view, side, probe, fullPage = true }) {
  await page.setViewportSize({ width, height });
  await page.emulateMedia({ colorScheme: scheme });
  await page.locator(`#view-tab-${view}`).click();
  await page.locator(`#side-tab-${side}`).click();
  if (probe) await page.locator(".sheet.value canvas").hover({ position: probe });
  await page.waitForTimeout(3000);
  const png = await page.screenshot({ fullPage });
  await sharp(png)
    .png({ palette: true, quality: 90, effort: 10 })
    .toFile(join(out, `${name}.png`));
  console.log(join(out, `${name}.png`));
}

try {
  mkdirSync(out, { recursive: true });
  await page.goto(address);
  await page.locator("[data-size]:not([data-size=''])").waitFor({ timeout: 60_000 });
  // A plot of a few seconds is no plot.
  await page.waitForTimeout(15_000);
  const wide = { width: 1280, height: 760 };
  await shoot("live-page-picture", {
    ...wide,
    scheme: "light",
    view: "picture",
    side: "figures",
    probe: { x: 220, y: 150 },
  });
  await shoot("live-page-cloud", { ...wide, scheme: "dark", view: "cloud", side: "plots" });
  if (values.all) {
    for (const scheme of ["light", "dark"]) {
      for (const [width, height] of [
        [360, 740],
        [768, 1024],
        [1600, 1000],
      ]) {
        await shoot(`picture-${width}-${scheme}`, {
          width,
          height,
          scheme,
          view: "picture",
          side: "figures",
        });
        await shoot(`cloud-${width}-${scheme}`, { width, height, scheme, view: "cloud", side: "plots" });
      }
    }
    await shoot("settings-360", {
      width: 360,
      height: 740,
      scheme: "light",
      view: "picture",
      side: "settings",
    });
  }
} finally {
  await context.close();
  program.kill("SIGTERM");
  rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
}
