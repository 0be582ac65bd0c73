// SPDX-License-Identifier: Apache-2.0
// depthwatt support-bundle: writes one archive for a report, without passwords, and without images unless they are given.
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import type { Command } from "commander";
import { DepthwattError, isDepthwattError } from "../../../core/index.js";
import { type ConfigOptions, loadFlagConfig, withConfig, withExamples } from "../../cli/options.js";
import { note, printLine } from "../../cli/output.js";
import type { Config } from "../../config/index.js";
import { CONFIG_FILE } from "../../service/unit-text.js";
import { collect, secretFiles, settingTexts } from "./collect.js";
import { createRedactor } from "./redact.js";

const CONTENTS = `The files of this archive, for the maintainers of depthwatt:

versions.json   program, Node, operating system, L4T, driver, plugin, packages
doctor.json     'depthwatt doctor --json'
settings.json   every setting and its origin
board.json      the board, its conditions, its GPU nodes
metrics.json    the last documents that the device published
service.txt     the unit with its drop-ins, and the state of the services
log.txt         the last lines of the journal
kernel.txt      kernel messages about GPU, cameras and power
images/         only with --images

Passwords, keys and secrets are replaced by "(hidden)". Host names, addresses and paths are not: read the files before you send them.
`;

interface BundleOptions extends ConfigOptions {
  output?: string;
  images?: string;
}

/** The file of the service, where the user names none and there is one. */
const serviceConfig = ({ config }: BundleOptions): ConfigOptions =>
  config === undefined && existsSync(CONFIG_FILE) ? { config: CONFIG_FILE } : {};

/** The flags that choose the configuration, for other commands. */
function configFlags({ config, rig, set = [], preset }: ConfigOptions): string[] {
  return [
    ...(config === undefined ? [] : ["--config", config]),
    ...(rig === undefined ? [] : ["--rig", rig]),
    ...(preset === undefined ? [] : ["--preset", preset]),
    ...set.flatMap((one) => ["--set", one]),
  ];
}

/** Reads the files of a folder and of its folders, such as left/ and right/ of 'depthwatt capture'. */
export function imagesIn(folder: string): Record<string, Uint8Array> {
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" });
  const files = names.filter((name) => statSync(join(folder, name)).isFile());
  return Object.fromEntries(
    files.map((name) => [`images/${name}`, new Uint8Array(readFileSync(join(folder, name)))]),
  );
}

const unwritable = (out: string, reason: string) =>
  new DepthwattError("OUTPUT_UNWRITABLE", `${out} cannot be written: ${reason}`, {
    hint: "Choose another file with --output.",
  });

async function writeBundle(options: BundleOptions): Promise<void> {
  const at = new Date().toISOString().slice(0, 19).replace(/[:-]/g, "").replace("T", "-");
  const out = options.output ?? `depthwatt-support-${hostname()}-${at}.zip`;
  if (existsSync(out)) throw unwritable(out, "it exists");
  const given = { ...options, ...serviceConfig(options) };
  const flags = configFlags(given);
  let config: Config | undefined;
  try {
    config = loadFlagConfig(given).config;
  } catch (error) {
    // Without a rig the secrets of its settings would not be known.
    if (!isDepthwattError(error) || error.code === "USAGE") throw error;
    note(`note: ${error.message}`);
  }
  const { redact, unreadable } = createRedactor(secretFiles(config), settingTexts(config, given.config));
  const texts = await collect({ flags, config });
  const { strToU8, zipSync } = await import("fflate"); // loaded with the first bundle
  const parts = Object.entries({ "README.txt": CONTENTS, ...texts }).map(([name, text]) => [
    name,
    strToU8(redact(text)),
  ]);
  const images = options.images === undefined ? {} : imagesIn(options.images);
  try {
    writeFileSync(out, zipSync({ ...Object.fromEntries(parts), ...images }), { mode: 0o600, flag: "wx" });
  } catch (cause) {
    throw unwritable(out, (cause as Error).message);
  }
  const missing = unreadable.filter((one) => existsSync(one));
  if (missing.length > 0)
    note(
      `note: ${missing.join(", ")} cannot be read, so their secrets were removed only where their names are next to them; run it with sudo`,
    );
  printLine(out);
  for (const name of [...parts.map(([name]) => name), ...Object.keys(images)]) printLine(`  ${name}`);
}

export function define(command: Command): void {
  withConfig(command)
    .option("-o, --output <file>", "archive to write (default: depthwatt-support-HOST-TIME.zip here)")
    .option("--images <folder>", "add the files of this folder, such as a pair from 'depthwatt capture'")
    .action(writeBundle);
  withExamples(
    command,
    "sudo depthwatt support-bundle",
    "depthwatt support-bundle --images pair -o report.zip",
  );
}
