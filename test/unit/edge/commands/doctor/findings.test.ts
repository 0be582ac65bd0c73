// SPDX-License-Identifier: Apache-2.0
// Whole findings of the doctor: state, words, advice, commands, facts and exit code of each.
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { loadImageLibrary } from "../../../../../camera/index.js";
import { DepthwattError } from "../../../../../core/index.js";
import { type BoardEvidence, gatherEvidence, readL4t } from "../../../../../edge/boards/index.js";
import { findingLines } from "../../../../../edge/commands/doctor/command.js";
import { secretCommands, settingsCommands } from "../../../../../edge/commands/doctor/fix-commands.js";
import { lookAtClocks } from "../../../../../edge/commands/doctor/look-at-clocks.js";
import { lookAtControl } from "../../../../../edge/commands/doctor/look-at-control.js";
import {
  brokerCommands,
  lookAtBroker,
  lookAtCameras,
} from "../../../../../edge/commands/doctor/look-at-devices.js";
import { lookAtGpuNodes } from "../../../../../edge/commands/doctor/look-at-gpu-nodes.js";
import {
  cudaCommands,
  lookAtBoard,
  lookAtCpu,
  lookAtCuda,
  lookAtImages,
  lookAtNode,
  lookAtSettings,
} from "../../../../../edge/commands/doctor/look-at-program.js";
import { lookAtCalibration, lookAtPlugin } from "../../../../../edge/commands/doctor/look-at-upgrade.js";
import { loadConfig } from "../../../../../edge/config/index.js";
import { VERSION } from "../../../../../edge/contracts/version.js";
import {
  CONNECT,
  connack,
  PUBLISH,
  puback,
  type Script,
  startScriptedBroker,
} from "../../../../doubles/scripted-broker.js";

const folder = mkdtempSync(join(tmpdir(), "depthwatt-findings-"));
afterAll(() => rmSync(folder, { recursive: true }));
const newFolder = () => mkdtempSync(join(folder, "part-"));
const config = (...set: string[]) => loadConfig({ environment: {}, set: ["board=none", ...set] }).config;
const evidence = (compatible: string[] | undefined, more: Partial<BoardEvidence> = {}): BoardEvidence => ({
  ...gatherEvidence(),
  l4t: undefined,
  ...more,
  compatible,
});
const JETSON = ["nvidia,p3768-0000+p3767-0005", "nvidia,tegra234"];

test("node: 20.17 and newer, by major and then by minor version", () => {
  const facts = (version: string) => ({ version, platform: process.platform, architecture: process.arch });
  const text = (version: string) => `${version} on ${process.platform} ${process.arch}`;
  for (const version of ["20.17.0", "20.18.1", "21.0.0", "22.16.0"])
    expect(lookAtNode(version)).toEqual({
      name: "node",
      state: "ok",
      text: text(version),
      facts: facts(version),
    });
  for (const version of ["20.16.9", "19.17.0", "19.99.0", "20", "18.20.1"])
    expect(lookAtNode(version)).toEqual({
      name: "node",
      state: "bad",
      text: text(version),
      hint: "Install Node 20.17 or newer; JetPack 4 needs a container for it (its glibc is too old).",
      facts: facts(version),
      exitCode: 4,
    });
});

test("settings, board and CPU", () => {
  const { finding, loaded } = lookAtSettings({ set: ["board=none", "match.sgm.p1=9"] });
  expect(finding).toEqual({
    name: "settings",
    state: "ok",
    text: "2 given, by --set",
    facts: { given: 2, places: ["--set"] },
  });
  expect(loaded?.config.match.sgm.p1).toBe(9);
  expect(
    lookAtBoard({
      board: { name: "nano", title: "Nano", reason: "its device tree", file: "n.json" },
    } as never),
  ).toEqual({
    name: "board",
    state: "ok",
    text: "Nano (its device tree)",
    facts: { board: "nano", reason: "its device tree", file: "n.json" },
  });
  expect(lookAtBoard({ board: { title: "unknown", reason: "off" } } as never).facts).toEqual({
    board: null,
    reason: "off",
    file: null,
  });
  const features = { available: ["scalar", "avx2"], best: "avx2" };
  expect(lookAtCpu({ cpuFeatures: () => features } as never)).toEqual({
    name: "cpu",
    state: "ok",
    text: "avx2 is used; there are scalar, avx2",
    facts: { best: "avx2", available: ["scalar", "avx2"] },
  });
});

