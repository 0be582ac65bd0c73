// SPDX-License-Identifier: Apache-2.0
// The doctor: each finding in both of its states, lines that fit a terminal, facts for scripts, exit codes.
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { gatherEvidence } from "../../../../../edge/boards/index.js";
import { findingLines, fixLines } from "../../../../../edge/commands/doctor/command.js";
import { lookAtClocks } from "../../../../../edge/commands/doctor/look-at-clocks.js";
import {
  brokerCommands,
  lookAtBroker,
  lookAtCameras,
  lookAtPower,
} from "../../../../../edge/commands/doctor/look-at-devices.js";
import {
  addonCommands,
  cudaCommands,
  lookAtCuda,
  lookAtNode,
  lookAtSettings,
} from "../../../../../edge/commands/doctor/look-at-program.js";
import { loadConfig } from "../../../../../edge/config/index.js";
import { loadNative } from "../../../../../edge/contracts/native.js";
import { SENSORS } from "../../../../../power/index.js";
import { buildBoardTree, CONSTRUCTED_BOARDS } from "../../../../doubles/board-trees.js";
import { runInProcess } from "../../../../doubles/command-line.js";

const root = mkdtempSync(join(tmpdir(), "depthwatt-doctor-"));
afterAll(() => rmSync(root, { recursive: true }));
const config = (...set: string[]) => loadConfig({ environment: {}, set }).config;
const CAMERAS = ["source.kind=v4l2", "source.v4l2.left=/dev/video0", "source.v4l2.right=/dev/video2"];

describe("node", () => {
  test("old ones are bad and say which is needed", () => {
    expect(lookAtNode("20.17.0").state).toBe("ok");
    expect(lookAtNode("24.1.0").state).toBe("ok");
    expect(lookAtNode("20.16.9")).toMatchObject({ state: "bad", exitCode: 4 });
    expect(lookAtNode("18.20.1").hint).toContain("20.17");
  });
});

describe("clocks", () => {
  const KERNEL = { synchronised: true, maxErrorMs: 12.34, estimatedErrorMs: 1, taiOffsetSeconds: 0 };
  const CLOCKS = { monotonicNs: 500_000_000_000n, realtimeNs: 0n };
  const READING = { monotonicNs: 500_000_000_000n, rawNs: 500_000_000_000n, bracketNs: 100 };
  const addon = (counterNs?: bigint) => ({
    clocks: () => CLOCKS,
    counter: () => ({
      ...READING,
      ...(counterNs === undefined ? { unavailable: "not here" } : { counterNs }),
    }),
  });
  const look = (kernel: typeof KERNEL | string, folder: string, counterNs?: bigint) =>
    lookAtClocks({ wallClock: () => kernel }, addon(counterNs), join(root, folder));

  test("a steered wall clock names its error, its program, and the counter's lead", () => {
    mkdirSync(join(root, "steered/proc/77"), { recursive: true });
    writeFileSync(join(root, "steered/proc/77/comm"), "chronyd\n");
    const { state, text, details } = look(KERNEL, "steered", 529_000_000_000n);
    expect(state).toBe("ok");
    expect(text).toBe("wall clock: synchronised by chronyd, off by 12 ms at most, TAI - UTC 0 s");
    expect(details![0]).toContain("29.000000 s ahead of CLOCK_MONOTONIC by counter, known to 0.1 us");
  });

  test("the kernel's own file comes before the counter; without both the reason is given", () => {
    const folder = join(root, "tegra/sys/devices/system/clocksource/clocksource0");
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "offset_ns"), "3000000000\n");
    expect(look(KERNEL, "tegra", 529_000_000_000n).details![0]).toContain("3.000000 s ahead");
    expect(look(KERNEL, "steered").facts).toMatchObject({
      counter: { available: false, reason: "not here" },
    });
  });

  test("a clock that nothing steers, and PTP without the offset of TAI, are doubtful", () => {
    expect(look({ ...KERNEL, synchronised: false }, "steered")).toMatchObject({
      state: "absent",
      hint: expect.stringContaining("time service"),
    });
    mkdirSync(join(root, "ptp/sys/class/ptp/ptp0"), { recursive: true });
    writeFileSync(join(root, "ptp/sys/class/ptp/ptp0/clock_name"), "mgbe\n");
    mkdirSync(join(root, "ptp/proc/8"), { recursive: true });
    writeFileSync(join(root, "ptp/proc/8/comm"), "phc2sys\n");
    const doubtful = look(KERNEL, "ptp");
    expect(doubtful).toMatchObject({ state: "absent", hint: expect.stringContaining("utc_offset") });
    expect(doubtful.details).toContain("PTP hardware clock: ptp0 (mgbe)");
    expect(look({ ...KERNEL, taiOffsetSeconds: 37 }, "ptp")).toMatchObject({ state: "ok" });
  });

  test("a kernel that does not answer says why", () => {
    expect(look("no adjtimex", "steered")).toMatchObject({ state: "ok", text: "wall clock: no adjtimex" });
  });

  test("this machine's kernel answers", () => {
    expect(loadNative().wallClock()).toMatchObject({ taiOffsetSeconds: expect.any(Number) });
  });
});

