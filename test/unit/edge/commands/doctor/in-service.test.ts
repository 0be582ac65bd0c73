// SPDX-License-Identifier: Apache-2.0
// doctor --service: the words for systemd-run, what it prints, and its exit code.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import {
  doctorInService,
  type InServiceOptions,
  type ServiceHost,
  sandboxProperties,
} from "../../../../../edge/commands/doctor/in-service.js";

const folder = mkdtempSync(join(tmpdir(), "depthwatt-in-service-"));
afterAll(() => rmSync(folder, { recursive: true }));
const file = join(folder, "front.yaml");

const UNIT = `# /etc/systemd/system/depthwatt.service
[Unit]
User=nobody
[Service]
Type=notify
User=depthwatt
 Group=depthwatt
SystemCallFilter=@system-service \\
  ~@privileged
SystemCallFilter=~@resources
ProtectClock=yes
Users=x
[Install]
UMask=077
`;
const SANDBOX = [
  "User=depthwatt",
  "Group=depthwatt",
  "SystemCallFilter=@system-service    ~@privileged",
  "SystemCallFilter=~@resources",
  "ProtectClock=yes",
];

let printed: [stdout: string, stderr: string];
beforeEach(() => {
  printed = ["", ""];
  vi.spyOn(process.stdout, "write").mockImplementation((text) => {
    printed[0] += text;
    return true;
  });
  vi.spyOn(process.stderr, "write").mockImplementation((text) => {
    printed[1] += text;
    return true;
  });
});
afterEach(() => void vi.restoreAllMocks());

type Result = Partial<ReturnType<ServiceHost["systemdRun"]>>;

/** Each run of systemd-run ends with the next one of these results. */
function examine(
  options: InServiceOptions,
  results: readonly Result[] = [{}],
  host: Partial<ServiceHost> = {},
) {
  const asked: string[] = [];
  const runs: (readonly string[])[] = [];
  const code = doctorInService(options, {
    unitText: (name) => {
      asked.push(name);
      return UNIT;
    },
    userId: () => 0,
    script: () => "/opt/main.js",
    systemdRun: (words) => {
      runs.push(words);
      return { status: 0, stdout: "", stderr: "", ...results[runs.length - 1]! };
    },
    ...host,
  });
  return { code, asked, runs };
}

const words = (sandbox: readonly string[], ...more: string[]) => [
  ...["--quiet", "--pipe", "--wait", "--collect", "--unit=depthwatt-doctor"],
  ...sandbox.flatMap((line) => ["-p", line]),
  ...[process.execPath, "/opt/main.js", "doctor", "--config", file, ...more],
];

test("the sandbox are lines of [Service] alone, with continued ones whole", () => {
  expect(sandboxProperties(UNIT)).toEqual(SANDBOX);
});

describe("the words", () => {
  test("are those of the unit's sandbox and of the doctor", () => {
    writeFileSync(file, "outputs: { mqtt: { broker: none } }\n");
    const plain = examine({ service: true, config: file });
    expect(plain).toEqual({ code: 0, asked: ["depthwatt.service"], runs: [words(SANDBOX)] });
  });

  test("hold the flags, and the password where the second unit has it", () => {
    const credentials = "/run/credentials/depthwatt@front.service";
    writeFileSync(
      file,
      `
rigs:
  a:
    outputs: { mqtt: { broker: "mqtt://b", username: u, passwordFile: ${credentials}/broker } }
`,
    );
    const options = { service: "front", config: file, rig: "a", set: ["a=1", "b=2"], json: true };
    const more = ["--rig", "a", "--set", "a=1", "--set", "b=2", "--json"];
    const moved = "outputs.mqtt.passwordFile=/run/credentials/depthwatt-doctor.service/broker";
    const named = examine(options);
    expect(named.asked).toEqual(["depthwatt@front.service"]);
    expect(named.runs).toEqual([words(SANDBOX, "--set", moved, ...more)]);
    // The credentials of another unit stay where they are.
    expect(examine({ ...options, service: "back" }).runs).toEqual([words(SANDBOX, ...more)]);
  });

  test("name the settings of the service where none are given", () => {
    const refused = (service: string | true) => {
      try {
        examine({ service });
      } catch (error) {
        return (error as Error).message;
      }
    };
    expect(refused("no-such-pair")).toContain("/etc/depthwatt/no-such-pair.yaml");
  });
});

describe("what systemd-run does", () => {
  beforeEach(() => writeFileSync(file, "outputs: { mqtt: { broker: none } }\n"));
  const plain = { service: true, config: file } as const;

  test("is printed, and its exit code is the doctor's", () => {
    const { code } = examine(plain, [{ status: 5, stdout: "broken\n", stderr: "a note\n" }]);
    expect([code, printed]).toEqual([5, ["broken\n", "a note\n"]]);
    expect(examine(plain, [{ status: null }]).code).toBe(1);
  });

  test("is repeated without each line that an older systemd does not know", () => {
    const unknown = (name: string) => ({
      status: 1,
      stdout: "",
      stderr: `Unknown assignment: ${name}=yes\n`,
    });
    const { code, runs } = examine(plain, [
      unknown("SystemCallFilter"),
      unknown("ProtectClock"),
      { status: 3 },
    ]);
    expect(runs).toEqual([
      words(SANDBOX),
      words(["User=depthwatt", "Group=depthwatt", "ProtectClock=yes"]),
      words(["User=depthwatt", "Group=depthwatt"]),
    ]);
    expect([code, printed]).toEqual([3, ["", ""]]);
  });

  test("is not repeated where no line is left out", () => {
    const stderr = "Unknown assignment: Protect=yes\n";
    const { code, runs } = examine(plain, [{ status: 1, stderr }]);
    expect([code, runs.length, printed]).toEqual([1, 1, ["", stderr]]);
  });
});

test.each<[string, InServiceOptions, Partial<ServiceHost>, object]>([
  [
    "no service",
    { service: "front" },
    { unitText: () => undefined },
    {
      code: "SERVICE_FAILED",
      message: "there is no depthwatt@front.service",
      hint: "Run 'sudo depthwatt install-service' first.",
    },
  ],
  [
    "no root",
    { service: true },
    { userId: () => 1 },
    {
      code: "SERVICE_FAILED",
      message: "running in the service's sandbox needs root",
      hint: "Run 'sudo depthwatt doctor --service'.",
    },
  ],
  ["no name of a pair of cameras", { service: "../x" }, {}, { code: "USAGE" }],
  [
    "no systemd-run",
    { service: true, config: file },
    {
      // As spawnSync reports a program that is not there.
      systemdRun: () => ({ status: null, error: new Error("spawn ENOENT") }) as never,
    },
    {
      code: "SERVICE_FAILED",
      message: "systemd-run cannot be started: spawn ENOENT",
      hint: "doctor --service needs systemd. Without it, run 'depthwatt doctor' as the service's user.",
    },
  ],
])("%s is an error", (_, options, host, error) => {
  writeFileSync(file, "outputs: { mqtt: { broker: none } }\n");
  expect(() => examine(options, [{}], host)).toThrow(expect.objectContaining(error));
});