test("images", async () => {
  const { versions } = await loadImageLibrary();
  expect(await lookAtImages()).toEqual({
    name: "images",
    state: "ok",
    text: `PNG and JPEG by libvips ${versions.vips}`,
    facts: { versions },
  });
});

describe("cuda", () => {
  const none = { cudaUnavailable: () => "no plugin" };
  const CAUSE = { code: "GPU_BUSY", text: "busy", hint: "Wait.", retries: true, fits: () => true };
  const OTHERWISE = "Or: '--backend auto' computes the same bits on the CPU.";
  const BUILD =
    "This Jetson has a GPU: build the plugin with 'PATH=/usr/local/cuda/bin:$PATH npm run build:cuda'; " +
    "nvcc comes with JetPack (sudo apt-get install nvidia-jetpack).";
  const look = (wanted: string, compatible: string[] | undefined, cause?: typeof CAUSE) =>
    lookAtCuda(none, wanted, evidence(compatible), cause);
  const facts = { available: false, reason: "no plugin" };

  test("a GPU that works", () => {
    expect(lookAtCuda({ cudaUnavailable: () => "" }, "cuda", evidence(JETSON))).toEqual({
      name: "cuda",
      state: "ok",
      text: "the plugin loads and finds a GPU",
      facts: { available: true },
    });
  });

  test.each([
    [
      "a PC, auto",
      "auto",
      undefined,
      undefined,
      "No NVIDIA GPU? Nothing to do: the CPU gives identical results.",
    ],
    ["a PC, cuda", "cuda", [], undefined, `Fix that. ${OTHERWISE}`],
    ["a Jetson, auto", "auto", JETSON, undefined, BUILD],
    ["a Jetson, cuda", "cuda", JETSON, undefined, `${BUILD} ${OTHERWISE}`],
    ["a cause, auto", "auto", JETSON, CAUSE, "Wait."],
    ["a cause, cuda", "cuda", JETSON, CAUSE, `Wait. ${OTHERWISE}`],
  ])("%s", (_, wanted, compatible, cause, hint) => {
    // A known cause is not fixed by building the plugin.
    const isBuilt = compatible === JETSON && cause === undefined;
    expect(look(wanted, compatible, cause)).toEqual({
      name: "cuda",
      ...(wanted === "cuda" ? { state: "bad", exitCode: 4 } : { state: "absent" }),
      text: "no plugin",
      hint,
      ...(isBuilt && { commands: cudaCommands() }),
      facts: cause === undefined ? facts : { ...facts, code: "GPU_BUSY" },
    });
  });

  test("the toolkit is installed only where it is missing", () => {
    const root = newFolder();
    mkdirSync(join(root, "usr/local/cuda/bin"), { recursive: true });
    const program = newFolder();
    mkdirSync(join(program, "scripts"), { recursive: true });
    writeFileSync(join(program, "scripts/build-cuda.mjs"), "");
    const build = `PATH=/usr/local/cuda/bin:$PATH node '${program}/scripts/build-cuda.mjs'`;
    expect(cudaCommands(root, program)).toEqual(["sudo apt-get install nvidia-jetpack", build]);
    writeFileSync(join(root, "usr/local/cuda/bin/nvcc"), "");
    expect(cudaCommands(root, program)).toEqual([build]);
  });
});

