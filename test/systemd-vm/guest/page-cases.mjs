// SPDX-License-Identifier: Apache-2.0
// Follows docs/start/service.md like a user who installs from Debian packages: runs every command of these sections as
// it is there. Differences: the machine is amd64, `sudo` is root already, the editor is a script, and commands that run
// until Ctrl-C run for some seconds.
import { chmodSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { assert, mainPid, sh, show, tried, UNIT, until } from "./tools.mjs";

const page = readFileSync("/opt/service.md", "utf8");

/** Returns the commands below a heading, without their comments. */
function listCommands(heading) {
  const [, section] = page.split(new RegExp(`^## ${heading}$`, "m"));
  assert(section !== undefined, `the page has no section ${heading}`);
  return section
    .split(/^## /m)[0]
    .split("\n")
    .filter((line) => line.startsWith("    "))
    .map((line) => line.trim().replace(/ {2,}#.*$/, ""));
}

/** One line as a shell reads it, in the folder with the packages. */
function follow(line) {
  const command = line
    .replaceAll("_arm64.deb", "_amd64.deb")
    .replace(/^journalctl (.*) -f$/, "timeout 5 journalctl $1 -f || [ $? = 124 ]");
  const { status, output } = tried(
    "sh",
    "-c",
    `cd /opt && export EDITOR=editor DEBIAN_FRONTEND=noninteractive && ${command}`,
  );
  assert.equal(status, 0, `${line} ended with ${status}:\n${output}`);
  return output;
}

function program(path, text) {
  writeFileSync(path, `#!/bin/sh\n${text}\n`);
  chmodSync(path, 0o755);
}

const SETTINGS = `source:
  kind: v4l2
  v4l2: {left: /dev/video0, right: /dev/video1, width: 320, height: 180, rateHz: 5}
calibration: {file: /etc/depthwatt/calibration.json}
match: {numDisparities: 16, sgm: {paths: 2}}
refine: {fill: off, boundary: false, speckleSize: 0}
outputs: {mqtt: {broker: "mqtt://localhost:1883"}}
`;
const state = (unit) => tried("systemctl", "is-active", unit).output.trim();

export const cases = {
  "From Debian packages: both are installed, and nothing is started": () => {
    program("/usr/local/bin/sudo", 'exec "$@"');
    const lines = listCommands("From Debian packages");
    assert.equal(lines.length, 2);
    for (const line of lines) follow(line);
    assert.equal(state(UNIT), "inactive");
    assert.match(sh("depthwatt", "--version"), /^\d+\.\d+\.\d+/);
    return { lines };
  },

  "Start it: broker, settings, service, and every look at it": async () => {
    // A person's hands: cameras of this board, and their calibration.
    program(
      "/usr/local/bin/editor",
      `case $1 in */config.yaml) cp /opt/settings.yaml "$1"; cp /opt/scene/calibration.json /etc/depthwatt/ ;; esac`,
    );
    const lines = listCommands("Start it");
    assert.equal(lines.length, 8);
    const said = Object.fromEntries(lines.map((line) => [line, follow(line)]));
    assert.equal(state(UNIT), "active");
    assert.match(said["systemctl status depthwatt"], /Active: active \(running\)/);
    const status = await until(() => /^\d+\.\d fps .*/.exec(show("StatusText"))?.[0], "a status of figures");
    assert.match(said["depthwatt consume mqtt://localhost --frames 30"], /30 frames/);
    assert.equal(tried("systemctl", "is-enabled", UNIT).output.trim(), "enabled");
    return { lines, status };
  },

  "doctor --fix prints the commands, and runs none": () => {
    const { status, output } = tried(
      "depthwatt",
      "doctor",
      "--fix",
      "--config",
      "/etc/depthwatt/config.yaml",
    );
    assert.equal(status, 0, output);
    return { output };
  },

  "Several pairs of cameras: a second service next to the first": () => {
    const lines = listCommands("Several pairs of cameras");
    assert.equal(lines.length, 3);
    for (const line of lines) follow(line);
    assert.deepEqual([state(UNIT), state("depthwatt@front")], ["active", "active"]);
    return { lines };
  },

  "an upgrade restarts both services; one whose settings do not fit stays as it is, and the message says the way back":
    async () => {
      const before = mainPid();
      const keep = "-o Dpkg::Options::=--force-confold";
      const upgrade = `cd /opt && DEBIAN_FRONTEND=noninteractive apt-get install -y ${keep} ./newer.deb`;
      sh("dpkg", "--remove", "depthwatt-cuda-jetpack6");
      sh("sh", "-c", upgrade);
      await until(() => mainPid() !== 0 && mainPid() !== before, "the restart");
      await until(() => state(UNIT) === "active" && state("depthwatt@front") === "active", "both services");
      const between = mainPid();
      writeFileSync("/etc/depthwatt/config.yaml", `${SETTINGS}oldStyle: 1\n`);
      const { status, output } = tried("sh", "-c", `${upgrade} --reinstall`);
      assert.equal(status, 0, output);
      assert.match(output, /oldStyle/);
      assert.match(output, /left running as it was started/);
      assert.equal(mainPid(), between);
      return { output: output.slice(-600) };
    },

  "Upgrade and removal: removed, then purged; no unit, no file, no helper is left": () => {
    sh("depthwatt", "power-modes", "--allow");
    assert.equal(state("depthwatt-power-mode.socket"), "active");
    const [remove, purge] = listCommands("Upgrade and removal");
    const yes = (line) => line.replace("apt-get ", "apt-get --yes ");
    follow(yes(remove));
    for (const unit of [UNIT, "depthwatt@front.service", "depthwatt-power-mode.socket"])
      assert.notEqual(state(unit), "active", unit);
    assert(existsSync("/etc/depthwatt/config.yaml"));
    follow(yes(purge));
    // Files that a person has made are kept: the second pair's settings, the calibration.
    sh("rm", "-r", "/etc/depthwatt");
    const left = sh("find", "/etc", "/usr", "/lib", "/var/lib", "-xdev", "-name", "*depthwatt*");
    assert.equal(left.replace(/^.*\/var\/lib\/(systemd|dpkg).*\n/gm, ""), "");
    assert.equal(show("LoadState"), "not-found");
  },
};
