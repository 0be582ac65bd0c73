// SPDX-License-Identifier: Apache-2.0
// The guest's program: one group of cases a boot, then the next boot, until none is left.
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { configure, NODE, report, runCases, sh } from "./tools.mjs";

/** In the order of the boots; each says what the machine must be like before its boot. */
const BOOTS = [
  { name: "running", prepare: () => {} },
  {
    name: "booting",
    prepare: () => {
      configure();
      writeFileSync("/var/lib/cases/measure", "");
      writeFileSync("/var/lib/cases/read-only", "");
    },
  },
  {
    name: "waiting",
    prepare: () => {
      sh("mount", "-o", "remount,rw", "/");
      for (const name of ["measure", "read-only"]) rmSync(`/var/lib/cases/${name}`);
      writeFileSync("/var/lib/cases/no-cameras", "");
      const listen = "require('net').createServer().listen(8990, '127.0.0.1')";
      writeFileSync(
        "/etc/systemd/system/other.service",
        `[Service]\nExecStart=${NODE} -e "${listen}"\n[Install]\nWantedBy=multi-user.target\n`,
      );
      sh("systemctl", "enable", "other.service");
      configure("http: {port: 8990}", { outputs: "  viewer: {enabled: true}" });
    },
  },
];

/** The parameter of the kernel with that name. */
const parameter = (name) =>
  new RegExp(`cases\\.${name}=(\\S+)`).exec(readFileSync("/proc/cmdline", "utf8"))?.[1];

const FILE = "/var/lib/cases/boot";
const boot = existsSync(FILE) ? Number(readFileSync(FILE, "utf8")) : 0;
const only = parameter("only");
/** Another group of cases, in one boot automatically. */
const alone = parameter("alone");
const name = alone ?? BOOTS[boot].name;
report({ boot: name, uptimeSeconds: Number(readFileSync("/proc/uptime", "utf8").split(" ")[0]) });
const { cases } = await import(`./${name}-cases.mjs`);
const chosen = Object.entries(cases).filter(([name]) => only === undefined || new RegExp(only).test(name));
await runCases(Object.fromEntries(chosen));
const next = alone === undefined ? BOOTS[boot + 1] : undefined;
if (next === undefined) {
  report({ exitCode: 0 });
  sh("systemctl", "poweroff", "--force", "--force");
} else {
  await next.prepare();
  writeFileSync(FILE, String(boot + 1));
  sh("sync");
  sh("systemctl", "reboot", "--force", "--force");
}