test("clocks: the facts, and the lead of the counter over CLOCK_MONOTONIC", () => {
  const kernel = { synchronised: true, maxErrorMs: 12.34, estimatedErrorMs: 1, taiOffsetSeconds: 37 };
  const look = (counter: object) =>
    lookAtClocks(
      { wallClock: () => kernel },
      {
        clocks: () => ({ monotonicNs: 500_000_000_000n, realtimeNs: 0n }),
        counter: () => ({
          monotonicNs: 500_000_000_000n,
          rawNs: 500_000_000_000n,
          bracketNs: 4000,
          ...counter,
        }),
      } as never,
      join(folder, "no-such-root"),
    );
  const wallClock = { kernel, ptpClocks: [], steeredBy: [] };
  // Half of the 4 us that the reading took.
  expect(look({ counterNs: 529_000_000_000n })).toEqual({
    name: "clocks",
    state: "ok",
    text: "wall clock: synchronised, off by 12 ms at most, TAI - UTC 37 s",
    details: [
      "capture counter: 29.000000 s ahead of CLOCK_MONOTONIC by counter, known to 2.0 us; captureClocks in info says which cameras use it",
    ],
    facts: { wallClock, counter: { source: "counter", offsetMs: -29_000, uncertaintyMs: 0.002 } },
  });
  const without = look({ unavailable: "no counter here" });
  expect(without.details).toEqual(["capture counter: unavailable, no counter here"]);
  expect(without.facts).toEqual({ wallClock, counter: { available: false, reason: "no counter here" } });
});

describe("cameras", () => {
  const CAMERAS = ["source.kind=v4l2", "source.v4l2.left=/dev/video0", "source.v4l2.right=/dev/video2"];
  test("none", () => {
    mkdirSync(join(folder, "none/dev"), { recursive: true });
    writeFileSync(join(folder, "none/dev/video"), "");
    const finding = {
      name: "cameras",
      text: "there is no /dev/video*",
      hint: "Plug them in; without cameras: --source synthetic, or --source replay with images.",
      facts: { cameras: [] },
    };
    expect(lookAtCameras(config(), join(folder, "none"))).toEqual({ ...finding, state: "absent" });
    expect(lookAtCameras(config(...CAMERAS), join(folder, "none"))).toEqual({
      ...finding,
      state: "bad",
      exitCode: 3,
    });
  });

  test("by number, with names; a device that cannot be opened", () => {
    const root = newFolder();
    mkdirSync(join(root, "sys/class/video4linux/video10"), { recursive: true });
    mkdirSync(join(root, "dev"));
    for (const name of ["video10", "video9"]) writeFileSync(join(root, "dev", name), "");
    writeFileSync(join(root, "sys/class/video4linux/video10/name"), "porch\n");
    const [nine, ten] = [
      { device: "/dev/video9", name: "no name", refused: undefined },
      { device: "/dev/video10", name: "porch", refused: undefined },
    ];
    expect(lookAtCameras(config(...CAMERAS), root)).toEqual({
      name: "cameras",
      state: "ok",
      text: "2 video devices",
      details: ["/dev/video9  no name", "/dev/video10  porch"],
      facts: { cameras: [nine, ten] },
    });
  });
});