describe("cameras", () => {
  beforeAll(() => {
    mkdirSync(join(root, "none/dev"), { recursive: true });
    mkdirSync(join(root, "some/dev"), { recursive: true });
    for (const [number, name] of [
      [0, "left camera"],
      [2, "right camera"],
      [10, "third"],
    ] as const) {
      writeFileSync(join(root, `some/dev/video${number}`), "");
      mkdirSync(join(root, `some/sys/class/video4linux/video${number}`), { recursive: true });
      writeFileSync(join(root, `some/sys/class/video4linux/video${number}/name`), `${name}\n`);
    }
  });

  test("none: fine for the synthetic scene, bad where cameras were asked for", () => {
    const none = join(root, "none");
    expect(lookAtCameras(config(), none)).toMatchObject({ state: "absent" });
    expect(lookAtCameras(config(...CAMERAS), none)).toMatchObject({ state: "bad", exitCode: 3 });
  });

  test("are listed by number with the name their driver gives", () => {
    const finding = lookAtCameras(config(), join(root, "some"));
    expect(finding.state).toBe("ok");
    expect(finding.details).toEqual([
      "/dev/video0  left camera",
      "/dev/video2  right camera",
      "/dev/video10  third",
    ]);
  });

  test("one that cannot be opened names the group to join", () => {
    // Root may open everything, so the device is one that leads nowhere.
    mkdirSync(join(root, "closed/dev"), { recursive: true });
    writeFileSync(join(root, "closed/dev/video0"), "");
    symlinkSync("/no/such/device", join(root, "closed/dev/video2"));
    const { facts, ...finding } = lookAtCameras(config(...CAMERAS), join(root, "closed"));
    const [opened, refused] = (facts as { cameras: { device: string; refused?: string }[] }).cameras;
    expect(finding).toEqual({
      name: "cameras",
      state: "bad",
      text: "2 video devices; this user may not open 1 of them",
      hint: "Join the group 'video': sudo usermod -aG video $USER, then log in again.",
      commands: ['sudo usermod -aG video "$USER"'],
      details: ["/dev/video0  no name", `/dev/video2  no name  (${refused!.refused})`],
      exitCode: 3,
    });
    expect([opened!.refused, refused!.device]).toEqual([undefined, "/dev/video2"]);
    expect(lookAtCameras(config(), join(root, "closed"))).toMatchObject({ state: "absent" });
  });
});

describe("cuda", () => {
  const missing = { cudaUnavailable: () => "CUDA unavailable: the plugin is not built" };

  test.each(Object.entries(CONSTRUCTED_BOARDS))(
    "%s: the hint says how the plugin is built",
    (_name, board) => {
      using tree = buildBoardTree(board);
      const evidence = gatherEvidence({ root: tree.root });
      for (const [wanted, state] of [
        ["auto", "absent"],
        ["cuda", "bad"],
      ] as const) {
        const finding = lookAtCuda(missing, wanted, evidence);
        expect(finding).toMatchObject({ state, text: missing.cudaUnavailable() });
        expect(finding.hint).toContain("npm run build:cuda");
      }
      expect(lookAtCuda({ cudaUnavailable: () => "" }, "auto", evidence).hint).toBeUndefined();
    },
  );

  test("a machine that is no Jetson is not sent to build what it cannot use", () => {
    const evidence = gatherEvidence({ root });
    expect(lookAtCuda(missing, "auto", evidence).hint).not.toContain("build:cuda");
  });
});

describe("power", () => {
  test("says for every kind of sensor what it measures or why not", () => {
    const finding = lookAtPower(undefined);
    expect(finding.details!.map((line) => line.split(":")[0])).toEqual(SENSORS.map(({ name }) => name));
    for (const line of finding.details!) expect(line.length).toBeGreaterThan(8);
  });
});

