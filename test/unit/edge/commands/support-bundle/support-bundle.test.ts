// SPDX-License-Identifier: Apache-2.0
// Tests the archive of a report: secrets are planted wherever they could be, and none may be in it; images only if given.
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { strFromU8, unzipSync } from "fflate";
import { afterAll, describe, expect, test } from "vitest";
import { secretFiles } from "../../../../../edge/commands/support-bundle/collect.js";
import { imagesIn } from "../../../../../edge/commands/support-bundle/command.js";
import { createRedactor } from "../../../../../edge/commands/support-bundle/redact.js";
import { loadConfig, SETTINGS } from "../../../../../edge/config/index.js";
import { runProgram } from "../../../../doubles/program.js";

const folder = mkdtempSync(join(tmpdir(), "depthwatt-support-"));
afterAll(() => rmSync(folder, { recursive: true }));

const SECRETS = {
  broker: "Kb7 mqtt/Secret+Xq",
  page: "Pw4pageSecretZr",
  control: "Ct9controlSecretWithLength",
  url: "Ur2urlSecretVy",
  camera: "Cm6cameraSecretWs",
  command: "Cd8commandSecretTn",
};
const secretFile = (name: keyof typeof SECRETS) => {
  const path = join(folder, name);
  writeFileSync(path, `${SECRETS[name]}\n`, { mode: 0o600 });
  return path;
};

describe("the redactor", () => {
  const { redact, unreadable } = createRedactor([secretFile("broker"), join(folder, "missing")]);

  test("removes a secret in each form, and reports a file that it cannot read", () => {
    const { broker } = SECRETS;
    const forms = [broker, encodeURIComponent(broker), Buffer.from(broker).toString("base64")];
    expect(redact(forms.join(" | "))).not.toMatch(/Kb7|S2I3/);
    expect(unreadable).toEqual([join(folder, "missing")]);
  });

  test.each([
    ["rtsp://anna:pw123@cam/1", "rtsp://anna:(hidden)@cam/1"],
    ["--password pw123 --size 3", "--password (hidden) --size 3"],
    ['{"token": "abc", "n": 1}', '{"token": "(hidden)", "n": 1}'],
    ["passwordFile=/etc/pw", "passwordFile=/etc/pw"],
    ["the password is wrong", "the password is wrong"],
    ["-----BEGIN PRIVATE KEY-----\nabc\n-----END PRIVATE KEY-----", "(hidden)"],
  ])("%j", (text, expected) => {
    expect(redact(text)).toBe(expected);
  });
});

test("every setting that names a file of a secret is known as one", () => {
  const files = SETTINGS.filter(({ key }) => /(password|secret|key)File$/i.test(key)).map(({ key }) => key);
  expect(files).toEqual(
    expect.arrayContaining(["outputs.mqtt.passwordFile", "control.secretFile", "http.keyFile"]),
  );
  const { config } = loadConfig({
    environment: {},
    set: ["outputs.mqtt.username=anna", `outputs.mqtt.passwordFile=${join(folder, "broker")}`],
  });
  expect(secretFiles(config)).toContain(join(folder, "broker"));
});

/** Programs of the system in whose place the bundle finds these. */
function plantPrograms(): string {
  const bin = join(folder, "bin");
  mkdirSync(bin);
  const lines = Object.values(SECRETS).map(
    (secret) => `cannot log in with ${secret} at mqtt://anna:${SECRETS.url}@b`,
  );
  for (const name of ["journalctl", "systemctl", "dmesg"]) {
    writeFileSync(join(bin, name), `#!/bin/sh\ncat <<'EOF'\nnvgpu: ${lines.join("\nnvgpu: ")}\nEOF\n`);
    chmodSync(join(bin, name), 0o755);
  }
  return bin;
}

test("the archive has every part, no planted secret, and no image unless a folder of them is given", async () => {
  const config = join(folder, "depthwatt.yaml");
  writeFileSync(
    config,
    `board: none
source:
  kind: command
  command:
    sideBySide: "ffmpeg -i rtsp://cam:${SECRETS.camera}@host/1 --password ${SECRETS.command} -f yuv4mpegpipe -"
outputs:
  mqtt: {broker: "mqtt://anna:${SECRETS.url}@127.0.0.1:1", passwordFile: ${secretFile("broker")}}
http: {passwordFile: ${secretFile("page")}}
control: {enabled: true, authentication: secret, secretFile: ${secretFile("control")}}
`,
  );
  const pair = join(folder, "pair");
  mkdirSync(join(pair, "left"), { recursive: true });
  writeFileSync(join(pair, "left/1.png"), "an image");
  const environment = { PATH: `${plantPrograms()}:${process.env.PATH}` };
  const bundle = (out: string) => runProgram(["support-bundle", "--config", config, "-o", out], environment);
  const out = join(folder, "report.zip");
  const { code, stdout, stderr } = await bundle(out);
  expect(code, stderr).toBe(0);
  const files = unzipSync(readFileSync(out));
  const text = (name: string) => strFromU8(files[name]!);
  for (const name of ["versions", "doctor", "settings", "board", "metrics"]) {
    expect(() => JSON.parse(text(`${name}.json`)), name).not.toThrow();
    expect(stdout).toContain(`${name}.json`);
  }
  expect(JSON.parse(text("doctor.json")).findings.map(({ name }: { name: string }) => name)).toContain(
    "broker",
  );
  expect(JSON.parse(text("settings.json")).settings["source.kind"].value).toBe("command");
  expect(text("log.txt")).toContain("cannot log in with (hidden)");
  expect(text("kernel.txt")).toContain("nvgpu");
  expect(statSync(out).mode & 0o777).toBe(0o600);
  for (const [name, bytes] of Object.entries(files))
    for (const [what, secret] of Object.entries(SECRETS))
      for (const form of [
        secret,
        encodeURIComponent(secret),
        Buffer.from(secret).toString("base64").slice(0, 16),
      ])
        expect(strFromU8(bytes).includes(form), `the secret "${what}" is in ${name}`).toBe(false);
  expect(Object.keys(files).filter((name) => /image|\.png/.test(name))).toEqual([]);
  expect((await bundle(out)).stderr).toContain("it exists");
  expect(Object.keys(imagesIn(pair))).toEqual(["images/left/1.png"]);

  // Without --config: the defaults, unless there is a file of the service.
  const defaults = join(folder, "defaults.zip");
  expect((await runProgram(["support-bundle", "-o", defaults], environment)).code).toBe(0);
  const { settings } = JSON.parse(strFromU8(unzipSync(readFileSync(defaults))["settings.json"]!));
  expect(settings).toHaveProperty(["source.kind", "value"]);
}, 60_000);