describe("broker", () => {
  test("a broker of this machine by any of its names is started", () => {
    for (const host of ["localhost", "127.0.0.1:1884", "[::1]:1883"])
      expect(brokerCommands(`mqtt://${host}`, folder)).toEqual([
        "sudo apt-get install mosquitto",
        "sudo systemctl enable --now mosquitto",
      ]);
    expect(brokerCommands("mqtt://10.0.0.1", folder)).toBeUndefined();
  });

  test("none and embedded are not visited", async () => {
    expect(await lookAtBroker(config("outputs.mqtt.broker=embedded"))).toEqual({
      name: "broker",
      state: "ok",
      text: "embedded in 'depthwatt run', on loopback; nothing to reach",
      facts: { broker: "embedded", reachable: null },
    });
    expect(await lookAtBroker(config("outputs.mqtt.broker=none"))).toEqual({
      name: "broker",
      state: "absent",
      text: "none: the MQTT output is off",
      facts: { broker: "none", reachable: null },
    });
  });

  test("a broker that answers, and one that refuses", async () => {
    let code = 0;
    const broker = await startScriptedBroker((packet, session) =>
      packet.type === CONNECT ? session.send(connack(code)) : session.answer(packet),
    );
    try {
      expect(await lookAtBroker(config(`outputs.mqtt.broker=${broker.url}`))).toEqual({
        name: "broker",
        state: "ok",
        text: `connected to ${broker.url}, MQTT 5`,
        facts: { broker: broker.url, reachable: true },
      });
      // MQTT 5: bad user name or password.
      code = 0x86;
      const refused = await lookAtBroker(config(`outputs.mqtt.broker=${broker.url}`));
      expect(refused).toEqual({
        name: "broker",
        state: "bad",
        text: expect.stringContaining("password"),
        hint: expect.stringContaining("outputs.mqtt."),
        facts: { broker: broker.url, reachable: false, code: "BROKER_REFUSED" },
        exitCode: 5,
      });
    } finally {
      await broker.close();
    }
  });
});

describe("control", () => {
  const secretFile = join(folder, "control-secret");
  beforeAll(() => {
    writeFileSync(secretFile, "0123456789abcdef0123456789abcdef\n", { mode: 0o600 });
    chmodSync(secretFile, 0o600);
  });
  const HINT =
    "Let the broker ask for a password or certificate and limit who may publish below request/, or set control.authentication to secret.";

  test("off, on the live page alone, or signed with a secret: no broker is asked", async () => {
    const settings = (broker: string, ...set: string[]) => {
      const one = config("control.enabled=true", `control.secretFile=${secretFile}`, ...set);
      one.outputs.mqtt.broker = broker;
      return one;
    };
    const off = settings("mqtt://127.0.0.1:1");
    off.control.enabled = false;
    expect(await lookAtControl(off)).toBeUndefined();
    const facts = { authentication: "secret", secretFile };
    expect(await lookAtControl(settings("none", "control.authentication=secret"))).toEqual({
      name: "control",
      state: "ok",
      text: "on the live page; there is no broker",
      facts,
    });
    expect(await lookAtControl(settings("mqtt://127.0.0.1:1", "control.authentication=secret"))).toEqual({
      name: "control",
      state: "ok",
      text: `requests must be signed with the secret of ${secretFile}`,
      facts,
    });
  });

  const look = async (script: Script, set: readonly string[] = [], timeoutMs = 4000) => {
    const broker = await startScriptedBroker(script);
    const { hostname, port } = new URL(broker.url);
    try {
      const settings = config("base=b", "device=d", ...set);
      settings.control.enabled = true;
      settings.control.authentication = "broker";
      settings.outputs.mqtt.broker = `mqtt://anna:s3cret@${hostname}:${port}`;
      return { finding: await lookAtControl(settings, timeoutMs), broker };
    } finally {
      await broker.close();
    }
  };
  const facts = (anonymousRefused: boolean) => ({
    authentication: "broker",
    secretFile: null,
    anonymousRefused,
  });
  const bad = (text: string, hint = HINT) => ({
    name: "control",
    state: "bad",
    text,
    hint,
    facts: facts(false),
    exitCode: 2,
  });

  test("the broker refuses anonymous clients, or their requests", async () => {
    const closed = await look((packet, session) =>
      packet.type === CONNECT ? session.send(connack(0x87)) : session.answer(packet),
    );
    expect(closed.finding).toEqual({
      name: "control",
      state: "ok",
      text: "the broker refuses anonymous clients",
      facts: facts(true),
    });
    // MQTT 5: not authorised.
    const limited = await look((packet, session) =>
      packet.type === PUBLISH ? session.send(puback(packet, 0x87)) : session.answer(packet),
    );
    expect(limited.finding).toEqual({
      name: "control",
      state: "ok",
      text: expect.stringMatching(/^the broker refuses requests of anonymous clients \(.+\)$/),
      facts: facts(true),
    });
    const connect = limited.broker.packets.find(({ type }) => type === CONNECT)!.bytes.toString("latin1");
    expect(connect).not.toMatch(/anna|s3cret/);
    const [request] = limited.broker.packets.filter(({ type }) => type === PUBLISH);
    expect([request!.topic, request!.qos, request!.payloadBytes]).toEqual(["b/d/request/doctor", 1, 0]);
  });

  test("the broker takes anonymous requests, does not say, or does not answer", async () => {
    const open = await look((packet, session) => session.answer(packet));
    expect(open.finding).toEqual(
      bad("control.authentication is broker, but it accepts requests from anonymous clients"),
    );
    // The CONNACK of MQTT 3.1.1 has no properties.
    const old = await look(
      (packet, session) => packet.type === CONNECT && session.send(0x20, 2, 0, 0),
      ["outputs.mqtt.protocolVersion=4"],
    );
    expect(old.finding).toEqual(
      bad(
        "control.authentication is broker, but it lets anonymous clients in, and MQTT 3.1.1 does not report what they may publish",
      ),
    );
    const silent = await look(() => {}, [], 50);
    expect(silent.finding).toEqual(
      bad("control.authentication is broker, but it did not refuse an anonymous client within 50 ms"),
    );
    const gone = await look((_, session) => session.socket.destroy());
    expect(gone.finding).toEqual(
      bad(
        expect.stringMatching(/^cannot check whether the broker refuses anonymous clients: ./),
        expect.stringMatching(/./),
      ),
    );
  });

  test("a secret that cannot be read", async () => {
    const missing = join(folder, "none", "secret");
    const settings = config("control.enabled=true", `control.secretFile=${missing}`);
    settings.outputs.mqtt.broker = "none";
    const finding = await lookAtControl(settings);
    expect(finding).toMatchObject({ name: "control", state: "bad", exitCode: 2 });
    expect(finding?.facts).toEqual({ authentication: settings.control.authentication, secretFile: missing });
  });
});

