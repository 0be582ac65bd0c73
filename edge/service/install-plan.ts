// SPDX-License-Identifier: Apache-2.0
// The steps that make depthwatt a service of this machine, and those that take it away again.
import { dirname } from "node:path";
import { DepthwattError } from "../../core/index.js";
import { DROP_INS } from "./devices/drop-ins.js";
import { POWER_MODE_FILES, planForbidding } from "./power-mode/install.js";
import type { Step } from "./steps.js";
import {
  CONFIG_FILE,
  CONFIG_FOLDER,
  firstSettings,
  PASSWORD_FILE,
  templateFor,
  type UnitPaths,
  unitFor,
} from "./unit-text.js";

export interface Machine extends UnitPaths {
  /** Text of the udev rule for power rails. */
  udevRule: string;
  hasUser: (name: string) => boolean;
  hostName: string;
  /** The Debian package has brought user, unit and udev rule. */
  packaged: boolean;
  /** Text of depthwatt-devices.service with this machine's paths; undefined: others than root may write the program. */
  devicesUnit: string | undefined;
}

const USER = "depthwatt";
export const UNIT_FILE = "/etc/systemd/system/depthwatt.service";
export const DEVICES_UNIT = "depthwatt-devices.service";
const DEVICES_FILE = `/etc/systemd/system/${DEVICES_UNIT}`;
const TEMPLATE_FILE = "/etc/systemd/system/depthwatt@.service";
const UDEV_FILE = "/etc/udev/rules.d/60-depthwatt-power.rules";

/** The unit cannot see what ProtectHome and PrivateTmp hide from it. */
const HIDDEN_FOLDERS = ["/home/", "/root/", "/run/user/", "/tmp/", "/var/tmp/"];

/** @throws DepthwattError SERVICE_FAILED where the unit could not read the program */
function checkVisible(machine: Machine): void {
  for (const path of [machine.node, machine.mainScript]) {
    const hidden = HIDDEN_FOLDERS.find((folder) => path.startsWith(folder));
    if (hidden === undefined) continue;
    throw new DepthwattError(
      "SERVICE_FAILED",
      `${path} is in ${hidden}, which the hardened service cannot see`,
      {
        hint: "Install Node and depthwatt for the whole system, in /usr or /opt, and run this command from there.",
        context: { path },
      },
    );
  }
}

/** The name of a pair of cameras becomes a file name, part of a unit's name and of topics. @throws DepthwattError USAGE */
export function checkInstance(instance: string): void {
  if (/^[A-Za-z0-9][A-Za-z0-9_-]{0,31}$/.test(instance) && instance !== "config") return;
  throw new DepthwattError(
    "USAGE",
    `--instance: expected up to 32 letters, digits, "-" and "_", and not "config", got ${JSON.stringify(instance)}`,
    { hint: "Give the pair of cameras a short name, such as front.", context: { instance } },
  );
}

const run = (title: string, ...words: [string, ...string[]]): Step => ({ kind: "run", title, words });

const udevSteps = (): Step[] =>
  [
    run("udev reads its rules", "udevadm", "control", "--reload"),
    run("udev applies them", "udevadm", "trigger"),
  ].map((step) => ({ ...step, unlessMissing: "without udev the power rails are for root alone" }));

function programSteps(machine: Machine): Step[] {
  const { devicesUnit } = machine;
  const groups = ["video", "render", USER].map((name) =>
    run(`group ${name}`, "groupadd", "--system", "--force", name),
  );
  const home = ["--no-create-home", "--home-dir", "/nonexistent", "--shell", "/usr/sbin/nologin"];
  const addUser = machine.hasUser(USER)
    ? []
    : [run(`user ${USER}`, "useradd", "--system", "--gid", USER, ...home, USER)];
  const file = (title: string, path: string, text: string): Step => ({
    kind: "write",
    title,
    path,
    mode: 0o644,
    text,
    keepExisting: false,
  });
  return [
    ...groups,
    ...addUser,
    file("power rails", UDEV_FILE, machine.udevRule),
    ...udevSteps(),
    file("unit", UNIT_FILE, unitFor(machine)),
    file("unit of several pairs", TEMPLATE_FILE, templateFor(machine)),
    ...(devicesUnit === undefined ? [] : [file("unit of the device rules", DEVICES_FILE, devicesUnit)]),
    run("systemd reads its units", "systemctl", "daemon-reload"),
    ...(devicesUnit === undefined
      ? []
      : [run("rules of this board's GPU", "systemctl", "start", DEVICES_UNIT)]),
  ];
}

