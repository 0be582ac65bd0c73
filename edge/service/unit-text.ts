// SPDX-License-Identifier: Apache-2.0
// The unit's text for one machine: the paths of Node and program, and the template of several pairs of cameras.

export const CONFIG_FOLDER = "/etc/depthwatt";
export const CONFIG_FILE = `${CONFIG_FOLDER}/config.yaml`;
export const PASSWORD_FILE = `${CONFIG_FOLDER}/mqtt-password`;

export interface UnitPaths {
  /** Text of depthwatt.service. */
  unit: string;
  /** Absolute path of the Node that will run the service. */
  node: string;
  /** Absolute path of edge/cli/main.js as installed. */
  mainScript: string;
}

/** A path as a word of ExecStart: systemd splits it at blanks, and reads % and $ in its own way. */
function execWord(path: string): string {
  if (/^[\w./@+-]+$/.test(path)) return path;
  return `"${path.replace(/["\\]/g, "\\$&").replaceAll("%", "%%").replaceAll("$", "$$$$")}"`;
}

/** A path as a word of sh within double quotes of systemd. */
function shellWord(path: string): string {
  if (/^[\w./@+-]+$/.test(path)) return path;
  const quoted = `'${path.replaceAll("'", "'\\''")}'`;
  return quoted.replace(/["\\]/g, "\\$&").replaceAll("%", "%%").replaceAll("$", "$$$$");
}

/** The shipped unit with this machine's paths. */
export function unitFor({ unit, node, mainScript }: UnitPaths): string {
  const line = `ExecStart=${execWord(node)} ${execWord(mainScript)} run --config ${CONFIG_FILE}`;
  const client = mainScript.replace(/cli\/main\.js$/, "service/power-mode/client.js");
  return unit
    .replace(/^ExecStart=.*$/m, () => line)
    .replace(/exec \/usr\/bin\/node \S+client\.js/, () => `exec ${shellWord(node)} ${shellWord(client)}`);
}

/** depthwatt-devices.service with this machine's paths. @param script edge/service/devices/renew.js as installed */
export function devicesUnitFor(unit: string, node: string, script: string): string {
  return unit.replace(/^ExecStart=.*$/m, () => `ExecStart=${execWord(node)} ${execWord(script)}`);
}

/** depthwatt@.service: the same unit for its own pair, with settings and folders by the name after the @. */
export function templateFor(paths: UnitPaths): string {
  return unitFor(paths)
    .replace(/^(Description=.*)$/m, "$1 (%i)")
    .replaceAll(CONFIG_FILE, `${CONFIG_FOLDER}/%i.yaml`)
    .replace(/^(StateDirectory|RuntimeDirectory)=depthwatt$/gm, "$1=depthwatt/%i")
    .replace(/^WorkingDirectory=.*$/m, "WorkingDirectory=/var/lib/depthwatt/%i");
}

/**
 * Returns the content of a new settings file. `device`: undefined for the board's one service, which is called like the
 * host.
 */
export function firstSettings({
  file,
  unit,
  device,
}: {
  file: string;
  unit: string;
  device?: string;
}): string {
  const name =
    device === undefined ? "" : `device: ${device}     # another name for every service of this board\n`;
  return `# Settings of ${unit}; 'depthwatt config --print' lists all of them.
# 'depthwatt config --config ${file}' checks this file. After a change: systemctl reload ${unit}
${name}source:
  kind: synthetic          # v4l2 for cameras, with v4l2: { left: /dev/video0, right: /dev/video2 }
outputs:
  mqtt:
    # A broker on this board: sudo apt-get install mosquitto. Without one the service computes and tries again.
    broker: mqtt://localhost:1883
    # username: depthwatt
    # passwordFile: /run/credentials/${unit}.service/mqtt-password    (put the password into ${PASSWORD_FILE})
`;
}