describe("nodes", () => {
  const NODES = [
    { path: "/dev/nvmap", major: 10, minor: 120 },
    { path: "/dev/dri/renderD128", major: 226, minor: 128 },
    { path: "/dev/nvhost-prof-gpu", major: 240, minor: 9 },
  ];
  const drivers = new Map([[226, ["drm"]]]);
  const UNIT = "DeviceAllow=/dev/nvmap rw\n";
  const RENEW = "sudo systemctl restart depthwatt-devices depthwatt";
  const look = (unit: string | undefined, codes: Record<string, string>, wanted = "auto", nodes = NODES) =>
    lookAtGpuNodes(wanted, evidence(JETSON), { nodes, drivers, unit, open: (path) => codes[path] });
  const paths = ["/dev/nvmap", "/dev/dri/renderD128"];
  const rule = { path: "/dev/dri/renderD128", rule: "DeviceAllow=char-drm rw" };

  test("all can be opened, without a service", () => {
    expect(look(undefined, {})).toEqual({
      name: "nodes",
      state: "ok",
      text: "2 device nodes, all can be opened",
      facts: { nodes: paths, refused: [], missingRules: [] },
    });
  });

  test("a rule of the service is missing", () => {
    expect(look(UNIT, {})).toEqual({
      name: "nodes",
      state: "absent",
      text: "the service may not open 1 of 2",
      hint: `Renew the device rules: ${RENEW}. If that does not help, add them with 'systemctl edit depthwatt'.`,
      details: ["/dev/dri/renderD128: the service needs DeviceAllow=char-drm rw"],
      commands: [RENEW],
      facts: { nodes: paths, refused: [], missingRules: [rule] },
    });
  });

  test("refused by the rights, by the rules, by the driver, and all at once", () => {
    const refused = (path: string, code: string, reason: string) => ({ path, code, reason });
    expect(look(undefined, { "/dev/nvmap": "EACCES" }, "cuda")).toEqual({
      name: "nodes",
      state: "bad",
      exitCode: 4,
      text: "1 of 2 device nodes cannot be opened",
      hint: "Join the groups video and render, then log in again.",
      details: ["/dev/nvmap: this user is not in the group of the node"],
      commands: ['sudo usermod -aG video,render "$USER"'],
      facts: {
        nodes: paths,
        refused: [refused("/dev/nvmap", "EACCES", "this user is not in the group of the node")],
        missingRules: [],
      },
    });
    expect(look(undefined, { "/dev/nvmap": "EPERM" })).toMatchObject({
      hint: expect.stringContaining(`Renew the device rules: ${RENEW}.`),
      details: ["/dev/nvmap: the device rules forbid it: DeviceAllow=/dev/nvmap rw is missing"],
      commands: [RENEW],
    });
    const dead = look(undefined, { "/dev/nvmap": "ENODEV", "/dev/dri/renderD128": "ENXIO" });
    expect(dead).toEqual({
      name: "nodes",
      state: "absent",
      text: "2 of 2 device nodes cannot be opened",
      hint: "Look at 'sudo dmesg', then power-cycle the board.",
      details: [
        "/dev/nvmap: the driver refuses it (ENODEV)",
        "/dev/dri/renderD128: the driver refuses it (ENXIO)",
      ],
      facts: {
        nodes: paths,
        refused: [
          refused("/dev/nvmap", "ENODEV", "the driver refuses it (ENODEV)"),
          refused("/dev/dri/renderD128", "ENXIO", "the driver refuses it (ENXIO)"),
        ],
        missingRules: [],
      },
    });
    expect(look(UNIT, { "/dev/nvmap": "EACCES", "/dev/dri/renderD128": "EPERM" })).toMatchObject({
      text: "2 of 2 device nodes cannot be opened; the service may not open 1 of 2",
      commands: ['sudo usermod -aG video,render "$USER"', RENEW],
    });
  });

  test("render nodes of another maker are none, and a Jetson without nodes has no driver", () => {
    const others = NODES.slice(1, 2);
    const found = (compatible: string[] | undefined) =>
      lookAtGpuNodes("auto", evidence(compatible), {
        nodes: others,
        drivers,
        unit: UNIT,
        open: () => "EPERM",
      });
    expect(found(undefined)).toBeUndefined();
    expect(found(["raspberrypi,4"])).toBeUndefined();
    expect(found(JETSON)).toMatchObject({
      name: "nodes",
      state: "absent",
      text: "this Jetson has no GPU device node in /dev",
      facts: { nodes: [], refused: [], missingRules: [] },
    });
  });
});

