// SPDX-License-Identifier: Apache-2.0
// Tests `doctor --fix` for settings, secrets and rails: runs the printed commands, and the finding disappears.
import { execFileSync, spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, expect, test } from "vitest";
import { DepthwattError, isDepthwattError } from "../../../../../core/index.js";
import {
  railCommands,
  secretCommands,
  settingsCommands,
} from "../../../../../edge/commands/doctor/fix-commands.js";
import { lookAtControl } from "../../../../../edge/commands/doctor/look-at-control.js";
import { lookAtBroker, lookAtPower } from "../../../../../edge/commands/doctor/look-at-devices.js";
import { lookAtSettings } from "../../../../../edge/commands/doctor/look-at-program.js";
import { loadConfig } from "../../../../../edge/config/index.js";
import { openRapl } from "../../../../../power/rapl.js";

const folder = mkdtempSync(join(tmpdir(), "depthwatt doctor's "));
afterAll(() => rmSync(folder, { recursive: true }));
const config = (...set: string[]) => loadConfig({ environment: {}, set }).config;
const main = resolve(import.meta.dirname, "../../../../../dist/edge/cli/main.js");

/** Runs the printed commands, with `editor` as the editor and depthwatt as it is built here. */
function follow(commands: readonly string[], editor = "true"): void {
  const bin = join(folder, "bin");
  mkdirSync(bin, { recursive: true });
  writeFileSync(join(bin, "depthwatt"), `#!/bin/sh\nexec "${process.execPath}" "${main}" "$@"\n`);
  chmodSync(join(bin, "depthwatt"), 0o755);
  execFileSync("sh", ["-e"], {
    input: commands.join("\n"),
    env: { ...process.env, PATH: `${bin}:${process.env.PATH}`, EDITOR: editor },
    stdio: ["pipe", "ignore", "pipe"],
  });
}

test("a wrong setting of a file: the editor at that file, and the check of it", () => {
  const file = join(folder, "it's.yaml");
  writeFileSync(file, "match: {numDisparities: 5000}\n");
  const { finding } = lookAtSettings({ config: file });
  expect(finding).toMatchObject({ state: "bad" });
  expect(finding.commands).toHaveLength(2);
  // A person's hand.
  const editor = join(folder, "editor");
  writeFileSync(editor, '#!/bin/sh\nsed -i s/5000/64/ "$1"\n', { mode: 0o755 });
  chmodSync(editor, 0o755);
  follow(finding.commands!, editor);
  expect(lookAtSettings({ config: file }).finding.state).toBe("ok");
});

test("a file that is no YAML: the editor at its line", () => {
  const file = join(folder, "broken.yaml");
  writeFileSync(file, "match:\n  numDisparities: [\n");
  const { finding } = lookAtSettings({ config: file });
  expect(finding.commands?.[0]).toMatch(/"\$\{EDITOR:-editor\}" \+\d+ '.*broken\.yaml'$/);
});

test("a variable is unset, once; a flag and a file that is not there have no command", () => {
  const wrong = (request: Parameters<typeof loadConfig>[0]) => {
    try {
      loadConfig(request);
    } catch (error) {
      if (isDepthwattError(error)) return settingsCommands(error);
    }
    throw new Error("expected a DepthwattError");
  };
  const environment = { DEPTHWATT_MATCH_SGM_P1: "0", DEPTHWATT_MATCH_SGM_P2: "x" };
  expect(wrong({ environment, set: ["match.sgm.paths=3"] })).toEqual([
    "unset DEPTHWATT_MATCH_SGM_P1",
    "unset DEPTHWATT_MATCH_SGM_P2",
  ]);
  expect(wrong({ environment: {}, set: ["match.sgm.p1=0"] })).toEqual([]);
  expect(wrong({ environment: {}, file: join(folder, "none.yaml") })).toEqual([]);
});

