// SPDX-License-Identifier: Apache-2.0
// Defines the faults of a soak, by name: each begins, lasts, and is over when its promise resolves.
import { spawn } from "node:child_process";
import { rmSync } from "node:fs";
import { open } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import mqtt from "mqtt";
import { sleep } from "./random.mjs";
import { REFUSED } from "./settings.mjs";

/** Fills the disk of the recording until nothing more fits, and lets the live pages of this process answer meanwhile. */
async function fill(file) {
  const ballast = await open(file, "w");
  const block = Buffer.alloc(1 << 20);
  try {
    for (;;) await ballast.write(block);
  } catch (error) {
    if (error.code !== "ENOSPC") throw error;
  } finally {
    await ballast.close();
  }
}

/** Faults for any source. */
const AROUND = {
  async "the broker stops reading"({ broker, random }) {
    broker.freeze();
    await sleep(random.whole(500, 4000));
    broker.thaw();
  },
  async "the broker dies and comes back"({ broker, random }) {
    await broker.kill();
    await sleep(random.whole(100, 3000));
    await broker.start();
  },
  async "the link is cut in the middle of frames"({ link, random }) {
    for (let cuts = random.whole(1, 3); cuts > 0; cuts--) {
      link.cut();
      await sleep(random.whole(50, 800));
    }
  },
  async "the link takes nothing"({ link, random }) {
    link.stall(true);
    await sleep(random.whole(500, 4000));
    link.stall(false);
  },
  async "the link refuses"({ link, random }) {
    await link.refuse();
    await sleep(random.whole(500, 3000));
    await link.listen();
  },
  async "the program is suspended"({ run, random }) {
    process.kill(run.pid, "SIGSTOP");
    await sleep(random.whole(200, 2500));
    process.kill(run.pid, "SIGCONT");
  },
  async "the calibration changes"({ apply, random }) {
    await apply({ "calibration.crop": random.whole(0, 4) / 4 });
  },
  async "settings that are wrong"({ apply, random }) {
    await apply(random.pick(REFUSED), true);
  },
  async "the disk of the recording is full"({ disk, random }) {
    if (disk === undefined) return "skipped: needs root, to mount a small disk";
    const ballast = join(disk, "ballast");
    await fill(ballast);
    await sleep(random.whole(1000, 4000));
    rmSync(ballast);
  },
  async "a live page is closed by force, and opened again"({ pages, random }) {
    for (let times = random.whole(1, 4); times > 0; times--) await pages.stalled.reopen();
  },
  async "a page that says nonsense"({ page, random }) {
    for (let times = random.whole(1, 5); times > 0; times--) {
      const { port, hostname } = new URL(page);
      const socket = connect(Number(port), hostname);
      socket.on("error", () => {});
      socket.write(
        `GET /live HTTP/1.1\r\nHost: ${hostname}\r\nUpgrade: ${"x".repeat(random.whole(0, 5000))}\r\n\r\n`,
      );
      await sleep(50);
      socket.destroy();
    }
  },
  async "somebody else publishes in its name"({ broker, device, random }) {
    const stranger = await mqtt.connectAsync(broker.url);
    const topic = `depthwatt/${device}`;
    for (const [leaf, payload] of [
      ["state", "{"],
      ["state", JSON.stringify({ state: "online", reason: "x", runId: 1 })],
      [`request/get`, Buffer.alloc(random.whole(0, 20_000), "x")],
    ])
      await stranger.publishAsync(`${topic}/${leaf}`, payload);
    await stranger.endAsync();
  },
  async "the CPU has other work"({ random }) {
    const spin = "const end = Date.now() + Number(process.argv[1]); while (Date.now() < end);";
    const others = [1, 2].map(() => spawn(process.execPath, ["-e", spin, String(random.whole(500, 2500))]));
    await Promise.all(others.map((child) => new Promise((resolve) => child.once("exit", resolve))));
  },
};

export const SCENE_FAULTS = {
  ...AROUND,
  async "the source changes"({ apply, random }) {
    await apply({ "source.synthetic.width": 320, "source.synthetic.height": 240 });
    await sleep(random.whole(500, 2000));
    await apply({ "source.synthetic.width": 640, "source.synthetic.height": 480 });
  },
};

/** And what cameras do, which the driver vivid does for them. */
export const CAMERA_FAULTS = {
  ...AROUND,
  async "the driver drops 30 % of both cameras' images"({ cameras, random }) {
    await cameras.setBoth("percentage_of_dropped_buffers=30");
    await sleep(random.whole(500, 4000));
    await cameras.setBoth("percentage_of_dropped_buffers=0");
  },
  async "images that the driver calls broken"({ cameras, random }) {
    for (let times = random.whole(1, 4); times > 0; times--)
      await cameras.press("inject_v4l2_buf_flag_error");
  },
  async "buffers that the driver does not take back at once"({ cameras, random }) {
    for (let times = random.whole(1, 3); times > 0; times--) await cameras.press("inject_vidioc_qbuf_error");
  },
  async "the stream of a camera fails"({ cameras }) {
    await cameras.press("inject_fatal_streaming_error");
  },
  async "a camera is unplugged, then both are plugged in again"({ cameras, random }) {
    await cameras.press("disconnect");
    await sleep(random.whole(200, 2000));
    await cameras.replug(0);
  },
  async "both cameras are unplugged for a while"({ cameras, random }) {
    await cameras.replug(random.whole(200, 3000));
  },
};