describe("plugin", () => {
  const board = (nvccArchitectures: unknown) =>
    ({ board: { facts: { gpu: { nvccArchitectures: { value: nvccArchitectures } } } } }) as never;
  const on = (release: string) => evidence(JETSON, { l4t: readL4t(release)! });
  const R36 = on("# R36 (release), REVISION: 4.3, GCID: 1");
  const plugin = { version: VERSION, nvcc: "12.6", architectures: ["72", "87"] };

  test("fits, also to a board whose architectures are not known", () => {
    const ok = {
      name: "plugin",
      state: "ok",
      text: "of this version, CUDA 12.6, for sm_72, sm_87",
      facts: { plugin, l4t: R36.l4t, mismatches: [] },
    };
    expect(lookAtPlugin("cuda", board(["87"]), R36, plugin)).toEqual(ok);
    expect(lookAtPlugin("cuda", board(["native"]), R36, plugin)).toEqual(ok);
    const bare = { ...plugin, nvcc: null };
    expect(lookAtPlugin("auto", { board: {} } as never, evidence(undefined), bare)).toEqual({
      name: "plugin",
      state: "ok",
      text: "of this version, for sm_72, sm_87",
      facts: { plugin: bare, l4t: null, mismatches: [] },
    });
    // Without a JetPack no driver is known.
    expect(lookAtPlugin("auto", board(["87"]), evidence(undefined), { ...plugin, nvcc: "99.0" })?.state).toBe(
      "ok",
    );
  });

  test("of another version and for other boards", () => {
    const old = { version: "0.0.9", nvcc: "12.2", architectures: ["62"] };
    const mismatches = [
      `the plugin is of depthwatt 0.0.9, this program is ${VERSION}`,
      "the plugin has code for sm_62, this board is sm_72, sm_87",
    ];
    const finding = {
      name: "plugin",
      text: mismatches.join("; "),
      hint: "Build the plugin again on this board: npm run build:cuda.",
      commands: cudaCommands(),
      facts: { plugin: old, l4t: R36.l4t, mismatches },
    };
    expect(lookAtPlugin("auto", board(["72", "87"]), R36, old)).toEqual({ ...finding, state: "absent" });
    expect(lookAtPlugin("cuda", board(["72", "87"]), R36, old)).toEqual({
      ...finding,
      state: "bad",
      exitCode: 4,
    });
  });
});