test("a secret for control: made where it is missing, drawn anew where it is short, closed where it is open", async () => {
  const file = join(folder, "control-secret");
  const settings = config(
    "control.enabled=true",
    "control.authentication=secret",
    `control.secretFile=${file}`,
  );
  settings.outputs.mqtt.broker = "none";
  const look = async () => (await lookAtControl(settings))!;
  const mended = async () => {
    const finding = await look();
    expect(finding.state).toBe("bad");
    follow(finding.commands!);
    expect((await look()).state).toBe("ok");
    expect(statSync(file).mode & 0o777).toBe(0o600);
    return readFileSync(file, "utf8");
  };
  const first = await mended();
  expect(first).toMatch(/^[0-9a-f]{64}\n$/);
  chmodSync(file, 0o644);
  expect(await mended()).toBe(first);
  writeFileSync(file, "short\n");
  expect(await mended()).not.toBe(first);
});

test("a broker's password that others may read is closed, one that is missing is made and left to the editor", async () => {
  const file = join(folder, "password");
  const settings = config(
    "outputs.mqtt.broker=mqtt://127.0.0.1:1",
    "outputs.mqtt.username=board",
    `outputs.mqtt.passwordFile=${file}`,
  );
  const missing = await lookAtBroker(settings);
  expect(missing.commands?.join("\n")).toMatch(/^(sudo )?install -m 0600 \/dev\/null '.*\n.*EDITOR/);
  writeFileSync(file, "secret\n");
  chmodSync(file, 0o604);
  const { commands } = await lookAtBroker(settings);
  expect(commands).toHaveLength(1);
  follow(commands!);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect((await lookAtBroker(settings)).facts).toMatchObject({ code: "BROKER_UNREACHABLE" });
});

test("a key or a certificate cannot be made up, and another user's secret is not overwritten", () => {
  const missing = (key: string) =>
    new DepthwattError("CONFIG_UNREADABLE", "x", { context: { key, file: join(folder, "gone") } });
  expect(secretCommands(missing("outputs.mqtt.keyFile"))).toBeUndefined();
  expect(secretCommands(missing("outputs.mqtt.caFile"))).toBeUndefined();
  const file = join(folder, "theirs");
  writeFileSync(file, "secret\n", { mode: 0o600 });
  const context = { key: "control.secretFile", file };
  expect(secretCommands(new DepthwattError("CONFIG_UNREADABLE", "x", { context }))).toBeUndefined();
});

test("rails that the kernel gives to root alone are reported to be refused, and opened to a group", () => {
  const zone = "/sys/class/powercap/intel-rapl:0";
  const root = join(folder, "root");
  mkdirSync(join(root, zone), { recursive: true });
  for (const [name, text] of Object.entries({ name: "package-0", energy_uj: "1", max_energy_range_uj: "9" }))
    writeFileSync(join(root, zone, name), `${text}\n`);
  const read = (path: string) =>
    path.endsWith("energy_uj")
      ? { ok: false as const, code: "EACCES", reason: "no" }
      : { ok: true as const, text: readFileSync(path, "utf8").trim() };
  expect(openRapl({ root, read })).toEqual({ available: false, reason: "no", refused: true });
  const commands = railCommands(root, "/opt/depthwatt");
  expect(commands).toEqual([
    "sudo groupadd --system --force depthwatt",
    "sudo cp /opt/depthwatt/dist/power/udev/60-depthwatt-power.rules /etc/udev/rules.d/",
    "sudo udevadm control --reload",
    "sudo udevadm trigger",
    'sudo usermod -aG depthwatt "$USER"',
  ]);
  mkdirSync(join(root, "lib/udev/rules.d"), { recursive: true });
  writeFileSync(join(root, "lib/udev/rules.d/60-depthwatt-power.rules"), "");
  expect(railCommands(root).join()).not.toContain("cp ");
  expect(spawnSync("sh", ["-n"], { input: commands.join("\n") }).status).toBe(0);
  // Where nothing measures and nothing refuses there is nothing to run.
  const { state, commands: none, facts } = lookAtPower(undefined);
  const sensors = facts!.sensors as { available: boolean; reason?: string }[];
  if (state === "absent" && sensors.every(({ reason }) => !reason?.includes("may not be read")))
    expect(none).toBeUndefined();
});
