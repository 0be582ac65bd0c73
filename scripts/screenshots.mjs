// SPDX-License-Identifier: Apache-2.0
// Makes the pictures of the live page that the docs show: `depthwatt run` with the synthetic scene, seen in Debian's Chromium.
// Words: --out DIR (default docs/2-concepts), --all for every tab at three widths in both themes, and a browser without WebGL.
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
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

// Where all is looked at, settings can be changed.
const secretFile = join(profile, "control.secret");
writeFileSync(secretFile, "a secret of the screenshots\n", { mode: 0o600 });
const control = values.all
  ? ["--set", "control.enabled=true", "--set", `control.secretFile=${secretFile}`]
  : [];
const words = ["run", "--broker", "none", "--rate", "10", "--device", "robot-1", ...control];
const program = spawn(process.execPath, [join(root, "dist/edge/cli/main.js"), ...words], {
  stdio: ["ignore", "pipe", "inherit"],
});
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
async function browser(name, ...flags) {
  const context = await chromium.launchPersistentContext(join(profile, name), {
    executablePath: "/usr/bin/chromium",
    headless: true,
    args: [...FLAGS, ...flags],
  });
  return { context, page: context.pages()[0] ?? (await context.newPage()) };
}
const { context, page: first } = await browser("browser");

async function shoot(name, { page = first, width, height, scheme, view, side, probe, fullPage = true }) {
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
  await first.goto(address);
  await first.locator("[data-size]:not([data-size=''])").waitFor({ timeout: 60_000 });
  // A plot of a few seconds is no plot.
  await first.waitForTimeout(15_000);
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
    const blind = await browser("without-webgl", "--disable-3d-apis");
    await blind.page.goto(address);
    for (const scheme of ["light", "dark"]) {
      for (const [width, height] of [
        [360, 740],
        [768, 1024],
        [1600, 1000],
      ]) {
        const size = { width, height, scheme };
        const name = (of) => `${of}-${width}-${scheme}`;
        await shoot(name("picture"), { ...size, view: "picture", side: "figures" });
        await shoot(name("cloud"), { ...size, view: "cloud", side: "plots" });
        await shoot(name("settings"), { ...size, view: "picture", side: "settings" });
        await shoot(name("log"), { ...size, view: "picture", side: "log" });
        await shoot(name("no-webgl"), { ...size, page: blind.page, view: "cloud", side: "figures" });
      }
    }
    await blind.context.close();
  }
} finally {
  await context.close();
  program.kill("SIGTERM");
  rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
}