describe("calibration", () => {
  const file = join(folder, "camchain.yaml");
  const camera = (extra = "") =>
    `  camera_model: pinhole\n  distortion_model: radtan\n  distortion_coeffs: [0, 0, 0, 0]\n  intrinsics: [400, 400, 320, 240]\n  resolution: [640, 480]\n${extra}`;
  const pose = "  T_cn_cnm1: [[1, 0, 0, -0.1], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]\n";
  beforeAll(() => writeFileSync(file, `cam0:\n${camera()}cam1:\n${camera(pose)}`));
  const look = (...set: string[]) => lookAtCalibration(config(`calibration.file=${file}`, ...set));
  const V4L2 = ["source.kind=v4l2", "source.v4l2.left=/dev/video0", "source.v4l2.right=/dev/video2"];

  test("of the size that is asked for, of another, and of any", async () => {
    expect(await look(...V4L2, "source.v4l2.width=640", "source.v4l2.height=480")).toEqual({
      name: "calibration",
      state: "ok",
      text: `${file} for 640x480`,
      details: [],
      facts: { file },
    });
    const other = await look(...V4L2, "source.v4l2.width=640", "source.v4l2.height=400");
    expect(other).toEqual({
      name: "calibration",
      state: "bad",
      text: expect.stringContaining("640 x 480"),
      hint: expect.stringMatching(/./),
      facts: { file },
      exitCode: 2,
    });
    const any = { name: "calibration", state: "ok", text: `${file} can be read`, facts: { file } };
    expect(await look()).toEqual(any);
  });

  test("of a command's cameras, and one that cannot be read", async () => {
    const command = ["source.kind=command", "source.command.left=l", "source.command.right=r"];
    // The frames of y4m bring their size.
    expect(await look(...command)).toMatchObject({ text: `${file} can be read` });
    const sized = ["source.command.format=GREY", "source.command.width=640", "source.command.height=480"];
    expect(await look(...command, ...sized)).toMatchObject({ text: `${file} for 640x480` });
    const missing = await lookAtCalibration(config(`calibration.file=${folder}/none.yaml`));
    expect(missing).toMatchObject({ name: "calibration", state: "bad" });
  });
});

test("lines of a finding: its mark, the rest below, further lines of a detail set in", () => {
  const finding = { name: "power", text: "one two\nthree", details: ["aaaa bbbb cccc"], hint: "do this" };
  expect(findingLines({ ...finding, state: "bad" }, 30)).toEqual([
    " BAD  power       one two",
    "                  three",
    "                  aaaa bbbb",
    "                    cccc",
    "                  hint: do",
    "                  this",
  ]);
  expect(findingLines({ name: "cpu", state: "ok", text: "fine" }, 80)).toEqual([" ok   cpu         fine"]);
  expect(findingLines({ name: "argus", state: "absent", text: "x" }, 80)).toEqual([" --   argus       x"]);
});

