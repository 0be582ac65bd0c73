// SPDX-License-Identifier: Apache-2.0
// Collects what a report about a board needs: each part is text of a command or a file, or the reason why it is missing.
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { hostname, release } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { addonPath, isDepthwattError } from "../../../core/index.js";
import { BrokerConnection, uniqueClientId } from "../../../core/mqtt/connection.js";
import { readContext } from "../../../power/index.js";
import { type Config, SETTINGS, valueAt } from "../../config/index.js";
import { VERSION } from "../../contracts/version.js";
import { readCredentials } from "../../mqtt/credentials.js";
import { gpuNodes, readDrivers } from "../../service/devices/nodes.js";
import { mainScript } from "../../service/packaged.js";
import { PASSWORD_FILE } from "../../service/unit-text.js";

const LOG_LINES = 2000;
const KERNEL_LINES = 400;
const COMMAND_TIMEOUT_MS = 60_000;
/** Metrics come once a second. */
const LISTEN_MS = 3000;
/** JSON documents of a device; its other topics carry images. */
const DOCUMENTS = ["state", "info", "camera_info", "metrics"];
const UNITS = ["depthwatt", "depthwatt@*", "depthwatt-devices", "nvargus-daemon", "nvpmodel"];
/** Kernel messages about these parts; others may name foreign devices. */
const KERNEL_PARTS =
  /nvgpu|nvmap|nvhost|host1x|tegra|nvidia|devfreq|ina3221|uvcvideo|vi5|csi|usb \S+: (not enough|reset|disconnect)/i;

/** The paths of secrets that the settings name, and the service's password. */
export function secretFiles(config: Config | undefined): string[] {
  const named = SETTINGS.filter(({ key }) => /(password|secret|key)File$/i.test(key)).map(
    ({ key }) => config && valueAt(config, key),
  );
  return [...named.filter((value) => typeof value === "string"), PASSWORD_FILE];
}

/** Every text of the configuration: its values, and its file as it is. */
export function settingTexts(config: Config | undefined, file: string | undefined): string[] {
  const values = config === undefined ? [] : SETTINGS.map(({ key }) => valueAt(config, key));
  const text = file === undefined ? null : fileText(file);
  return [...values.filter((value) => typeof value === "string"), ...(text === null ? [] : [text])];
}

/** Runs a program. @returns its output, or why there is none */
function runProgram(program: string, ...words: string[]): string {
  const { status, signal, stdout, stderr, error } = spawnSync(program, words, {
    encoding: "utf8",
    maxBuffer: 1 << 26,
    timeout: COMMAND_TIMEOUT_MS,
  });
  if (error !== undefined) return `${program} did not run: ${error.message}\n`;
  const end = signal === null ? "" : `\n${program} was ended by ${signal}\n`;
  return stdout.trim() === "" ? `${stderr}${end || `${program} ended with ${status}\n`}` : `${stdout}${end}`;
}

/** Runs depthwatt itself in another process: a crash of the driver's library is a finding, not the end of the bundle. */
const depthwatt = (...words: string[]) => runProgram(process.execPath, mainScript(), ...words);

function fileText(path: string): string | null {
  try {
    return readFileSync(path, "utf8").replaceAll("\0", " ").trim();
  } catch {
    return null;
  }
}

const json = (value: unknown): string => `${JSON.stringify(value, null, 1)}\n`;

function versions(): object {
  const report = process.report.getReport() as unknown as { header: { glibcVersionRuntime?: string } };
  return {
    depthwatt: VERSION,
    program: mainScript(),
    node: process.version,
    architecture: process.arch,
    glibc: report.header.glibcVersionRuntime ?? null,
    kernel: release(),
    os: fileText("/etc/os-release"),
    l4t: fileText("/etc/nv_tegra_release"),
    driver: fileText("/proc/driver/nvidia/version"),
    plugin: fileText(join(dirname(addonPath()), "libdepthwatt_cuda.json")),
    systemd: runProgram("systemctl", "--version").split("\n")[0],
    packages: runProgram(
      "dpkg-query",
      "-W",
      "depthwatt*",
      "nvidia-l4t-core",
      "nvidia-l4t-cuda",
      "nvidia-jetpack",
    ),
  };
}

function board(): object {
  const text = depthwatt("boards", "--json");
  let detected: unknown = text;
  try {
    detected = (JSON.parse(text) as { detected: unknown }).detected;
  } catch {}
  return {
    host: hostname(),
    detected,
    conditions: readContext(),
    gpuNodes: gpuNodes(),
    drivers: Object.fromEntries(readDrivers()),
    modes: fileText("/etc/nvpmodel.conf")?.match(/^.*POWER_MODEL.*$/gm) ?? null,
  };
}

/** The newest documents that the device has published. */
async function documents({ base, device, outputs: { mqtt } }: Config): Promise<object> {
  if (mqtt.broker === "embedded" || mqtt.broker === "none") return { reason: `the broker is ${mqtt.broker}` };
  const found: Record<string, unknown> = {};
  let failure = "nothing was published in three seconds";
  let connection: BrokerConnection | undefined;
  try {
    const options = { url: mqtt.broker, protocolVersion: mqtt.protocolVersion, ...readCredentials(mqtt) };
    connection = new BrokerConnection(
      { ...options, clientId: uniqueClientId("depthwatt-support") },
      {
        onUp: (client) => {
          client.on("message", (topic, payload) => {
            found[topic] = JSON.parse(payload.toString("utf8"));
          });
          client.subscribe(DOCUMENTS.map((name) => `${base}/${device}/${name}`));
        },
        onDown: () => {},
        onStatus: () => {},
      },
    );
    const { connected, reason } = await connection.firstAttempt;
    if (connected) await delay(LISTEN_MS);
    else failure = reason;
  } catch (error) {
    if (!isDepthwattError(error)) throw error;
    failure = error.message;
  } finally {
    await connection?.end(500);
  }
  return Object.keys(found).length === 0 ? { reason: failure } : found;
}

function kernelLog(): string {
  const lines = runProgram("dmesg").split("\n");
  const chosen = lines.filter((line) => KERNEL_PARTS.test(line) || line.startsWith("dmesg"));
  return `${chosen.slice(-KERNEL_LINES).join("\n")}\n`;
}

export interface CollectOptions {
  /** Flags that choose the configuration, such as --config FILE. */
  flags: readonly string[];
  /** Undefined: the configuration is wrong; the doctor says how. */
  config: Config | undefined;
}

/** Returns the parts of a bundle by file name, not yet redacted. */
export async function collect({ flags, config }: CollectOptions): Promise<Record<string, string>> {
  const units = UNITS.flatMap((unit) => ["-u", unit]);
  return {
    "versions.json": json(versions()),
    "doctor.json": depthwatt("doctor", "--json", ...flags),
    "settings.json": depthwatt("config", "--print", "--json", ...flags),
    "board.json": json(board()),
    "metrics.json": json(
      config === undefined ? { reason: "the settings are wrong" } : await documents(config),
    ),
    "service.txt": `${runProgram("systemctl", "cat", "depthwatt.service")}\n${runProgram("systemctl", "status", "--no-pager", "--lines=0", ...UNITS)}`,
    "log.txt": runProgram("journalctl", ...units, "-n", String(LOG_LINES), "--no-pager", "-o", "short-iso"),
    "kernel.txt": kernelLog(),
  };
}