describe("broker", () => {
  test("embedded and none need nothing", async () => {
    expect(await lookAtBroker(config())).toMatchObject({ state: "ok" });
    expect(await lookAtBroker(config("outputs.mqtt.broker=none"))).toMatchObject({ state: "absent" });
  });

  test("where nothing listens, it is bad, and no password is shown", async () => {
    const finding = await lookAtBroker(config("outputs.mqtt.broker=mqtt://anna:secret@127.0.0.1:1"));
    expect(finding).toMatchObject({ state: "bad", exitCode: 5, facts: { reachable: false } });
    expect(JSON.stringify(finding)).not.toContain("secret");
  });

  test("one that accepts and stays silent is given up in time", async () => {
    const sockets: Socket[] = [];
    const server = createServer((socket) => void sockets.push(socket));
    await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
    const { port } = server.address() as { port: number };
    const finding = await lookAtBroker(config(`outputs.mqtt.broker=mqtt://127.0.0.1:${port}`), 300);
    expect(finding).toMatchObject({ state: "bad", facts: { code: "BROKER_UNREACHABLE" } });
    for (const socket of sockets) socket.destroy();
    server.close();
  });
});

test("wrong settings are a finding, not the end", () => {
  const { finding, loaded } = lookAtSettings({ set: ["match.sgm.p1=0"] });
  expect(loaded).toBeUndefined();
  expect(finding).toMatchObject({ state: "bad", exitCode: 2, facts: { code: "CONFIG_INVALID" } });
});

test("lines fit the terminal", () => {
  const finding = {
    name: "power",
    state: "absent" as const,
    text: "word ".repeat(40).trim(),
    details: ["detail ".repeat(30).trim()],
    hint: "hint ".repeat(30).trim(),
  };
  const lines = findingLines(finding, 80);
  expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(80);
  expect(lines[0]).toMatch(/^ -- {3}power {7}word/);
  expect(lines.slice(1).every((line) => line.startsWith(" ".repeat(18)))).toBe(true);
});

describe("the command", () => {
  const run = (...words: string[]) => runInProcess(["doctor", ...words]);

  test("--json is one object with a finding for everything", async () => {
    const { stdout, code } = await run("--json");
    const { findings, healthy } = JSON.parse(stdout);
    const names = findings.map((finding: { name: string }) => finding.name);
    expect(names).toEqual([
      "node",
      "addon",
      "images",
      "cpu",
      "cuda",
      "clocks",
      "settings",
      "board",
      "cameras",
      "power",
      "broker",
    ]);
    expect(healthy).toBe(true);
    expect(code).toBe(0);
  });

  test("exits with the code of a bad finding", async () => {
    expect((await run("--set", "outputs.mqtt.broker=mqtt://127.0.0.1:1")).code).toBe(5);
    expect((await run("--set", "match.sgm.p1=0")).code).toBe(2);
  });
});

describe("--fix", () => {
  test("prints the commands, findings without a fix as a remark of one line, and no good findings", () => {
    const lines = fixLines([
      { name: "node", state: "ok", text: "20" },
      { name: "cuda", state: "absent", text: "no plugin", hint: "nothing" },
      { name: "broker", state: "bad", text: "gone", commands: ["sudo a", "sudo b"] },
      { name: "cameras", state: "bad", text: "none\nrm -rf x", hint: "plug\nthem in" },
    ]);
    expect(lines).toEqual([
      "# broker: gone",
      "sudo a",
      "sudo b",
      "# cameras: none rm -rf x",
      "#   no command does: plug them in",
    ]);
  });

  test("a broker of this machine is started, and installed where it is not; one elsewhere is not ours", () => {
    const start = "sudo systemctl enable --now mosquitto";
    mkdirSync(join(root, "with/usr/sbin"), { recursive: true });
    writeFileSync(join(root, "with/usr/sbin/mosquitto"), "");
    expect(brokerCommands("mqtt://localhost:1883", join(root, "with"))).toEqual([start]);
    expect(brokerCommands("mqtt://127.0.0.1", join(root, "without"))).toEqual([
      "sudo apt-get install mosquitto",
      start,
    ]);
    expect(brokerCommands("mqtts://broker.example")).toBeUndefined();
  });

  test("an addon is built after its missing tools are installed; a Debian package is installed again", () => {
    mkdirSync(join(root, "tools/usr/bin"), { recursive: true });
    for (const name of ["g++", "python3"]) writeFileSync(join(root, "tools/usr/bin", name), "");
    expect(addonCommands(join(root, "tools"), resolve("."))).toEqual([
      "sudo apt-get install make",
      `node '${resolve("scripts/build-native.mjs")}'`,
    ]);
    expect(addonCommands("/", join(root, "packaged"))).toEqual([
      "sudo apt-get install --reinstall depthwatt",
    ]);
  });

  test("a Jetson's plugin is built, after the toolkit where there is none", () => {
    const build = `PATH=/usr/local/cuda/bin:$PATH node '${resolve("scripts/build-cuda.mjs")}'`;
    expect(cudaCommands(join(root, "without"), resolve("."))).toEqual([
      "sudo apt-get install nvidia-jetpack",
      build,
    ]);
    expect(cudaCommands("/", join(root, "packaged"))).toBeUndefined();
  });
});
