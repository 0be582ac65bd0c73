// SPDX-License-Identifier: Apache-2.0
// The package against the kernel's own test cameras; each name is a test of camera-vm.test.ts.
import { spawn } from "node:child_process";
import { chmodSync } from "node:fs";
import {
  assert,
  describe,
  held,
  heldAtRest,
  listDevices,
  open,
  pair,
  plugAll,
  read,
  report,
  rest,
  setControl,
  unplugAll,
  until,
  webcams,
} from "./tools.mjs";

const SMALL = { format: "GREY", width: 320, height: 180, rateHz: 25 };

/** Opens, uses and closes. */
async function withCamera(path, request, use) {
  const camera = await open(path, request);
  try {
    return await use(camera);
  } finally {
    await camera.close();
  }
}

const cases = {
  "every device is listed with formats, sizes, rates and controls": async ([left, right]) => {
    const cameras = (await listDevices()).filter((one) => one.available && one.captures);
    assert.deepEqual(
      cameras.slice(0, 2).map(({ path, driver, multiPlanar }) => [path, driver, multiPlanar]),
      [
        [left, "vivid", false],
        [right, "vivid", true],
      ],
    );
    const { formats, controls } = await describe(left);
    const vga = formats
      .find(({ format }) => format === "YUYV")
      .sizes.find(({ maxWidth, maxHeight }) => maxWidth === 640 && maxHeight === 480);
    assert.deepEqual(vga.ratesHz, [1, 2, 4, 5, 10, 12.5, 15, 25]);
    assert(controls.some(({ name, maximum }) => name === "brightness" && maximum === 255));
  },

  "frames carry the kernel's time stamps and sequence numbers, single-planar and multi-planar": async (
    paths,
  ) => {
    for (const path of paths) {
      await withCamera(path, SMALL, async (camera) => {
        assert.deepEqual(
          [camera.format.width, camera.format.height, camera.layout.format],
          [320, 180, "GREY"],
        );
        const seen = await read(camera, 20, (frame) => assert(frame.data.length >= 320 * 180));
        for (const [i, frame] of seen.entries()) {
          assert.equal(frame.timestampOrigin, "monotonic");
          assert(frame.bytesUsed >= 320 * 180);
          if (i === 0) continue;
          assert(frame.timestampNs > seen[i - 1].timestampNs);
          assert(frame.sequence > seen[i - 1].sequence);
        }
        const perFrameMs =
          Number(seen.at(-1).timestampNs - seen[0].timestampNs) /
          1e6 /
          (seen.at(-1).sequence - seen[0].sequence);
        assert(Math.abs(perFrameMs - 40) < 4, `${perFrameMs} ms a frame`);
      });
    }
  },

  "formats of several memory planes: every plane holds what NV12 has in one": async ([, planar]) => {
    const size = { width: 320, height: 180, exact: true };
    const captureFrame = (format) =>
      withCamera(planar, { ...size, format }, async (camera) => {
        for (let skipped = 0; skipped < 2; skipped++) (await camera.frame()).release();
        const frame = await camera.frame();
        const planes = frame.planes.map(({ data, strideBytes, bytesUsed }) => ({
          data: Buffer.from(data.subarray(0, bytesUsed)),
          strideBytes,
        }));
        assert.equal(
          frame.bytesUsed,
          planes.reduce((sum, { data }) => sum + data.length, 0),
        );
        frame.release();
        return planes;
      });
    // Low in the picture, where vivid writes no moving text over its colour bars.
    const row = ({ data, strideBytes }, y, bytes) => data.subarray(y * strideBytes, y * strideBytes + bytes);
    const [{ data, strideBytes }] = await captureFrame("NV12");
    const luma = data.subarray(170 * strideBytes, 170 * strideBytes + 320);
    const chroma = data.subarray((180 + 85) * strideBytes, (180 + 85) * strideBytes + 320);
    assert(new Set(luma).size > 4 && new Set(chroma).size > 4, "colour bars");
    const every = (bytes, from) => Buffer.from(bytes.filter((_, i) => i % 2 === from));
    const nv12m = await captureFrame("NM12");
    assert.equal(nv12m.length, 2);
    assert.deepEqual([row(nv12m[0], 170, 320), row(nv12m[1], 85, 320)], [luma, chroma]);
    const yuv420m = await captureFrame("YM12");
    assert.equal(yuv420m.length, 3);
    assert.deepEqual(
      [row(yuv420m[0], 170, 320), row(yuv420m[1], 85, 160), row(yuv420m[2], 85, 160)],
      [luma, every(chroma, 0), every(chroma, 1)],
    );
    // Chroma of every row; vivid also begins its first plane behind 128 bytes of something else.
    const nv16m = await captureFrame("NM16");
    assert.deepEqual([nv16m.length, row(nv16m[0], 170, 320), row(nv16m[1], 170, 320)], [2, luma, chroma]);
    return { planes: [nv12m, yuv420m, nv16m].map((planes) => planes.map((one) => one.strideBytes)) };
  },

  "settings that the camera changes are reported; exact refuses them": async ([left]) => {
    await withCamera(left, { ...SMALL, rateHz: 14, width: 700 }, async ({ format }) => {
      assert.equal(format.rateHz, 15);
      assert.notEqual(format.width, 700);
    });
    await assert.rejects(open(left, { ...SMALL, width: 700, exact: true }), { code: "DEVICE_UNSUITABLE" });
  },

  "the process's own memory, and DMA buffers": async (paths) => {
    for (const path of paths)
      await withCamera(path, { ...SMALL, memory: "userptr" }, (camera) => read(camera, 6));
    await withCamera(paths[0], { ...SMALL, dmaBuffers: true }, async (camera) => {
      assert.equal(camera.dmaBuffers.length, 8);
      await read(camera, 3);
    });
  },

  "controls are set and read back, and what another process changes is an event": async ([left]) =>
    withCamera(left, { ...SMALL, controls: { brightness: 90 } }, async (camera) => {
      assert.equal(camera.get("brightness"), 90);
      assert.deepEqual(camera.set("brightness", 77), { name: "brightness", asked: 77, got: 77 });
      assert.throws(() => camera.set("brightness", 700), { code: "DEVICE_UNSUITABLE" });
      const changes = [];
      camera.on("control", ({ name, value }) => changes.push([name, value]));
      camera.set("gain_automatic", false);
      camera.watch("brightness", "gain");
      const stop = camera.start((frame) => frame.release());
      await until(() => camera.statistics().frames > 2, "frames");
      // vivid's automatic gain counts seconds and leaves its last value: setting the same one would be no change.
      const gain = camera.get("gain") === 33 ? 34 : 33;
      setControl(left, "brightness=100");
      setControl(left, `gain=${gain}`);
      await until(() => changes.length >= 2, "two events");
      assert.deepEqual(changes, [
        ["brightness", 100],
        ["gain", gain],
      ]);
      stop();
    }),

  "30 % of the buffers dropped: every loss is counted": async ([left]) => {
    setControl(left, "percentage_of_dropped_buffers=30");
    try {
      return await withCamera(left, SMALL, async (camera) => {
        // A loss that is not counted raises this figure for good; one before a frame that was not read yet lowers it for a while.
        const uncounted = [];
        await read(camera, 60, (frame) => {
          const { driver = 0, replaced = 0 } = camera.statistics().drops;
          uncounted.push(frame.sequence - uncounted.length - driver - replaced);
        });
        assert.equal(Math.max(...uncounted.slice(30)), Math.max(...uncounted.slice(0, 30)), uncounted.join());
        const { drops } = camera.statistics();
        assert(drops.driver > 5, JSON.stringify(drops));
        return drops;
      });
    } finally {
      setControl(left, "percentage_of_dropped_buffers=0");
    }
  },

  "two cameras are paired by time": async ([left, right]) =>
    withCamera(left, SMALL, (one) =>
      withCamera(right, SMALL, async (other) => {
        const stereo = pair(one, other);
        let pairs = 0;
        for await (const { skewNs } of stereo) {
          assert(Math.abs(skewNs) <= 20.1e6, `${skewNs / 1e6} ms apart`);
          if (++pairs === 30) break;
        }
        return stereo.statistics();
      }),
    ),

  "unplugged and back: the same camera, the same loop": async ([left]) =>
    withCamera(left, { ...SMALL, controls: { brightness: 66 } }, async (camera) => {
      const events = [];
      camera.on("lost", (reason) => events.push(reason));
      camera.on("back", () => events.push("back"));
      let seen = 0;
      camera.start((frame) => {
        seen++;
        frame.release();
      });
      await until(() => seen > 3, "frames");
      unplugAll();
      await until(() => events.length === 1, "lost");
      assert.match(events[0], /unplugged \(ENODEV\)/);
      await rest(500);
      plugAll();
      const before = seen;
      const returned = performance.now();
      await until(() => seen > before + 2, "frames again");
      assert.equal(events[1], "back");
      assert.equal(camera.get("brightness"), 66);
      return { backMs: Math.round(performance.now() - returned) };
    }),

  "20 unplug cycles: always back, no descriptor, mapping or thread left": async ([left]) =>
    withCamera(left, SMALL, async (camera) => {
      let seen = 0;
      camera.start((frame) => {
        seen++;
        frame.release();
      });
      await until(() => seen > 3, "frames");
      const before = held();
      assert.equal(before.mappings, 8);
      for (let cycle = 0; cycle < 20; cycle++) {
        const count = seen;
        unplugAll();
        plugAll();
        await until(() => seen > count + 2 && camera.statistics().threadNs > 0, `cycle ${cycle}`);
      }
      await until(() => JSON.stringify(held()) === JSON.stringify(before), "nothing left").catch(() => {});
      assert.deepEqual(held(), before);
      return before;
    }),

  "100 times open and close: no descriptor, mapping or thread left": async ([left]) => {
    const once = () => withCamera(left, { ...SMALL, rateHz: 60 }, (camera) => read(camera, 1));
    for (let i = 0; i < 5; i++) await once();
    const before = await heldAtRest();
    for (let i = 0; i < 100; i++) await once();
    assert.deepEqual(await heldAtRest(), before);
    return before;
  },

  "an abort ends the loop with its reason": async ([left]) => {
    const stop = new AbortController();
    await withCamera(left, { ...SMALL, signal: stop.signal }, async (camera) => {
      await assert.rejects(
        read(camera, 1000, ({ sequence }) => sequence > 3 && stop.abort(new Error("enough"))),
        /enough/,
      );
    });
  },

  "not a camera, no such file, no permission, busy: each has its code": async ([left]) => {
    await assert.rejects(open("/dev/null"), { code: "DEVICE_UNSUITABLE" });
    await assert.rejects(open("/dev/video77"), { code: "DEVICE_UNAVAILABLE" });
    chmodSync(left, 0o600);
    process.seteuid(65534);
    try {
      await assert.rejects(open(left), { code: "DEVICE_PERMISSION", hint: /group 'video'/ });
    } finally {
      process.seteuid(0);
    }
    const other = spawn("v4l2-ctl", ["-d", left, "--stream-mmap", "--stream-count=100000"], {
      stdio: ["ignore", "ignore", "pipe"],
    });
    const closed = new Promise((resolve) => other.on("close", resolve));
    try {
      await Promise.race([new Promise((resolve) => other.stderr.once("data", resolve)), closed]);
      await assert.rejects(open(left, SMALL), {
        code: "DEVICE_BUSY",
        message: new RegExp(`in use by v4l2-ctl \\(process ${other.pid}\\)`),
      });
    } finally {
      other.kill("SIGKILL");
      await closed;
    }
  },
};

let failed = 0;
for (const [name, body] of Object.entries(cases)) {
  const started = performance.now();
  const facts = { case: name, ok: true };
  try {
    facts.facts = await body(await webcams());
  } catch (error) {
    failed++;
    facts.ok = false;
    facts.error = error.stack;
  }
  report({ ...facts, ms: Math.round(performance.now() - started) });
}
process.exit(failed === 0 ? 0 : 1);
