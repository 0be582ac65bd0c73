// SPDX-License-Identifier: Apache-2.0
// The suites, once: what belongs to each, how long it may take, what it is for. `npm test` runs the short ones, `npm run
// test:all` the long ones, `npm run test:nightly` these and the nightly ones, `npm run test:apart` those before a release.
import { readdirSync } from "node:fs";

export interface Suite {
  /** Begins with "long-", "nightly-", "apart-" or neither, which is how the scripts of package.json choose. */
  name: string;
  /** Beginnings of paths. A file belongs to the suite with the longest one that fits. */
  files: readonly string[];
  /** Seconds that its files may take together on two idle cores, filesAtOnce() of them at a time. */
  budgetSeconds: number;
  for: string;
}

export const SUITES: readonly Suite[] = [
  {
    name: "architecture",
    files: ["test/architecture/"],
    budgetSeconds: 9,
    for: "the suites, the tools for tests",
  },
  { name: "unit", files: ["test/unit/"], budgetSeconds: 330, for: "one module at a time" },
  {
    name: "mocks",
    files: [
      "test/unit/camera/command/command-camera.test.ts",
      "test/unit/edge/cli/run.test.ts",
      "test/unit/edge/commands/doctor/cameras.test.ts",
      "test/unit/edge/commands/published-figures.test.ts",
      "test/unit/edge/run/duty-cycle.test.ts",
      "test/unit/edge/run/live-effects.test.ts",
      "test/unit/edge/run/published-figures.test.ts",
      "test/unit/edge/run/rigs.test.ts",
      "test/unit/edge/run/transitions.test.ts",
      "test/unit/image-library.test.ts",
      "test/unit/publish/open-mqtt.test.ts",
    ],
    budgetSeconds: 90,
    for: "modules replaced by vi.mock, each file in its own process",
  },
  {
    name: "v4l2-camera",
    files: ["camera/v4l2/test/"],
    budgetSeconds: 14,
    for: "the package of cameras alone, against a driver in memory",
  },
  {
    name: "stages",
    files: ["test/stages/"],
    budgetSeconds: 85,
    for: "every stage: by hand, its properties, its twins on this CPU",
  },
  { name: "golden", files: ["test/golden/"], budgetSeconds: 15, for: "hashes that never change" },
  {
    name: "integration",
    files: ["test/integration/"],
    budgetSeconds: 290,
    for: "the program with real brokers, devices' doubles, browsers",
  },
  {
    name: "hostile",
    files: ["test/hostile/"],
    budgetSeconds: 11,
    for: "input and callers that mean no good",
  },
  {
    name: "viewer",
    files: ["test/viewer/"],
    budgetSeconds: 20,
    for: "the live page in Chromium, as a person uses it",
  },
  {
    name: "long-integration",
    files: [
      "camera/v4l2/test/garbage.test.ts",
      "camera/v4l2/test/unplug-cycles.test.ts",
      "test/architecture/checks.test.ts",
      "test/architecture/package.test.ts",
      "test/architecture/sbom.test.ts",
      "test/integration/capture-cost.test.ts",
      "test/integration/capture-latency.test.ts",
      "test/integration/command-programs.test.ts",
      "test/integration/confidence.test.ts",
      "test/integration/control-load.test.ts",
      "test/integration/control-presets.test.ts",
      "test/integration/control-program.test.ts",
      "test/integration/control.test.ts",
      "test/integration/energy-figures.test.ts",
      "test/integration/governor-run.test.ts",
      "test/integration/left-strip.test.ts",
      "test/integration/library-page.test.ts",
      "test/integration/live-cameras.test.ts",
      "test/integration/match-warnings.test.ts",
      "test/integration/no-threads.test.ts",
      "test/integration/orderly-end.test.ts",
      "test/integration/pipeline-rate.test.ts",
      "test/integration/points.test.ts",
      "test/integration/preview.test.ts",
      "test/integration/profile-energy.test.ts",
      "test/integration/trial-broker.test.ts",
      "test/integration/trial-page.test.ts",
      "test/unit/camera/live/camera-configs.test.ts",
      "test/unit/camera/live/rephase.test.ts",
      "test/unit/doubles/needs.test.ts",
      "test/unit/edge/cli/real-shells.test.ts",
      "test/unit/edge/commands/bench/opencv-peer.test.ts",
      "test/unit/edge/commands/profile/plan.test.ts",
      "test/unit/edge/commands/support-bundle/support-bundle.test.ts",
      "test/unit/eval/exponential-accuracy.test.ts",
      "test/unit/governor/loop.test.ts",
      "test/unit/memory-back.test.ts",
      "test/unit/power/nvml.test.ts",
      "test/unit/power/sampler.test.ts",
      "test/unit/power/supply.test.ts",
      "test/unit/predictions.test.ts",
    ],
    budgetSeconds: 645,
    for: "runs of many seconds: every live setting a hundred times, energy of stages, cost and latency of capture, a governor at work, OpenCV measured in turn, the checks themselves, what npm would publish",
  },
  {
    name: "long-rig",
    files: ["test/long-rig/", "test/unit/health-examine.test.ts"],
    budgetSeconds: 76,
    for: "rigs that have moved, pairs that were mounted wrongly: figures, verdicts, alarms, corrections",
  },
  {
    name: "long-calibrate",
    files: [
      "test/long-calibrate/",
      "test/unit/camera/calibrate/adjustment.test.ts",
      "test/unit/camera/calibrate/others.test.ts",
      "test/unit/camera/calibrate/pictures.test.ts",
      "test/unit/camera/calibration/opencv-storage.test.ts",
      "test/unit/camera/calibration/rectification.test.ts",
      "test/unit/camera/calibration/row-alignment.test.ts",
    ],
    budgetSeconds: 268,
    for: "depthwatt calibrate as a program: live cameras, rendered rigs, sets that OpenCV calibrates too, bad input",
  },
  {
    name: "long-recordings",
    files: [
      "test/integration/batch.test.ts",
      "test/integration/long-record",
      "test/integration/record.test.ts",
      "test/unit/mcap/huge-recordings.test.ts",
    ],
    budgetSeconds: 312,
    for: "recordings whose program is killed a hundred times, a batch of three workers at a queue, one over all scenes",
  },
  {
    name: "long-viewer",
    files: ["test/viewer/long-"],
    budgetSeconds: 570,
    for: "the live page: access, control, brokers that go and come back, memory over time",
  },
  {
    name: "long-outputs",
    files: ["test/outputs/"],
    budgetSeconds: 234,
    for: "outputs and readers with their counterparts: Prometheus, brokers of other makers, Python, C++, ROS",
  },
  {
    name: "long-stranger",
    files: ["test/stranger/"],
    budgetSeconds: 51,
    for: "a stranger's tasks with the commands of README and guides",
  },
  {
    name: "long-hostile",
    files: [
      "test/hostile/command-lines.test.ts",
      "test/hostile/control-fuzz.test.ts",
      "test/hostile/http-doors.test.ts",
      "test/hostile/leaving.test.ts",
      "test/hostile/little-memory.test.ts",
      "test/hostile/programme.test.ts",
      "test/hostile/secrets.test.ts",
      "test/hostile/terminated-worker.test.ts",
    ],
    budgetSeconds: 140,
    for: "hundreds of random attacks on every door and command, terminated workers, little memory",
  },
  {
    name: "long-fuzz",
    files: ["test/fuzz/"],
    budgetSeconds: 180,
    for: "readers of bytes that others wrote, ten seconds each: libFuzzer, fast-check",
  },
  {
    name: "long-bad-days",
    files: ["test/bad-days/"],
    budgetSeconds: 172,
    for: "failures of a running program: messages, recovery, memory afterwards",
  },
  {
    name: "long-soak",
    files: ["test/soak/"],
    budgetSeconds: 100,
    for: "ninety seconds of the soak: every output, bad consumers, faults, and each frame accounted for",
  },
  {
    name: "long-emulation",
    files: [
      "test/golden/engine-neon.test.ts",
      "test/golden/sgm-neon.test.ts",
      "test/golden/stage-twins.test.ts",
      "camera/v4l2/test/capture-races.test.ts",
      "camera/v4l2/test/sanitized.test.ts",
      "test/hostile/engine-races.test.ts",
      "test/hostile/interrupted-tools.test.ts",
      "test/hostile/sanitized.test.ts",
      "test/stages/rvl-fuzz.test.ts",
      "test/unit/scene-bits.test.ts",
    ],
    budgetSeconds: 680,
    for: "NEON under emulation, sanitizers",
  },
  {
    name: "long-gpu",
    files: [
      "test/integration/cuda-engine.test.ts",
      "test/integration/cuda-kernels.test.ts",
      "test/integration/cuda-plugin.test.ts",
      "test/integration/plugin-refusals.test.ts",
    ],
    budgetSeconds: 470,
    for: "kernels and the CUDA backend on the CPU, every thread a fiber",
  },
  {
    name: "nightly-compilers",
    files: ["test/compilers/"],
    budgetSeconds: 2000,
    for: "the addon with the oldest and newest g++ and clang, the kernels with the oldest nvcc",
  },
  {
    name: "long-additions",
    files: ["test/integration/toy-"],
    budgetSeconds: 120,
    for: "copies of the tree with a toy of every kind: stage, matcher, parameter, source, output, command, setting, board, sensor",
  },
  {
    name: "long-vm",
    files: ["test/capture-vm/", "camera/v4l2/test/vm/"],
    budgetSeconds: 607,
    for: "virtual machines with the kernel's own test cameras",
  },
  {
    name: "nightly-packages",
    files: ["test/packages/"],
    budgetSeconds: 1000,
    for: "the Debian packages: judged, packed twice, and lived with in a clean Debian from installation to purge; the npm tarballs",
  },
  {
    name: "nightly-systemd",
    files: ["test/systemd-vm/"],
    budgetSeconds: 620,
    for: "the service in a virtual machine whose init is systemd: operation, failures, boots",
  },
  {
    name: "apart-packages",
    files: ["test/packages-apart/"],
    budgetSeconds: 1500,
    for: "the Debian packages of both architectures compiled twice, arm64's lived with under emulation",
  },
  {
    name: "apart-compilers",
    files: ["test/compilers-apart/"],
    budgetSeconds: 900,
    for: "the addon with the compilers between, the kernels with nvcc 13",
  },
  {
    name: "apart-service-page",
    files: ["test/service-page/"],
    budgetSeconds: 600,
    for: "the service's page followed line by line, from Debian packages, in a virtual machine whose init is systemd",
  },
];