/** Its settings, by the unit's name. */
export const settingsFile = (instance: string | undefined): string =>
  instance === undefined ? CONFIG_FILE : `${CONFIG_FOLDER}/${instance}.yaml`;

export const unitName = (instance: string | undefined): string =>
  instance === undefined ? "depthwatt" : `depthwatt@${instance}`;

/**
 * @param instance the name of one pair of several; undefined for the only one
 * @throws DepthwattError SERVICE_FAILED, USAGE
 */
export function planInstallation(machine: Machine, instance?: string): Step[] {
  if (instance !== undefined) checkInstance(instance);
  if (machine.packaged && instance === undefined) {
    throw new DepthwattError("SERVICE_FAILED", "the Debian package of depthwatt has brought the service", {
      hint: "Start it with 'systemctl enable --now depthwatt'; '--instance NAME' adds one for another pair of cameras.",
    });
  }
  checkVisible(machine);
  const file = settingsFile(instance);
  const unit = unitName(instance);
  return [
    ...(machine.packaged ? [] : programSteps(machine)),
    { kind: "folder", title: "folder of the settings", path: dirname(file), mode: 0o755 },
    {
      kind: "write",
      title: "first settings",
      path: file,
      // A broker's URL may hold a password: for root and the service alone.
      mode: 0o640,
      group: USER,
      text: firstSettings({
        file,
        unit,
        ...(instance !== undefined && { device: `${machine.hostName}-${instance}` }),
      }),
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
    run("start at boot", "systemctl", "enable", `${unit}.service`),
  ];
}

export interface Installed {
  packaged: boolean;
  /** Returns whether a path exists. */
  exists: (path: string) => boolean;
  /** Names of units of several pairs that start at boot: depthwatt@front.service. */
  instances: readonly string[];
}

/**
 * Plans the removal of what planInstallation() made. Settings, password and recordings stay, unless `purge`; so does
 * the user, who may own other files.
 * @throws DepthwattError SERVICE_FAILED, USAGE
 */
export function planRemoval(
  installed: Installed,
  { instance, purge = false }: { instance?: string; purge?: boolean },
): Step[] {
  if (instance !== undefined) {
    checkInstance(instance);
    const own: Step[] = [
      { kind: "remove", title: "settings", path: settingsFile(instance) },
      { kind: "remove", title: "what it stored", path: `/var/lib/depthwatt/${instance}` },
    ];
    return [
      run("end", "systemctl", "disable", "--now", `${unitName(instance)}.service`),
      ...(purge ? own : []),
    ];
  }
  if (installed.packaged) {
    throw new DepthwattError("SERVICE_FAILED", "the Debian package of depthwatt has brought the service", {
      hint: "Remove it with 'apt-get remove depthwatt', or 'apt-get purge depthwatt' with its settings; 'systemctl disable --now depthwatt' only ends it.",
    });
  }
  const removals: Step[] = [
    { kind: "remove", title: "unit", path: UNIT_FILE },
    { kind: "remove", title: "unit of several pairs", path: TEMPLATE_FILE },
    { kind: "remove", title: "unit of the device rules", path: DEVICES_FILE },
    ...DROP_INS.map((path): Step => ({ kind: "remove", title: "device rules", path })),
    { kind: "remove", title: "power rails", path: UDEV_FILE },
  ];
  const ends = ["depthwatt.service", ...installed.instances]
    .filter((unit) => unit !== "depthwatt.service" || installed.exists(UNIT_FILE))
    .map((unit) => run("end", "systemctl", "disable", "--now", unit));
  // systemd reads its units once, below.
  const helper = installed.exists(POWER_MODE_FILES[0]!) ? planForbidding(false).slice(0, -1) : [];
  const stored: Step[] = [
    { kind: "remove", title: "settings and password", path: CONFIG_FOLDER },
    { kind: "remove", title: "what it stored", path: "/var/lib/depthwatt" },
  ];
  return [
    ...ends,
    ...helper,
    ...removals.filter((step) => step.kind !== "remove" || installed.exists(step.path)),
    run("systemd reads its units", "systemctl", "daemon-reload"),
    ...udevSteps(),
    ...(purge ? stored.filter((step) => step.kind !== "remove" || installed.exists(step.path)) : []),
  ];
}
