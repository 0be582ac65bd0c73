// SPDX-License-Identifier: Apache-2.0
// The first boot: a service from its installation on, faults and how it comes out of them.
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { dirname } from "node:path";
import {
  assert,
  CONFIG,
  configure,
  hearDepth,
  hearState,
  journal,
  MAIN,
  mainPid,
  NODE,
  PASSWORD,
  plugAll,
  rest,
  sh,
  show,
  tried,
  UNIT,
  unplugAll,
  until,
  uptime,
  words,
} from "./tools.mjs";

const SOCKET = "/run/depthwatt-power-mode.socket";

const NVMAP = "/dev/nvmap";
const EXTRA = "/dev/nvgpu/igpu0/ctrl";

/** Makes a GPU node that leads to a misc device of this kernel. The kernel compares numbers, so each needs another one. */
function placeNode(path) {
  const [major, minor] = sh("stat", "-c", "%t %T", path === NVMAP ? "/dev/fuse" : "/dev/cpu_dma_latency")
    .trim()
    .split(" ")
    .map((digits) => String(Number.parseInt(digits, 16)));
  mkdirSync(dirname(path), { recursive: true });
  sh("mknod", "-m", "660", path, "c", major, minor);
  sh("chgrp", "video", path);
}

/** A stand-in for NVIDIA's camera daemon. */
function startArgus() {
  const serve = `require("net").createServer((c) => c.end("argus answers")).listen("/tmp/argus_socket", () => require("fs").chmodSync("/tmp/argus_socket", 0o777))`;
  sh("systemd-run", "--unit=nvargus-daemon", NODE, "-e", serve);
}

/** A broker that accepts only the service and a reader. */
function guardBroker() {
  sh("mosquitto_passwd", "-c", "-b", "/etc/mosquitto/passwords", "depthwatt", "the board's secret");
  sh("mosquitto_passwd", "-b", "/etc/mosquitto/passwords", "reader", "reader");
  sh("chown", "mosquitto", "/etc/mosquitto/passwords");
  writeFileSync(
    "/etc/mosquitto/conf.d/board.conf",
    "listener 1883 localhost\nallow_anonymous false\npassword_file /etc/mosquitto/passwords\n",
  );
  sh("systemctl", "restart", "mosquitto.service");
}

/** The process that runs after `pid`, once it has delivered. */
async function successor(pid, what) {
  await until(() => mainPid() !== 0 && mainPid() !== pid, what, 150);
  await hearDepth();
  return Number(show("NRestarts"));
}

/** Since when, and from which process: what comes between needs no depth. */
let unplugged;

