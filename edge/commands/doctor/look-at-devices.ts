// SPDX-License-Identifier: Apache-2.0
// Checks devices and connections: cameras, power rails, the broker.
import { accessSync, constants, existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { DepthwattError, isDepthwattError, redactUrl } from "../../../core/index.js";
import { BrokerConnection, uniqueClientId } from "../../../core/mqtt/connection.js";
import { openCandidates, type PowerSensor, type TotalRule } from "../../../power/index.js";
import type { Config } from "../../config/index.js";
import { pickPlaces } from "../../contracts/image-places.js";
import type { NativeAddon } from "../../contracts/native.js";
import { checkBrokerUrl, readCredentials } from "../../mqtt/credentials.js";
import { powerNative } from "../../power/open-meter.js";
import {
  ARGUS_SOCKET,
  type ArgusOptions,
  argusProblem,
  checkArgus,
  usesArgus,
} from "../../sources/command/argus.js";
import type { Finding } from "./finding.js";
import { railCommands, secretCommands } from "./fix-commands.js";

interface Camera {
  device: string;
  name: string;
  /** Undefined where this user may read and write it. */
  refused: string | undefined;
}

function listCameras(root: string): Camera[] {
  const devices = readdirSync(join(root, "dev")).filter((name) => /^video\d+$/.test(name));
  return devices
    .sort((a, b) => Number(a.slice(5)) - Number(b.slice(5)))
    .map((device) => {
      let name = "no name";
      try {
        name = readFileSync(join(root, "sys/class/video4linux", device, "name"), "utf8").trim();
      } catch {}
      try {
        accessSync(join(root, "dev", device), constants.R_OK | constants.W_OK);
        return { device: `/dev/${device}`, name, refused: undefined };
      } catch (error) {
        return {
          device: `/dev/${device}`,
          name,
          refused: (error as NodeJS.ErrnoException).code!,
        };
      }
    });
}

/** @param root what "/" means; another folder in tests */
export function lookAtCameras({ source }: Config, root = "/"): Finding {
  const cameras = listCameras(root);
  const wanted = source.kind === "v4l2";
  const state = wanted ? ("bad" as const) : ("absent" as const);
  const exit = wanted ? { exitCode: 3 } : {};
  if (cameras.length === 0) {
    const hint = "Plug them in; without cameras: --source synthetic, or --source replay with images.";
    return { name: "cameras", state, text: "there is no /dev/video*", hint, facts: { cameras }, ...exit };
  }
  const details = cameras.map(
    ({ device, name, refused }) => `${device}  ${name}${refused ? `  (${refused})` : ""}`,
  );
  const usable = cameras.filter((camera) => camera.refused === undefined).length;
  const text = `${cameras.length} video devices`;
  if (usable === cameras.length) return { name: "cameras", state: "ok", text, details, facts: { cameras } };
  const hint = "Join the group 'video': sudo usermod -aG video $USER, then log in again.";
  const commands = ['sudo usermod -aG video "$USER"'];
  const refusedText = `${text}; this user may not open ${cameras.length - usable} of them`;
  return { name: "cameras", state, text: refusedText, hint, commands, details, facts: { cameras }, ...exit };
}

/** Undefined where no command of the source uses NVIDIA's camera daemon. */
export async function lookAtArgus(
  { source }: Config,
  options: ArgusOptions = {},
): Promise<Finding | undefined> {
  if (source.kind !== "command") return undefined;
  if (!Object.values(pickPlaces(source.command)).some(usesArgus)) return undefined;
  const facts = { socket: ARGUS_SOCKET };
  try {
    checkArgus(options);
    const problem = await argusProblem(options);
    if (problem !== undefined) throw problem;
    return { name: "argus", state: "ok", text: "NVIDIA's camera daemon answers", facts };
  } catch (error) {
    if (!isDepthwattError(error)) throw error;
    const { message, hint, exitCode } = error;
    const commands = ["sudo systemctl restart nvargus-daemon"];
    return { name: "argus", state: "bad", text: message, hint, commands, facts, exitCode };
  }
}

/** Describes the total of a sensor's rails, or why there is none. */
function totalWords(total: PowerSensor["total"]): string {
  return "rails" in total ? `total: ${total.rails.join(" + ")}` : `no total: ${total.reason}`;
}

/**
 * Every kind of power sensor: what it measures, or why it is not there.
 * @param totalRule how the detected board's rails make its total
 */
export function lookAtPower(native: NativeAddon | undefined, totalRule?: TotalRule): Finding {
  const candidates = openCandidates({ native: powerNative(native), ...(totalRule && { totalRule }) });
  try {
    const sensors = candidates.map(({ name, result }) => {
      if (!("rails" in result)) return { name, available: false as const, reason: result.reason };
      const rails = result.rails.map((rail) => rail.label);
      return { name, available: true as const, rails, total: result.total };
    });
    const details = sensors.map((sensor) =>
      sensor.available
        ? `${sensor.name}: ${sensor.rails.join(", ")}; ${totalWords(sensor.total)}`
        : `${sensor.name}: ${sensor.reason}`,
    );
    const there = sensors.filter((sensor) => sensor.available).map((sensor) => sensor.name);
    const facts = { sensors };
    if (there.length > 0) return { name: "power", state: "ok", text: there.join(", "), details, facts };
    const hint = "Without a sensor everything runs, and watts are reported as unavailable.";
    const refused = candidates.some(({ result }) => "refused" in result && result.refused);
    const commands = refused ? { commands: railCommands() } : {};
    const text = "nothing here measures power";
    return { name: "power", state: "absent", text, hint, ...commands, details, facts };
  } finally {
    for (const { result } of candidates) if ("close" in result) result.close();
  }
}

/** Connects and leaves again. @returns where to and in which protocol. @throws DepthwattError BROKER_*, CONFIG_* */
async function visitBroker(mqtt: Config["outputs"]["mqtt"], timeoutMs: number): Promise<string> {
  const { broker, protocolVersion } = mqtt;
  checkBrokerUrl(broker);
  const options = { url: broker, protocolVersion, clientId: uniqueClientId("depthwatt-doctor") };
  const events = { onUp: () => {}, onDown: () => {}, onStatus: () => {} };
  const connection = new BrokerConnection({ ...options, ...readCredentials(mqtt) }, events);
  try {
    const late = new DepthwattError(
      "BROKER_UNREACHABLE",
      `${redactUrl(broker)} did not answer in ${timeoutMs} ms`,
    );
    const timeout = new Promise<never>((_, reject) => setTimeout(() => reject(late), timeoutMs).unref());
    const { connected, reason, error } = await Promise.race([connection.firstAttempt, timeout]);
    if (connected) return reason;
    throw error ?? new DepthwattError("BROKER_UNREACHABLE", reason);
  } finally {
    await connection.end(500);
  }
}

/** A broker on this machine is installed and started; one elsewhere is not ours to start. */
export function brokerCommands(url: string, root = "/"): string[] | undefined {
  if (!["localhost", "127.0.0.1", "[::1]"].includes(new URL(url).hostname)) return undefined;
  const installed = existsSync(join(root, "usr/sbin/mosquitto"));
  const start = "sudo systemctl enable --now mosquitto";
  return installed ? [start] : ["sudo apt-get install mosquitto", start];
}

export async function lookAtBroker({ outputs: { mqtt } }: Config, timeoutMs = 4000): Promise<Finding> {
  const { broker } = mqtt;
  if (broker === "embedded") {
    const text = "embedded in 'depthwatt run', on loopback; nothing to reach";
    return { name: "broker", state: "ok", text, facts: { broker, reachable: null } };
  }
  if (broker === "none") {
    const text = "none: the MQTT output is off";
    return { name: "broker", state: "absent", text, facts: { broker, reachable: null } };
  }
  const shown = redactUrl(broker);
  try {
    const text = await visitBroker(mqtt, timeoutMs);
    return { name: "broker", state: "ok", text, facts: { broker: shown, reachable: true } };
  } catch (error) {
    if (!isDepthwattError(error)) throw error;
    const facts = { broker: shown, reachable: false, code: error.code };
    const commands = error.code === "BROKER_UNREACHABLE" ? brokerCommands(broker) : secretCommands(error);
    return {
      name: "broker",
      state: "bad",
      text: error.message,
      hint: error.hint,
      ...(commands && { commands }),
      facts,
      exitCode: error.exitCode,
    };
  }
}
