// SPDX-License-Identifier: Apache-2.0
// Cameras that go and come back, again and again: nothing of them stays behind.
import { readdirSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";
import { expect, test } from "vitest";
import { open } from "../src/index.js";
import { fakeVideo } from "./fake-video/fake-video.js";
import { counted, now, until } from "./fake-video/helpers.js";

const PATH = "/dev/fake0";

test("20 times unplugged: always back, no descriptor, mapping or thread left", async () => {
  const fake = fakeVideo();
  fake.plugIn({ path: PATH, bus: "usb-1" });
  const camera = await open(PATH, {}, { system: fake.system, folders: { sysfs: "/nowhere" } });
  let seen = 0;
  const reading = (async () => {
    for await (const _ of camera) seen++;
  })();
  const held = () => [readdirSync("/proc/self/fd").length, readdirSync("/proc/self/task").length];
  const oneMore = async (what: string) => {
    const before = seen;
    await until(() => fake.state(PATH).streaming, "stream on");
    fake.deliver(PATH, { timestampNs: now(), sequence: 0, bytes: counted(0) });
    await until(() => seen > before, what);
  };
  await oneMore("a frame");
  const before = held();
  for (let cycle = 0; cycle < 20; cycle++) {
    fake.unplug(PATH);
    await until(() => camera.supervised.camera === undefined, "lost");
    fake.plug(PATH);
    await oneMore(`cycle ${cycle}`);
  }
  // The kernel lists a thread for a moment after it was joined.
  await until(() => isDeepStrictEqual(held(), before), "nothing left");
  expect(fake.state(PATH)).toMatchObject({ opens: 1, mappings: 8 });
  await camera.close();
  await reading;
  expect(fake.state(PATH)).toMatchObject({ opens: 0, mappings: 0 });
}, 60_000);
