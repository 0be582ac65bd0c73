// SPDX-License-Identifier: Apache-2.0
// doctor --service: runs the doctor in the sandbox of the installed unit, as its user, by systemd-run.
import { type SpawnSyncReturns, spawnSync } from "node:child_process";
import { DepthwattError } from "../../../core/index.js";
import { type ConfigOptions, loadFlagConfig } from "../../cli/options.js";
import { checkInstance, settingsFile, unitName } from "../../service/install-plan.js";
import { mainScript } from "../../service/packaged.js";
import { installedUnit } from "./look-at-gpu-nodes.js";

/**
 * Lines of [Service] that make the sandbox. Its folders and RemoveIPC are left out: ending this one would remove what
 * the running service has.
 */
const SANDBOX =
  /^(User|Group|SupplementaryGroups|NoNewPrivileges|UMask|LockPersonality|LoadCredential|Environment|EnvironmentFile|(Private|Protect|Restrict|Device|Bind|SystemCall|Capability|Ambient|Limit|MemoryDeny|ReadOnly|ReadWrite|Inaccessible|TemporaryFile)\w*)$/;

/** Returns the sandbox of a unit's text, drop-ins included, as KEY=VALUE, in order. */
export function sandboxProperties(unit: string): string[] {
  let section = "";
  return unit
    .replace(/\\\n/g, " ")
    .split("\n")
    .flatMap((line) => {
      const trimmed = line.trim();
      section = /^\[(.+)\]$/.exec(trimmed)?.[1] ?? section;
      const key = /^(\w+)=/.exec(trimmed)?.[1];
      return section === "Service" && key !== undefined && SANDBOX.test(key) ? [trimmed] : [];
    });
}

/** Where systemd puts the credentials of a unit. */
const credentials = (unit: string) => `/run/credentials/${unit}.service/`;
const TRANSIENT = "depthwatt-doctor";

/** The flag that reads the broker's password where the transient unit has it. */
function passwordFlag(options: ConfigOptions, unit: string): string[] {
  const { passwordFile } = loadFlagConfig(options).config.outputs.mqtt;
  if (!passwordFile?.startsWith(credentials(unit))) return [];
  const moved = passwordFile.replace(credentials(unit), credentials(TRANSIENT));
  return ["--set", `outputs.mqtt.passwordFile=${moved}`];
}

/** The parts of this machine that are used: another one in tests. */
export interface ServiceHost {
  /** Returns the text of an installed unit with its drop-ins; undefined if there is none. */
  unitText(name: string): string | undefined;
  userId(): number | undefined;
  /** The script of this program. */
  script(): string;
  systemdRun(
    words: readonly string[],
  ): Pick<SpawnSyncReturns<string>, "status" | "stdout" | "stderr" | "error">;
}

const THIS_HOST: ServiceHost = {
  unitText: installedUnit,
  userId: () => process.getuid?.(),
  script: mainScript,
  systemdRun: (words) =>
    spawnSync("systemd-run", words, {
      encoding: "utf8",
      maxBuffer: 1 << 26,
      stdio: ["ignore", "pipe", "pipe"],
    }),
};

export interface InServiceOptions {
  config?: string;
  rig?: string;
  /** Name of a pair of cameras; true: the board's only service. */
  service: string | true;
  set?: string[];
  json?: boolean;
}

/**
 * Runs the doctor in the service's sandbox and prints what it prints.
 * @returns its exit code
 * @throws DepthwattError SERVICE_FAILED
 */
export function doctorInService(
  { service, config, rig, set = [], json = false }: InServiceOptions,
  host = THIS_HOST,
): number {
  const instance = service === true ? undefined : service;
  if (instance !== undefined) checkInstance(instance);
  const unit = unitName(instance);
  const text = host.unitText(`${unit}.service`);
  if (text === undefined)
    throw new DepthwattError("SERVICE_FAILED", `there is no ${unit}.service`, {
      hint: "Run 'sudo depthwatt install-service' first.",
    });
  if (host.userId() !== 0)
    throw new DepthwattError("SERVICE_FAILED", "running in the service's sandbox needs root", {
      hint: "Run 'sudo depthwatt doctor --service'.",
    });
  const file = config ?? settingsFile(instance);
  const chosen = { config: file, ...(rig !== undefined && { rig }) };
  const rigWords = rig === undefined ? [] : ["--rig", rig];
  const more = [...rigWords, ...set.flatMap((one) => ["--set", one]), ...(json ? ["--json"] : [])];
  const words = [process.execPath, host.script(), "doctor", "--config", file];
  words.push(...passwordFlag(chosen, unit), ...more);
  const transient = ["--quiet", "--pipe", "--wait", "--collect", `--unit=${TRANSIENT}`];
  let properties = sandboxProperties(text);
  for (;;) {
    const { status, stdout, stderr, error } = host.systemdRun([
      ...transient,
      ...properties.flatMap((line) => ["-p", line]),
      ...words,
    ]);
    // An older systemd ignores lines of a unit that it does not know, and systemd-run refuses them.
    const unknown = /Unknown assignment: (\w+)=/.exec(stderr ?? "")?.[1];
    const rest = properties.filter((line) => !line.startsWith(`${unknown}=`));
    if (unknown !== undefined && rest.length < properties.length) {
      properties = rest;
      continue;
    }
    if (error !== undefined)
      throw new DepthwattError("SERVICE_FAILED", `systemd-run cannot be started: ${error.message}`, {
        hint: "doctor --service needs systemd. Without it, run 'depthwatt doctor' as the service's user.",
      });
    process.stdout.write(stdout);
    process.stderr.write(stderr);
    return status ?? 1;
  }
}
