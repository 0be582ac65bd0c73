// SPDX-License-Identifier: Apache-2.0
// The addon called with what it does not expect: each call answers or throws an error with a code. V4L2_CAMERA_SEED repeats one.
import { expect, test } from "vitest";
import { reportFuzz } from "../../../test/doubles/fuzz-report.js";
import { CAMERA_ERRORS } from "../src/errors.js";
import { fakeVideo } from "./fake-video/fake-video.js";
import { video } from "./fake-video/helpers.js";

const seed = Number(process.env.V4L2_CAMERA_SEED ?? Math.floor(Math.random() * 2 ** 31));
let state = seed;
/** mulberry32. */
function random(below: number): number {
  state = (state + 0x6d2b79f5) >>> 0;
  let t = Math.imul(state ^ (state >>> 15), state | 1);
  t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
  return (((t ^ (t >>> 14)) >>> 0) / 2 ** 32) * below;
}
const pick = <T>(list: readonly T[]): T => list[Math.floor(random(list.length))]!;

const ODD: readonly (() => unknown)[] = [
  () => undefined,
  () => null,
  () => true,
  () => Number.NaN,
  () => Number.NEGATIVE_INFINITY,
  () => -1,
  () => 2 ** 31,
  () => 2 ** 53,
  () => 0.5,
  () => "",
  () => "\0",
  () => "x".repeat(10_000),
  () => Symbol("odd"),
  () => 10n,
  () => () => {},
  () => ({}),
  () => [[]],
  () => new Array(3),
  () => Object.create(null),
  () => ({ toString: () => "16", valueOf: () => 16 }),
  () => new Proxy({}, {}),
  () => new SharedArrayBuffer(64),
  () => new Uint8Array(5000),
  () => Array.from({ length: 6 }, () => new Uint8Array(8000)),
  () => new Float32Array(8),
];
const odd = () => pick(ODD)();

function expectCoded(error: unknown, what: string): void {
  expect(error, `seed ${seed}: ${what}`).toBeInstanceOf(Error);
  const { code, message } = error as { code?: string; message: string };
  expect(Object.keys(CAMERA_ERRORS), `seed ${seed}: ${what}: ${message}`).toContain(code);
}

let calls = 0;
async function attempt(what: string, call: () => unknown): Promise<unknown> {
  calls++;
  try {
    return await call();
  } catch (error) {
    expectCoded(error, what);
    return undefined;
  }
}

test("opening, describing and naming of anything", async () => {
  const fake = fakeVideo();
  fake.plugIn({ path: "/f", formats: [{ fourcc: "GREY", width: 64, height: 48, ratesHz: [30] }] });
  const good = { path: "/f", fourcc: "GREY", width: 64, height: 48, buffers: 4, system: fake.system };
  let opened = 0;
  for (let i = 0; i < 300; i++) {
    const options: Record<string, unknown> = { ...good };
    // The driver is not fuzzed: its arguments are not checked.
    const names = [
      "path",
      "fourcc",
      "width",
      "height",
      "buffers",
      "rateHz",
      "decode",
      "userBuffers",
      "ownMemory",
    ];
    // One in ten is valid, so that some cameras are opened with every seed.
    for (let bent = i % 10 === 4 ? 0 : 1 + random(2); bent > 0; bent--) options[pick(names)] = odd();
    if (i % 20 === 7) options.formatControls = { sensor_mode: odd(), [String(i)]: odd() };
    const camera = (await attempt("open", () => video.open((i % 9 === 0 ? odd() : options) as never))) as
      | Awaited<ReturnType<typeof video.open>>
      | undefined;
    if (camera !== undefined) {
      opened++;
      for (const name of [
        "release",
        "restartAt",
        "readControl",
        "writeControl",
        "watchControl",
        "start",
      ] as const)
        await attempt(name, () => (camera[name] as (...words: unknown[]) => unknown)(odd(), odd(), odd()));
      await camera.close();
      for (const name of ["controls", "readControl", "watchControl", "start", "restartAt"] as const)
        await attempt(`${name} after the end`, () =>
          (camera[name] as (...words: unknown[]) => unknown)(1, false, 1),
        );
      await camera.close();
    }
    await attempt("describe", () => video.describe(odd() as never));
    await attempt("identify", () => video.identify(odd() as never));
  }
  expect(opened).toBeGreaterThan(20);
  reportFuzz("calls of the cameras' addon", { executions: calls, opened, seed });
  expect(fake.state("/f")).toMatchObject({ opens: 0, mappings: 0 });
});

test("a device node of every other kind answers with a code", async () => {
  for (const path of [
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/ptmx",
    "/proc/self/mem",
    "/tmp",
    "",
  ])
    expectCoded(await video.open({ path }).catch((error: unknown) => error), path);
});