describe("commands of --fix", () => {
  test("for settings: variables once, each file once at its line, as root where it cannot be written", () => {
    const file = join(folder, "one.yaml");
    writeFileSync(file, "");
    const problem = (kind: string, name: string) => ({ origin: { kind, name } });
    const context = {
      problems: [
        problem("environment", "A"),
        problem("flag", "--set"),
        problem("file", file),
        problem("environment", "A"),
        problem("file", `${folder}/gone/x y.yaml`),
        problem("environment", "B"),
      ],
      file,
      line: 7,
    };
    const edit = `"\${EDITOR:-editor}" +7`;
    expect(settingsCommands(new DepthwattError("CONFIG_INVALID", "x", { context }))).toEqual([
      "unset A",
      "unset B",
      `${edit} ${file}`,
      `depthwatt config --config ${file}`,
      `sudo ${edit} '${folder}/gone/x y.yaml'`,
      `sudo depthwatt config --config '${folder}/gone/x y.yaml'`,
    ]);
    const alone = new DepthwattError("CONFIG_INVALID", "x", { context: { file, line: "7" } });
    expect(settingsCommands(alone)).toEqual([
      `"\${EDITOR:-editor}" ${file}`,
      `depthwatt config --config ${file}`,
    ]);
    const gone = new DepthwattError("CONFIG_INVALID", "x", { context: { file: join(folder, "gone.yaml") } });
    expect(settingsCommands(gone)).toEqual([]);
  });

  test("for secrets: closed, made, replaced, or none", () => {
    const file = join(newFolder(), "secret");
    const commands = (key: string, code: "CONFIG_UNREADABLE" | "CONFIG_INVALID", name: unknown = file) =>
      secretCommands(new DepthwattError(code, "x", { context: { key, file: name } }));
    const [control, password, key] = [
      "control.secretFile",
      "outputs.mqtt.passwordFile",
      "outputs.mqtt.keyFile",
    ];
    const empty = `install -m 0600 /dev/null ${file}`;
    expect(commands(control!, "CONFIG_UNREADABLE")).toEqual([
      empty,
      `openssl rand -hex 32 | tee ${file} > /dev/null`,
    ]);
    expect(commands(password!, "CONFIG_UNREADABLE")).toEqual([empty, `"\${EDITOR:-editor}" ${file}`]);
    expect(commands(key!, "CONFIG_UNREADABLE")).toBeUndefined();
    expect(commands("device", "CONFIG_UNREADABLE")).toBeUndefined();
    expect(commands(control!, "CONFIG_UNREADABLE", 7)).toBeUndefined();
    expect(commands(control!, "CONFIG_UNREADABLE", `${folder}/gone/secret`)).toEqual([
      `sudo install -m 0600 /dev/null ${folder}/gone/secret`,
      `openssl rand -hex 32 | sudo tee ${folder}/gone/secret > /dev/null`,
    ]);
    writeFileSync(file, "short\n");
    chmodSync(file, 0o600);
    expect(commands(control!, "CONFIG_INVALID")).toHaveLength(2);
    expect(commands(password!, "CONFIG_INVALID")).toBeUndefined();
    expect(commands(control!, "CONFIG_UNREADABLE")).toBeUndefined();
    // Any right of others: to read, to write, or to run.
    for (const mode of [0o604, 0o602, 0o601]) {
      chmodSync(file, mode);
      for (const one of [control!, password!, key!])
        expect(commands(one, "CONFIG_UNREADABLE")).toEqual([`chmod 600 ${file}`]);
    }
    chmodSync(file, 0o640);
    expect(commands(control!, "CONFIG_UNREADABLE")).toBeUndefined();
  });
});
