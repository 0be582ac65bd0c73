// SPDX-License-Identifier: Apache-2.0
// The steps that make depthwatt a service of this machine, as data: printed by --dry-run, done by perform().
import { spawnSync } from "node:child_process";
import { chmodSync, chownSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { DepthwattError, hasCode } from "../../core/index.js";
import { makeFolder } from "../../camera/index.js";

export type Step =
  | { kind: "run"; title: string; words: [string, ...string[]]; unlessMissing?: string }
  | { kind: "folder"; title: string; path: string; mode: number }
  | {
      kind: "write";
      title: string;
      path: string;
      mode: number;
      text: string;
      keepExisting: boolean;
      group?: string;
    };

export interface Machine {
  /** Absolute path of the Node that will run the service. */
  node: string;
  /** Absolute path of edge/cli/main.js as installed. */
  mainScript: string;
  /** Text of depthwatt.service and of the udev rule for power rails. */
  unit: string;
  udevRule: string;
  hasUser: (name: string) => boolean;
}

const USER = "depthwatt";
export const CONFIG_FILE = "/etc/depthwatt/config.yaml";
export const PASSWORD_FILE = "/etc/depthwatt/mqtt-password";
export const UNIT_FILE = "/etc/systemd/system/depthwatt.service";
const UDEV_FILE = "/etc/udev/rules.d/60-depthwatt-power.rules";

const FIRST_CONFIG = `# Settings of the depthwatt service; 'depthwatt config --print' lists all of them.
# 'depthwatt config --config ${CONFIG_FILE}' checks this file. After a change: systemctl reload depthwatt
source:
  kind: synthetic          # v4l2 for cameras, with left and right: /dev/video0 and /dev/video2
outputs:
  mqtt:
    broker: mqtt://localhost:1883
    # username: depthwatt
    # passwordFile: /run/credentials/depthwatt.service/mqtt-password    (put the password into ${PASSWORD_FILE})
`;

/** The unit cannot see what ProtectHome and PrivateTmp hide from it. */
const HIDDEN_FOLDERS = ["/home/", "/root/", "/run/user/", "/tmp/", "/var/tmp/"];

/** @throws DepthwattError SERVICE_FAILED where the unit could not read the program */
function checkVisible(machine: Machine): void {
  for (const path of [machine.node, machine.mainScript]) {
    const hidden = HIDDEN_FOLDERS.find((folder) => path.startsWith(folder));
    if (hidden === undefined) continue;
    throw new DepthwattError(
      "SERVICE_FAILED",
      `${path} lies in ${hidden}, which the hardened service cannot see`,
      {
        hint: "Install Node and depthwatt for the whole system, in /usr or /opt, and run this command from there.",
        context: { path },
      },
    );
  }
}

/** The shipped unit with this machine's paths. systemd splits ExecStart at blanks, and reads % and $ in its own way. */
export function unitFor({ unit, node, mainScript }: Pick<Machine, "unit" | "node" | "mainScript">): string {
  const quote = (path: string) =>
    `"${path.replace(/["\\]/g, "\\$&").replaceAll("%", "%%").replaceAll("$", "$$$$")}"`;
  const plain = (path: string) => (/^[\w./@+-]+$/.test(path) ? path : quote(path));
  const line = `ExecStart=${plain(node)} ${plain(mainScript)} run --config ${CONFIG_FILE}`;
  return unit.replace(/^ExecStart=.*$/m, () => line);
}

/** @throws DepthwattError SERVICE_FAILED */
export function planInstallation(machine: Machine): Step[] {
  checkVisible(machine);
  const groups = ["video", "render", USER].map(
    (name): Step => ({
      kind: "run",
      title: `group ${name}`,
      words: ["groupadd", "--system", "--force", name],
    }),
  );
  const home = ["--no-create-home", "--home-dir", "/nonexistent", "--shell", "/usr/sbin/nologin"];
  const addUser: Step[] = machine.hasUser(USER)
    ? []
    : [{ kind: "run", title: `user ${USER}`, words: ["useradd", "--system", "--gid", USER, ...home, USER] }];
  return [
    ...groups,
    ...addUser,
    { kind: "folder", title: "folder of the settings", path: dirname(CONFIG_FILE), mode: 0o755 },
    {
      kind: "write",
      title: "first settings",
      path: CONFIG_FILE,
      // A broker's URL may hold a password: for root and the service alone.
      mode: 0o640,
      group: USER,
      text: FIRST_CONFIG,
      keepExisting: true,
    },
    {
      kind: "write",
      title: "broker password",
      path: PASSWORD_FILE,
      mode: 0o600,
      text: "",
      keepExisting: true,
    },
    {
      kind: "write",
      title: "power rails",
      path: UDEV_FILE,
      mode: 0o644,
      text: machine.udevRule,
      keepExisting: false,
    },
    {
      kind: "run",
      title: "udev reads its rules",
      words: ["udevadm", "control", "--reload"],
      unlessMissing: "without udev the power rails are for root alone",
    },
    {
      kind: "run",
      title: "udev applies them",
      words: ["udevadm", "trigger"],
      unlessMissing: "without udev the power rails are for root alone",
    },
    {
      kind: "write",
      title: "unit",
      path: UNIT_FILE,
      mode: 0o644,
      text: unitFor(machine),
      keepExisting: false,
    },
    { kind: "run", title: "systemd reads its units", words: ["systemctl", "daemon-reload"] },
    { kind: "run", title: "start at boot", words: ["systemctl", "enable", "depthwatt.service"] },
  ];
}

/** What a step does, in the words of --dry-run. */
export function describeStep(step: Step): string {
  if (step.kind === "run") return `run ${step.words.join(" ")}`;
  const mode = step.mode.toString(8).padStart(4, "0");
  if (step.kind === "folder") return `make ${step.path} (mode ${mode})`;
  const kept = step.keepExisting ? ", unless it is there" : "";
  const group = step.group === undefined ? "" : `, group ${step.group}`;
  return `write ${step.path} (mode ${mode}${group}, ${Buffer.byteLength(step.text)} bytes${kept})`;
}

/** The number of a group in the machine's list; undefined where there is none. */
function groupNumber(name: string, root: string): number | undefined {
  const file = join(root, "etc/group");
  const line = existsSync(file)
    ? readFileSync(file, "utf8")
        .split("\n")
        .find((one) => one.startsWith(`${name}:`))
    : undefined;
  return line === undefined ? undefined : Number(line.split(":")[2]);
}

function runStep({ words, unlessMissing }: Extract<Step, { kind: "run" }>): string | undefined {
  const [program, ...rest] = words;
  const { status, stderr, error } = spawnSync(program, rest, { encoding: "utf8" });
  if (unlessMissing !== undefined && hasCode(error, "ENOENT"))
    return `left out: there is no ${program}; ${unlessMissing}`;
  if (error) throw error;
  if (status !== 0) throw new Error(stderr.trim() || `it ended with status ${status}`);
  return undefined;
}

/** What was there keeps its content, and gets the mode that is printed all the same: a password that all may read is none. */
function placeStep(step: Exclude<Step, { kind: "run" }>, root: string): void {
  const path = join(root, step.path);
  if (step.kind === "folder") makeFolder(path, step.mode);
  else if (!(step.keepExisting && existsSync(path))) {
    makeFolder(dirname(path));
    writeFileSync(path, step.text, { mode: step.mode });
  }
  // The mode above is cut by the umask, and does not apply to what was there.
  chmodSync(path, step.mode);
  const group = step.kind === "write" && step.group !== undefined ? groupNumber(step.group, root) : undefined;
  if (group !== undefined) chownSync(path, -1, group);
}

/**
 * Does one step.
 * @param root what "/" means; another folder in tests
 * @returns why it was left out; undefined: it was done
 * @throws DepthwattError SERVICE_FAILED naming the step
 */
export function perform(step: Step, root = "/"): string | undefined {
  try {
    if (step.kind === "run") return runStep(step);
    placeStep(step, root);
    return undefined;
  } catch (cause) {
    const denied = hasCode(cause, "EACCES") || hasCode(cause, "EPERM");
    throw new DepthwattError(
      "SERVICE_FAILED",
      `${step.title}: ${describeStep(step)}: ${(cause as Error).message}`,
      {
        hint: denied
          ? "Run it as root; 'depthwatt install-service --dry-run' prints each step."
          : "'depthwatt install-service --dry-run' prints each step; do this one by hand, then run it again.",
        cause,
      },
    );
  }
}