export const cases = {
  "install-service makes a user, settings and a unit that systemd finds exposed at 1.5 or less": async () => {
    const text = sh(NODE, MAIN, "install-service");
    assert.match(text, /systemctl start depthwatt/);
    assert.equal(sh("systemctl", "is-enabled", UNIT).trim(), "enabled");
    assert.match(sh("id", "depthwatt"), /\(depthwatt\)/);
    sh("systemd-analyze", "--man=no", "--recursive-errors=yes", "verify", `/etc/systemd/system/${UNIT}`);
    const security = sh("systemd-analyze", "security", "--no-pager", "--threshold=15", UNIT);
    return { exposure: /Overall exposure level.*: (\S+)/.exec(security)[1] };
  },

  "device rules: a misc device in place of /dev/nvmap is closed to a rule by driver name, and open to its path":
    () => {
      // As NVIDIA's nvmap does, fuse shares the major number of "misc" and has no name in /proc/devices.
      assert.doesNotMatch(readFileSync("/proc/devices", "utf8"), /fuse|nvmap/);
      placeNode(NVMAP);
      const open = (...rules) =>
        tried(
          "systemd-run",
          ...["--quiet", "--pipe", "--wait", "--collect", "-p", "User=depthwatt"],
          ...["-p", "SupplementaryGroups=video", "-p", "DevicePolicy=closed"],
          ...rules.flatMap((rule) => ["-p", `DeviceAllow=${rule} rw`]),
          ...["/bin/sh", "-c", `exec 3<>${NVMAP}`],
        );
      const byName = open("char-nvmap", "char-nvidia*", "char-nvhost*", "char-nvgpu*");
      assert.notEqual(byName.status, 0);
      assert.match(byName.output, /Operation not permitted/);
      assert.equal(open(NVMAP).status, 0);
      return { refusal: byName.output };
    },

  "doctor --service: opens the nodes in the unit's sandbox, and names the rule that is missing, which is then written":
    () => {
      // The unit allows /dev/nvmap; this one is known to the generated rules alone.
      placeNode(EXTRA);
      const { output } = tried(NODE, MAIN, "doctor", "--service", "--json");
      const nodes = JSON.parse(output).findings.find(({ name }) => name === "nodes");
      assert(nodes !== undefined, output);
      assert.deepEqual(
        nodes.facts.refused.map(({ path, code }) => [path, code]),
        [[EXTRA, "EPERM"]],
      );
      assert.match(nodes.details.join("\n"), /DeviceAllow=\/dev\/nvgpu\/igpu0\/ctrl rw is missing/);
      assert.equal(nodes.commands.join(), "sudo systemctl restart depthwatt-devices depthwatt");
      sh("systemctl", "start", "depthwatt-devices.service");
      const rules = readFileSync("/run/systemd/system/depthwatt.service.d/devices.conf", "utf8");
      assert.deepEqual(rules.match(/^DeviceAllow=.*$/gm), [
        `DeviceAllow=${EXTRA} rw`,
        `DeviceAllow=${NVMAP} rw`,
      ]);
      // Nodes go, as after an upgrade: their rules go with them, here with the start of the service below.
      rmSync(EXTRA);
      return { details: nodes.details };
    },

  "starts: READY with the first frame, depth on Mosquitto under a password that systemd hands over":
    async () => {
      guardBroker();
      startArgus();
      await until(() => existsSync("/tmp/argus_socket"), "the socket of the daemon");
      writeFileSync(PASSWORD, "the board's secret\n");
      configure();
      const began = uptime();
      sh("systemctl", "start", UNIT);
      const startSeconds = uptime() - began;
      const { ActiveState, SubState } = show("ActiveState", "SubState");
      assert.deepEqual([ActiveState, SubState], ["active", "running"]);
      const { leftSequence } = await hearDepth();
      await hearState("online");
      const status = await until(
        () => /^\d+\.\d fps .*/.exec(show("StatusText"))?.[0],
        "a status of figures",
      );
      return { startSeconds, status, leftSequence };
    },

  "the password is root's and the service's: no other user reads it, and the broker wants it": () => {
    const credential = "/run/credentials/depthwatt.service/mqtt-password";
    assert.equal(tried("runuser", "-u", "nobody", "--", "cat", credential).status, 1);
    assert.equal(tried("runuser", "-u", "nobody", "--", "cat", PASSWORD).status, 1);
    const environment = readFileSync(`/proc/${mainPid()}/environ`, "utf8");
    assert(!environment.includes("secret"), "the password is in the environment");
    assert(!words(journal()).includes("board's secret"), "the password is in the journal");
    const { status } = tried("mosquitto_sub", "-t", "#", "-C", "1", "-W", "20");
    assert.notEqual(status, 0, "the broker asks for no password");
  },

  "the service sees no home, writes only where it may, and gains nothing": () => {
    const status = readFileSync(`/proc/${mainPid()}/status`, "utf8");
    assert.match(status, /^CapBnd:\s+0+$/m);
    assert.match(status, /^NoNewPrivs:\s+1$/m);
    assert.match(status, /^Seccomp:\s+2$/m);
    const inside = (...command) => tried("nsenter", "-t", String(mainPid()), "-m", "--", ...command);
    assert.match(inside("touch", "/usr/x").output, /Read-only file system/);
    assert.match(inside("touch", "/etc/x").output, /Read-only file system/);
    assert.equal(inside("touch", "/var/lib/depthwatt/x").status, 0);
    assert.notEqual(inside("ls", "/root/.").output, tried("ls", "-a", "/root").output);
  },

  "the rules of GPU nodes were renewed with the start; a node that appears later is opened by the running service":
    async () => {
      const rules = "/run/systemd/system/depthwatt.service.d/devices.conf";
      assert.doesNotMatch(readFileSync(rules, "utf8"), /igpu0/);
      placeNode(EXTRA);
      const inGroup = () =>
        tried(
          "/bin/sh",
          "-c",
          `echo $$ > /sys/fs/cgroup/system.slice/${UNIT}/cgroup.procs && exec 3<>${EXTRA}`,
        );
      assert.match(inGroup().output, /Operation not permitted/);
      sh("systemctl", "start", "depthwatt-devices.service");
      await until(() => inGroup().status === 0, "the rule of the new node");
      rmSync(EXTRA);
      rmSync(NVMAP);
      sh("systemctl", "start", "depthwatt-devices.service");
      assert(!existsSync(rules), "rules without a node");
    },

  "the socket of NVIDIA's camera daemon is in the service's own /tmp, and nothing else of the system's":
    () => {
      writeFileSync("/tmp/foreign", "");
      const pid = String(mainPid());
      const inside = (...command) => tried("nsenter", "-t", pid, "-m", "--", ...command);
      assert.equal(inside("ls", "/tmp").output.trim(), "argus_socket");
      const talk = `require("net").connect("/tmp/argus_socket").on("data", (bytes) => console.log(String(bytes)))`;
      assert.match(inside(NODE, "-e", talk).output, /argus answers/);
      sh("systemctl", "stop", "nvargus-daemon.service");
    },

  "kill -9: it returns, and depth with it": async () => {
    const pid = mainPid();
    process.kill(pid, "SIGKILL");
    const restarts = await successor(pid, "a new process");
    assert.equal(restarts, 1);
  },

  "a frozen process is caught by the watchdog and replaced": async () => {
    const pid = mainPid();
    const began = uptime();
    process.kill(pid, "SIGSTOP");
    await until(() => words(journal(began)).includes("Watchdog timeout"), "the watchdog", 60);
    const caughtSeconds = uptime() - began;
    await successor(pid, "a new process");
    return { caughtSeconds };
  },

  "the broker goes down and comes back: the same process publishes again": async () => {
    const pid = mainPid();
    const began = uptime();
    sh("systemctl", "stop", "mosquitto.service");
    await until(() => /broker|mqtt/i.test(words(journal(began))), "a word about the broker");
    sh("systemctl", "start", "mosquitto.service");
    await hearDepth();
    await hearState("online");
    assert.equal(mainPid(), pid);
  },

  "both cameras unplugged: degraded, with the missing devices": async () => {
    unplugged = { pid: mainPid(), at: uptime() };
    unplugAll();
    const { reason } = await hearState("degraded");
    assert.match(reason, /unplugged|ENODEV/);
    return { reason };
  },

  "a power mode: refused without the helper, set through it, and only for the service": async () => {
    mkdirSync("/var/lib/nvpmodel", { recursive: true });
    writeFileSync(
      "/etc/nvpmodel.conf",
      "< POWER_MODEL ID=0 NAME=MAXN >\n< POWER_MODEL ID=1 NAME=15W >\n< POWER_MODEL ID=2 NAME=30W >\n",
    );
    writeFileSync("/var/lib/nvpmodel/status", "pmode:0002");
    // Answers as the real one does: for root alone, by number, and the mode is kept for the next boot.
    writeFileSync(
      "/usr/sbin/nvpmodel",
      `#!/bin/sh
[ "$(id -u)" = 0 ] || { echo "NVPM ERROR: need root" >&2; exit 1; }
echo "$*" >> /var/lib/nvpmodel/calls
if [ "$1" = -m ]; then printf 'pmode:000%s' "$2" > /var/lib/nvpmodel/status; exit 0; fi
id=$(cut -c10 /var/lib/nvpmodel/status)
set -- MAXN 15W 30W; shift "$id"; printf 'NV Power Mode: %s\\n%s\\n' "$1" "$id"
`,
    );
    chmodSync("/usr/sbin/nvpmodel", 0o755);
    const status = () => readFileSync("/var/lib/nvpmodel/status", "utf8");
    const calls = () => readFileSync("/var/lib/nvpmodel/calls", "utf8").split("\n");
    /** As root, whom the kernel names. */
    const asked = (request) =>
      new Promise((resolve, reject) => {
        let answer = "";
        const socket = connect(SOCKET, () => socket.write(request));
        socket.on("data", (chunk) => {
          answer += chunk;
        });
        socket.on("error", reject);
        socket.on("close", () => resolve(answer));
      });
    assert(!existsSync(SOCKET), "the helper is on without having been asked for");
    sh(NODE, MAIN, "power-modes", "--allow");
    assert.equal(sh("stat", "-c", "%a %U %G", SOCKET).trim(), "660 root depthwatt");
    assert.deepEqual([await asked("set 1\n"), status()], ["ok 15W\n", "pmode:0001"]);
    const many = calls().length;
    assert.equal(await asked("set 7\n"), "refused this board has no mode 7\n");
    const answers = sh("journalctl", "-t", "depthwatt-power-mode", "--no-pager", "-o", "cat");
    assert.match(answers, /^ok 15W$[\s\S]*^refused this board has no mode 7$/m);
    // Past the mode of the file it is the kernel's word that counts.
    sh("chmod", "666", SOCKET);
    const client = "/opt/depthwatt/dist/edge/service/power-mode/client.js";
    assert.match(
      tried("runuser", "-u", "nobody", "--", NODE, client, "-m", "0").output,
      /user 65534 may not ask/,
    );
    sh("chmod", "660", SOCKET);
    assert.deepEqual([status(), calls().length], ["pmode:0001", many]);
  },

  "plugged in after longer than the watchdog's time: the same process, online again": async () => {
    const { pid, at } = unplugged;
    await rest(1000 * Math.max(0, 28 - (uptime() - at)));
    assert.equal(mainPid(), pid, "it was restarted");
    assert.equal((await hearState("degraded")).state, "degraded");
    const returned = uptime();
    plugAll();
    await hearState("online");
    const backSeconds = uptime() - returned;
    await hearDepth();
    assert.equal(mainPid(), pid);
    assert(!words(journal(at)).includes("Watchdog"));
    return { unpluggedSeconds: returned - at, backSeconds };
  },

  "the journal has fields of depthwatt's own: states, error codes, what was changed": async () => {
    const entries = journal();
    const states = entries.filter((entry) => entry.DEPTHWATT_EVENT === "state");
    assert(
      states.some((entry) => entry.DEPTHWATT_STATE === "degraded" && /video/.test(entry.DEPTHWATT_REASON)),
    );
    assert.equal(states.at(-1).DEPTHWATT_STATE, "online");
    for (const { SYSLOG_IDENTIFIER, _SYSTEMD_UNIT, PRIORITY } of states)
      assert.deepEqual([SYSLOG_IDENTIFIER, _SYSTEMD_UNIT, PRIORITY], ["depthwatt", UNIT, "6"]);
    const notices = entries.filter((entry) => entry.DEPTHWATT_EVENT === "notice");
    assert(notices.length > 0 && notices.every((entry) => entry.PRIORITY === "4"));
    const found = journal(0, "DEPTHWATT_STATE=degraded");
    assert(found.length > 0 && found.length < entries.length);
    // This machine has no sensor, so there is one entry of the energy log, and it gives the reason.
    const [energy, ...more] = await until(() => {
      const logged = journal(0, "DEPTHWATT_EVENT=energy");
      return logged.length > 0 && logged;
    }, "an entry of the energy log");
    assert.match(energy.MESSAGE, /^\d+\.\d fps, watts unavailable$/);
    assert.match(energy.DEPTHWATT_WATTS, /^unavailable: no power sensor/);
    assert(Number(energy.DEPTHWATT_FPS) > 0);
    // Each start of the service may add one.
    assert(more.length < 20);
    assert.match(
      sh(NODE, MAIN, "energy", "--since", "1 hour"),
      /entries, \d+ frames in \d+ s, joules unavailable/,
    );
    return { entries: entries.length, states: states.map((entry) => entry.DEPTHWATT_STATE) };
  },

  "reload: a good file is applied by the running process, a bad one and one that needs a restart are not":
    async () => {
      const pid = mainPid();
      const reload = async (expected) => {
        const began = uptime();
        sh("systemctl", "reload", UNIT);
        return until(
          () => journal(began).find((entry) => entry.DEPTHWATT_EVENT === "reload" && expected(entry)),
          "the answer to the reload",
        );
      };
      configure("log: {level: info}", { match: "numDisparities: 16, sgm: {paths: 2, uniqueness: 7}" });
      const good = await reload(() => true);
      assert.match(good.DEPTHWATT_CHANGED, /match\.sgm\.uniqueness/);
      writeFileSync(CONFIG, `${readFileSync(CONFIG, "utf8")}\nlog: {level: loud}\n`);
      const bad = await reload(() => true);
      assert.match(bad.DEPTHWATT_ERROR_CODE, /^CONFIG_/);
      assert.match(bad.MESSAGE, /config\.yaml.*the running settings stay/s);
      configure("base: elsewhere");
      const needsRestart = await reload(() => true);
      assert.equal(needsRestart.DEPTHWATT_ERROR_CODE, "SETTING_NEEDS_RESTART");
      assert.equal(mainPid(), pid);
      await hearDepth();
      configure();
    },

  "the hardened service itself changes the mode by way of the helper, and puts it back at its end": () => {
    const calls = () => readFileSync("/var/lib/nvpmodel/calls", "utf8").split("\n");
    const before = calls().length;
    sh("systemctl", "stop", UNIT);
    mkdirSync(`/run/systemd/system/${UNIT}.d`, { recursive: true });
    const dropIn = `/run/systemd/system/${UNIT}.d/mode.conf`;
    writeFileSync(
      dropIn,
      `[Service]\nType=oneshot\nRestart=no\nWatchdogSec=0\nExecStart=\nExecStart=${NODE} /opt/cases/change-mode.mjs\n`,
    );
    sh("systemctl", "daemon-reload");
    try {
      sh("systemctl", "start", UNIT);
    } finally {
      rmSync(dropIn);
      sh("systemctl", "daemon-reload");
    }
    const changes = calls()
      .slice(before - 1)
      .filter((call) => call.startsWith("-m"));
    assert.deepEqual(changes, ["-m 2", "-m 1"]);
    assert.equal(readFileSync("/var/lib/nvpmodel/status", "utf8"), "pmode:0001");
    sh("systemctl", "disable", "--now", "depthwatt-power-mode.socket");
  },

  "a clock that the hardened service lowers by way of the helper is restored after a crash": async () => {
    // The kernel has no Jetson's clock: a file system of plain files stands for it.
    sh("mount", "-t", "tmpfs", "tmpfs", "/sys/class/devfreq");
    const folder = "/sys/class/devfreq/17000000.gpu";
    mkdirSync(folder);
    writeFileSync(`${folder}/available_frequencies`, "306000000 408000000 918000000\n");
    writeFileSync(`${folder}/max_freq`, "918000000\n");
    sh(NODE, MAIN, "power-modes", "--allow");
    const dropIn = `/run/systemd/system/${UNIT}.d/clocks.conf`;
    mkdirSync(dirname(dropIn), { recursive: true });
    writeFileSync(
      dropIn,
      `[Service]\nType=oneshot\nRestart=no\nWatchdogSec=0\nExecStart=\nExecStart=${NODE} /opt/cases/lower-clock.mjs\n`,
    );
    sh("systemctl", "daemon-reload");
    try {
      assert.notEqual(tried("systemctl", "start", UNIT).status, 0);
    } finally {
      rmSync(dropIn);
      sh("systemctl", "daemon-reload");
    }
    const answers = sh("journalctl", "-t", "depthwatt-power-mode", "--no-pager", "-o", "cat");
    assert.match(answers, /^ok 408000000 -$[\s\S]*^ok - -$/m);
    assert.equal(readFileSync(`${folder}/max_freq`, "utf8").trim(), "918000000");
    assert(!existsSync("/run/depthwatt-clocks/limits.json"));
    sh("systemctl", "disable", "--now", "depthwatt-power-mode.socket");
    sh("umount", "/sys/class/devfreq");
  },

  "a wrong configuration ends in one start and one sentence, no loop": async () => {
    configure("match: {numDisparities: 5000}", { match: "" });
    writeFileSync(CONFIG, readFileSync(CONFIG, "utf8").replace("match: {}\n", ""));
    const began = uptime();
    assert.notEqual(tried("systemctl", "start", UNIT).status, 0);
    await rest(5000);
    const { ActiveState, NRestarts, ExecMainStatus } = show("ActiveState", "NRestarts", "ExecMainStatus");
    assert.deepEqual([ActiveState, NRestarts, ExecMainStatus], ["failed", "0", "2"]);
    const errors = journal(began).filter((entry) => entry.DEPTHWATT_ERROR_CODE !== undefined);
    assert.equal(errors.length, 1);
    assert.equal(errors[0].PRIORITY, "3");
    assert.equal(errors[0].DEPTHWATT_ERROR_CODE, "CONFIG_INVALID");
    assert.match(errors[0].MESSAGE, /numDisparities.*5000[\s\S]*hint: /);
    configure();
    return { message: errors[0].MESSAGE };
  },
};
