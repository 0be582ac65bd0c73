// SPDX-License-Identifier: Apache-2.0
// Failures of a camera that ran: unplugged, closed under a loop, without USB bandwidth.
import { constants } from "node:os";
import { describe, expect, test, vi } from "vitest";
import { CameraError, type Frame, open } from "../src/index.js";
import { counted, until } from "./fake-video/helpers.js";
import {
  around,
  countAgain,
  deliver,
  fake,
  GAIN,
  looped,
  opened,
  PATH,
  streaming,
  useOneCamera,
} from "./fake-video/one-camera.js";

useOneCamera();

describe("failures", () => {
  test("unplugged and back under another name: the same camera, the same loop, its controls set again", async () => {
    const camera = await opened({ controls: { gain: 40 } }, { bus: "usb-1", controls: [GAIN] });
    camera.watch("gain");
    const events: string[] = [];
    camera.on("lost", (reason) => events.push(`lost ${reason}`));
    camera.on("back", () => events.push("back"));
    const { seen } = looped(camera);
    await streaming();
    deliver();
    await until(() => seen.length === 1, "a frame");
    fake.unplug(PATH);
    await until(() => events.length === 1, "lost");
    expect(events[0]).toBe(`lost ${PATH}: the camera was unplugged (ENODEV).`);
    expect(() => camera.set("gain", 5)).toThrow(/is away/);
    fake.plugIn({ path: PATH, bus: "usb-1", controls: [GAIN] });
    await until(() => fake.state(PATH).streaming, "stream again");
    countAgain();
    deliver();
    await until(() => seen.length === 2, "a frame again");
    expect(events[1]).toBe("back");
    expect(fake.control(PATH, GAIN.id)).toBe(40);
    const changed = vi.fn();
    camera.on("control", changed);
    fake.change(PATH, GAIN.id, 45);
    await until(() => changed.mock.calls.length === 1, "still watched");
  });

  test("without reconnection the loop throws what happened", async () => {
    const camera = await opened({ reconnect: false });
    const { ended } = looped(camera);
    await streaming();
    fake.unplug(PATH);
    await expect(ended).rejects.toMatchObject({ code: "DEVICE_UNAVAILABLE", message: /unplugged/ });
    await camera.close();
    expect(fake.state(PATH)).toMatchObject({ opens: 0, mappings: 0 });
  });

  test("read by a function, the same is an error event", async () => {
    const camera = await opened({ reconnect: false });
    const errors: Error[] = [];
    camera.on("error", (error) => errors.push(error));
    camera.start((frame) => frame.release());
    await streaming();
    fake.unplug(PATH);
    await until(() => errors.length === 1, "an error");
    expect(errors[0]).toBeInstanceOf(CameraError);
  });

  test("an abort closes the camera, and the loop throws the signal's reason", async () => {
    const stop = new AbortController();
    const camera = await opened({ signal: stop.signal });
    const { seen, ended } = looped(camera);
    await streaming();
    deliver();
    await until(() => seen.length === 1, "a frame");
    stop.abort(new Error("enough"));
    await expect(ended).rejects.toThrow("enough");
    await camera.close();
    expect(fake.state(PATH)).toMatchObject({ opens: 0, mappings: 0 });
    await expect(open(PATH, { signal: stop.signal }, around())).rejects.toThrow("enough");
    const late = new AbortController();
    const opening = open(PATH, { signal: late.signal }, around());
    late.abort();
    await expect(opening).rejects.toMatchObject({ name: "AbortError" });
    expect(fake.state(PATH).opens).toBe(0);
  });

  test("closed while a loop waits: the loop ends", async () => {
    const camera = await opened();
    const { seen, ended } = looped(camera);
    await streaming();
    await camera.close();
    await ended;
    expect(seen).toEqual([]);
  });

  test("it can be left to the end of a block", async () => {
    fake.plugIn({ path: PATH });
    const camera = await open(PATH, {}, around());
    await camera[Symbol.asyncDispose]();
    expect(fake.state(PATH).opens).toBe(0);
  });
});

describe("too little USB bandwidth", () => {
  const { ENOSPC } = constants.errno;

  test("at the first start: the camera ends with its own code and says what to do", async () => {
    fake.plugIn({ path: PATH });
    fake.fail(PATH, "STREAMON", ENOSPC, 1e9);
    const camera = await open(PATH, {}, around());
    const ended = (async () => {
      for await (const _ of camera);
    })();
    await expect(ended).rejects.toMatchObject({
      code: "DEVICE_BANDWIDTH",
      message: expect.stringMatching(/free USB bandwidth/),
      hint: expect.stringMatching(/Motion JPEG.*quirks=128/),
    });
    await until(() => fake.state(PATH).opens === 0, "the camera is closed");
  });

  test("after a replug: the reason changes, and the camera returns when there is room again", async () => {
    const camera = await opened();
    const reasons: string[] = [];
    camera.on("lost", (reason) => reasons.push(reason));
    const seen: Frame[] = [];
    camera.start((frame) => seen.push(frame.keep()));
    await streaming();
    deliver(counted(1));
    await until(() => seen.length === 1, "the first image");
    fake.fail(PATH, "STREAMON", ENOSPC, 2);
    fake.fatal(PATH, true);
    await until(() => reasons.length === 1, "the stream's failure");
    fake.fatal(PATH, false);
    await until(() => reasons.length === 2, "the missing bandwidth");
    expect(reasons[1]).toMatch(/free USB bandwidth.*Motion JPEG/);
    await until(() => fake.state(PATH).streaming, "the stream is on again");
    deliver(counted(2));
    await until(() => seen.length === 2, "the next image");
    expect(reasons).toHaveLength(2);
    await camera.close();
  });
});
