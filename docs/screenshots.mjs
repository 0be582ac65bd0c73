// SPDX-License-Identifier: Apache-2.0
// Makes the pictures of the live page that the docs show: `depthwatt run` with the synthetic scene, seen in Debian's Chromium.
// Options: --out DIR (default docs/guides), --all for every tab and state at three widths in both
// themes, and a browser without WebGL. Without --all it also makes live-page.webp, the animation of the README.
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import sharp from "sharp";
import { runnerImport } from "vite";
import { scriptArguments } from "../scripts/arguments.mjs";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const { values } = scriptArguments({
  options: { out: { type: "string" }, all: { type: "boolean", default: false } },
});
const out = values.out ?? join(root, "docs/guides");
const profile = mkdtempSync(join(tmpdir(), "depthwatt-screenshots-"));

// With --all, settings can be changed.
const secretFile = join(profile, "control.secret");
writeFileSync(secretFile, "a secret of the screenshots\n", { mode: 0o600 });
const control = values.all
  ? ["control.enabled=true", `control.secretFile=${secretFile}`].flatMap((one) => ["--set", one])
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

const { openBrowser } = (await runnerImport(join(root, "test/doubles/browser.ts"))).module;
const browser = await openBrowser(address);
const first = browser.page;

const FILM_FRAMES = 80;
/** Pause between two screenshots, each of which takes about 150 ms. */
const FILM_STEP_MS = 100;
const FILM_DELAY_MS = 250;

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

/** Takes the page while the scene moves, as one animated WebP. */
async function film(name, { width, height, scheme, view, side }) {
  await first.setViewportSize({ width, height });
  await first.emulateMedia({ colorScheme: scheme });
  await first.locator(`#view-tab-${view}`).click();
  await first.locator(`#side-tab-${side}`).click();
  await first.mouse.move(0, 0);
  await first.waitForTimeout(1000);
  const frames = [];
  for (let frame = 0; frame < FILM_FRAMES; frame++) {
    frames.push(await first.screenshot());
    await first.waitForTimeout(FILM_STEP_MS);
  }
  const file = join(out, `${name}.webp`);
  await sharp(frames, { join: { animated: true } })
    .webp({ quality: 50, effort: 3, loop: 0, delay: frames.map(() => FILM_DELAY_MS) })
    .toFile(file);
  console.log(file);
}

/** Starts the program with other words; its page. */
async function another(...words) {
  const child = spawn(process.execPath, [join(root, "dist/edge/cli/main.js"), ...words], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  others.push(child);
  return new Promise((resolve) => {
    let text = "";
    child.stdout.on("data", (chunk) => {
      text += chunk;
      const [, page] = /^page +(\S+)$/m.exec(text) ?? [];
      const [, broker] = /^broker +(mqtt:\S+)/m.exec(text) ?? [];
      if (page) resolve({ page, broker, child });
    });
  });
}

/** The page that asks for its password, refuses a wrong one, a device that is offline, and a zone that is being drawn. */
async function otherStates() {
  const passwordFile = join(profile, "password");
  writeFileSync(passwordFile, "the password of the screenshots\n", { mode: 0o600 });
  const small = ["--rate", "5", "--set", "http.port=auto"];
  const guarded = await another(
    "run",
    "--broker",
    "none",
    ...small,
    "--set",
    `http.passwordFile=${passwordFile}`,
  );
  const device = await another("run", "--broker", "embedded", "--device", "robot-2", ...small);
  const second = await another("run", "--broker", device.broker, "--device", "robot-3", ...small);
  const viewing = await another("view", device.broker, "--port", "auto");
  const asked = await openBrowser(guarded.page);
  const viewed = await openBrowser(viewing.page);
  await viewed.page.getByLabel("Device").selectOption("robot-3");
  await viewed.page.waitForTimeout(4000);
  second.child.kill("SIGKILL");
  await viewed.page.getByText("robot-3 is offline").waitFor({ timeout: 60_000 });
  await first.locator("#view-tab-picture").click();
  await first.getByRole("button", { name: "Draw zone" }).click();
  for (const scheme of ["light", "dark"])
    for (const [width, height] of [
      [360, 740],
      [768, 1024],
      [1600, 1000],
    ]) {
      const take = async (page, name) => {
        await page.setViewportSize({ width, height });
        await page.emulateMedia({ colorScheme: scheme });
        await page.waitForTimeout(800);
        await page.screenshot({ path: join(out, `${name}-${width}-${scheme}.png`), fullPage: true });
      };
      await asked.page.reload();
      await asked.page.getByRole("button", { name: "Enter" }).waitFor();
      await take(asked.page, "password");
      await asked.page.getByLabel("Password").fill("a guess");
      await asked.page.getByRole("button", { name: "Enter" }).click();
      await asked.page.waitForTimeout(300);
      await take(asked.page, "password-wrong");
      await take(viewed.page, "offline");
      await first.setViewportSize({ width, height });
      const box = await first.locator(".sheet.left canvas").boundingBox();
      await first.getByRole("button", { name: "Cancel" }).click();
      await first.getByRole("button", { name: "Draw zone" }).click();
      for (const [x, y] of [
        [0.1, 0.6],
        [0.4, 0.35],
        [0.6, 0.7],
      ])
        await first
          .locator(".sheet.left canvas")
          .click({ position: { x: box.width * x, y: box.height * y } });
      await take(first, "zone");
    }
  await asked.close();
  await viewed.close();
}

const others = [];
try {
  mkdirSync(out, { recursive: true });
  await first.locator("[data-size]:not([data-size=''])").waitFor({ timeout: 60_000 });
  // The plots need some seconds of values.
  await first.waitForTimeout(values.all ? 3000 : 15_000);
  const wide = { width: 1280, height: 760 };
  await shoot("live-page-picture", {
    ...wide,
    scheme: "light",
    view: "picture",
    side: "figures",
    probe: { x: 220, y: 150 },
  });
  if (!values.all)
    await film("live-page", { width: 1000, height: 560, scheme: "light", view: "picture", side: "figures" });
  await shoot("live-page-cloud", { ...wide, scheme: "dark", view: "cloud", side: "plots" });
  if (values.all) {
    const blind = await openBrowser(address, { flags: ["--disable-3d-apis"] });
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
    await blind.close();
    await otherStates();
  }
} finally {
  await browser.close();
  for (const child of [program, ...others]) child.kill("SIGTERM");
  rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
}