/**
 * The files that take more than a minute, longest first. A run starts with them, so that no core idles at its end. vitest knows
 * how long a file takes only from a run before, which a clean clone lacks.
 */
export const LONGEST: readonly string[] = [
  "test/systemd-vm/systemd-vm.test.ts",
  "test/capture-vm/capture-vm.test.ts",
  "test/hostile/engine-races.test.ts",
  "test/integration/cuda-kernels.test.ts",
  "test/integration/control-load.test.ts",
  "test/hostile/sanitized.test.ts",
  "test/integration/cuda-engine.test.ts",
  "camera/v4l2/test/sanitized.test.ts",
  "test/golden/engine-neon.test.ts",
  "test/outputs/fleet.test.ts",
  "test/fuzz/native.test.ts",
  "test/soak/soak.test.ts",
  "test/viewer/long-run.test.ts",
  "test/integration/long-record-batch.test.ts",
  "test/integration/long-record-kill.test.ts",
  "test/golden/stage-twins.test.ts",
  "test/integration/toy-engine.test.ts",
  "test/integration/profile-energy.test.ts",
  "test/golden/sgm-neon.test.ts",
];

/** Moves the longest files to the front and keeps the order of the others. `path` is from the project's root. */
export function longestFirst<Item>(items: readonly Item[], path: (item: Item) => string): Item[] {
  const rank = (item: Item) => (LONGEST.indexOf(path(item)) + LONGEST.length + 1) % (LONGEST.length + 1);
  return [...items].sort((a, b) => rank(a) - rank(b));
}

const isShort = (name: string) => !/^(long|nightly|apart)-/.test(name);
const isNightly = (name: string) => name.startsWith("nightly-");

/**
 * Returns whether the files of a suite run in the same processes, which saves the start of a process and its imports. Long
 * suites measure memory, descriptors and times, so each of their files has its own process.
 */
export const sharesProcesses = ({ name }: Suite): boolean => isShort(name) && name !== "mocks";

/** Returns the vitest project of a suite. Suites that share processes are one: each process loads the program once. */
export const projectOf = (suite: Suite): string => (sharesProcesses(suite) ? "short" : suite.name);

/**
 * Returns how many files of a suite run at a time on two cores. Short ones often wait for a timer or a process, nightly ones for the
 * disk: more files than cores use that time.
 */
export const filesAtOnce = ({ name }: Suite): number => (isShort(name) ? 5 : isNightly(name) ? 3 : 2);

/**
 * Chooses the suites of a vitest command line. vitest accepts only one negative pattern, so nightly suites and suites apart are
 * left out until the command line names their kind or one of their files.
 */
export function chosenSuites(words: readonly string[]): readonly Suite[] {
  const isHidden = (name: string) => /^(apart|nightly)-/.test(name);
  const names = (word: string) =>
    /^(--project=)?!?(apart|nightly)-/.test(word) || isHidden(findSuite(word)?.name ?? "");
  return words.some(names) ? SUITES : SUITES.filter(({ name }) => !isHidden(name));
}

/** Every test file of the project: paths from its root. */
export function testFiles(): string[] {
  return ["test", "camera/v4l2/test"]
    .flatMap((folder) =>
      (readdirSync(new URL(`../${folder}/`, import.meta.url), { recursive: true }) as string[]).map(
        (path) => `${folder}/${path}`,
      ),
    )
    .filter((path) => path.endsWith(".test.ts"))
    .sort();
}

export function findSuite(path: string): Suite | undefined {
  const fitting = SUITES.flatMap((suite) =>
    suite.files.filter((start) => path.startsWith(start)).map((start) => ({ suite, length: start.length })),
  );
  return fitting.sort((a, b) => b.length - a.length)[0]?.suite;
}
