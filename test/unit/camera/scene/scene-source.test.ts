// SPDX-License-Identifier: Apache-2.0
// The scene as a source and as single frames, on a fake clock and with a stub that draws on request.
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import {
  type FramePair,
  SceneRenderer,
  type SyntheticOptions,
  SyntheticSource,
} from "../../../../camera/index.js";
import type { NativeSceneOptions } from "../../../../camera/scene/native.js";
import { sceneCalibration } from "../../../../camera/scene/scene-cameras.js";

const SIZE = { width: 160, height: 120 };

class Scene {
  static made: Scene[] = [];
  readonly buffers;
  /** Buffer, frame number and milliseconds of each request. */
  readonly asked: [buffer: number, frame: number, ms: number][] = [];
  readonly truth = vi.fn();
  readonly depthAlong = vi.fn();
  readonly close = vi.fn();
  constructor(
    readonly options: NativeSceneOptions,
    readonly report: (error: Error | null, buffer: number) => void,
  ) {
    this.buffers = Array.from({ length: options.buffers }, (_, i) => ({
      left: Uint8Array.of(i),
      right: Uint8Array.of(100 + i),
    }));
    Scene.made.push(this);
  }
  render(buffer: number, frame: number) {
    this.asked.push([buffer, frame, performance.now()]);
  }
  /** Reports the newest request as drawn. */
  draw(error: Error | null = null) {
    this.report(error, this.asked.at(-1)![0]);
  }
}
const native = { Scene } as never;

beforeEach(() => {
  Scene.made = [];
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setImmediate", "performance"] });
  vi.advanceTimersByTime(1000);
});
afterEach(() => void vi.useRealTimers());

function open(options: Partial<SyntheticOptions> = {}) {
  const source = new SyntheticSource(native, { ...SIZE, rateHz: "max", ...options });
  const [scene, other] = Scene.made as [Scene, Scene];
  const pairs: FramePair[] = [];
  const [onEnd, onError] = [vi.fn(), vi.fn()];
  const start = () =>
    source.start({ onPair: (pair) => void pairs.push(pair), onDegraded() {}, onEnd, onError });
  const frames = () => scene.asked.map(([, frame]) => frame);
  return { source, scene, other, pairs, start, onEnd, onError, frames };
}

describe("what a source says of itself", () => {
  const grey = { leftFormat: "GREY", rightFormat: "GREY", leftStrideBytes: 160, rightStrideBytes: 160 };
  const rgb = { leftFormat: "RGB8", rightFormat: "RGB8", leftStrideBytes: 480, rightStrideBytes: 480 };

  test.each<[Partial<SyntheticOptions>, object, number]>([
    [{}, { ...grey, title: "synthetic scene 160x120 as fast as it is taken", rateHz: undefined }, 3],
    [{ rateHz: 10 }, { ...grey, title: "synthetic scene 160x120 at 10 Hz", rateHz: 10 }, 4],
    [{ maxHeldPairs: 5, colours: true }, { ...rgb, title: expect.any(String), rateHz: undefined }, 6],
  ])("%j", (options, description, buffers) => {
    const { source, scene } = open(options);
    expect(source.description).toEqual({ ...SIZE, ...description, clock: "monotonic" });
    expect(Scene.made).toHaveLength(1);
    // One more than may be held, so that the next one can be drawn.
    expect(scene.options.buffers).toBe(buffers);
    expect(source.inputMemory).toEqual(scene.buffers.flatMap(({ left, right }) => [left, right]));
    expect(source.calibration).toEqual(sceneCalibration({ ...SIZE, ...options }));
  });

  test("a third camera in colours", () => {
    const { source, scene, other } = open({ other: true });
    expect(source.description).toMatchObject({
      ...grey,
      other: { ...SIZE, strideBytes: 480, format: "RGB8" },
    });
    expect(other.options).toMatchObject({ colours: true, buffers: scene.options.buffers });
  });

  test("counters, before a pair and after one", () => {
    const { source, scene, start } = open();
    const none = { dropsLeft: {}, dropsRight: {} };
    const unknown = { skewMsMean: undefined, skewMsP99: undefined, driftPpm: undefined };
    expect(source.counters()).toStrictEqual({ pairs: 0, ...none, ...unknown });
    start();
    scene.draw();
    expect(source.counters()).toStrictEqual({ pairs: 1, ...none, skewMsMean: 0, skewMsP99: 0, driftPpm: 0 });
    const three = open({ other: true });
    const other = { missed: {}, drops: {}, problem: undefined };
    expect(three.source.counters().other).toStrictEqual({ pairs: 0, ...other, offsetNs: undefined });
  });

  test.each([0, -1, Number.NaN])("a rate of %f is refused", (rateHz) => {
    expect(() => open({ rateHz })).toThrow(
      expect.objectContaining({
        code: "CONFIG_INVALID",
        message: `expected source.synthetic.rateHz above 0 or "max", found ${rateHz}`,
      }),
    );
  });
});

describe("pairs as fast as they come back", () => {
  test("one is drawn ahead; a pair that comes back lets it go, but not at once", () => {
    const { scene, pairs, start, frames } = open();
    start();
    for (let drawn = 0; drawn < 3; drawn++) scene.draw();
    // Three buffers: two pairs are held, the third is ready.
    expect(scene.asked.map(([buffer, frame]) => [buffer, frame])).toEqual([
      [2, 0],
      [1, 1],
      [0, 2],
    ]);
    expect(pairs).toHaveLength(2);
    const image = (data: Uint8Array, sequence: number) => ({
      ...SIZE,
      data,
      strideBytes: 160,
      format: "GREY",
      timestampNs: expect.any(BigInt),
      sequence,
    });
    expect(pairs[1]).toEqual({
      left: image(Uint8Array.of(1), 1),
      right: image(Uint8Array.of(101), 1),
      clock: "monotonic",
      release: expect.any(Function),
    });
    pairs[0]!.release();
    expect(pairs).toHaveLength(2);
    vi.advanceTimersByTime(1);
    expect(pairs.map(({ left }) => left.sequence)).toEqual([0, 1, 2]);
    expect(frames()).toEqual([0, 1, 2, 3]);
    expect(scene.asked.at(-1)![0]).toBe(2);
    expect(() => pairs[0]!.release()).toThrow(expect.objectContaining({ code: "INTERNAL" }));
  });

  test("the last one ends the source", () => {
    const { scene, pairs, start, frames, onEnd } = open({ frames: 2 });
    start();
    scene.draw();
    expect(onEnd).not.toHaveBeenCalled();
    scene.draw();
    expect(onEnd).toHaveBeenCalledTimes(1);
    for (const pair of pairs) pair.release();
    vi.advanceTimersByTime(1000);
    expect(frames()).toEqual([0, 1]);
    expect(onEnd).toHaveBeenCalledTimes(1);
    expect(() => start()).toThrow(expect.objectContaining({ code: "INTERNAL" }));
  });

  test("a pair waits for the third camera's image", () => {
    const { scene, other, pairs, start, source } = open({ other: true });
    start();
    expect(other.asked).toEqual(scene.asked);
    scene.draw();
    expect(pairs).toHaveLength(0);
    other.draw();
    const buffer = other.buffers[2]!;
    expect(pairs[0]!.other).toEqual({
      ...SIZE,
      data: buffer.left,
      strideBytes: 480,
      format: "RGB8",
      sequence: 0,
      timestampNs: pairs[0]!.left.timestampNs,
    });
    expect(source.counters().other).toMatchObject({ pairs: 1, offsetNs: 0 });
    // Both are asked for the next frame.
    expect([scene, other].map(({ asked }) => asked.length)).toEqual([2, 2]);
  });
});

describe("pairs at a rate", () => {
  test("a frame for which no buffer is free is dropped", () => {
    const { scene, source, start, pairs } = open({ rateHz: 10, maxHeldPairs: 1 });
    start();
    scene.draw();
    for (let frame = 1; frame <= 2; frame++) {
      vi.advanceTimersByTime(50);
      expect(scene.asked.at(-1)!.slice(1)).toEqual([frame, 1000 + 100 * frame - 50]);
      scene.draw();
      vi.advanceTimersByTime(49);
      expect(source.counters().dropsLeft.noFreeBuffer ?? 0).toBe(frame - 1);
      vi.advanceTimersByTime(1);
      expect(source.counters()).toMatchObject({
        dropsLeft: { noFreeBuffer: frame },
        dropsRight: { noFreeBuffer: frame },
      });
    }
    expect(pairs).toHaveLength(1);
  });

  test("frames whose moment passed while another was drawn are late", () => {
    const { scene, source, start, pairs, frames } = open({ rateHz: 10 });
    start();
    scene.draw();
    pairs[0]!.release();
    expect(frames()).toEqual([0, 1]);
    vi.advanceTimersByTime(350);
    scene.draw();
    pairs[1]!.release();
    // 3.5 periods are over: frame 3 is under way, frame 2 is gone.
    expect(source.counters().dropsRight).toEqual({ late: 1 });
    expect(pairs.map(({ left }) => left.sequence)).toEqual([0, 1]);
    vi.advanceTimersByTime(200);
    expect(frames()).toEqual([0, 1, 3]);
    scene.draw();
    expect(source.counters()).toMatchObject({ pairs: 3, dropsLeft: { late: 2 } });
  });
});

describe("the end", () => {
  const settled = async (promise: Promise<unknown>) => {
    let done = false;
    void promise.then(() => {
      done = true;
    });
    for (let turn = 0; turn < 5; turn++) await Promise.resolve();
    return done;
  };

  test("waits for the image that is drawn and for pairs that are out", async () => {
    const { scene, pairs, source, start, frames } = open();
    start();
    scene.draw();
    const stopping = source.stop();
    expect(await settled(stopping)).toBe(false);
    scene.draw();
    expect(await settled(stopping)).toBe(false);
    expect(scene.close).not.toHaveBeenCalled();
    pairs[0]!.release();
    expect(await settled(stopping)).toBe(true);
    expect(scene.close).toHaveBeenCalledTimes(1);
    vi.advanceTimersByTime(1000);
    expect(pairs).toHaveLength(1);
    expect(frames()).toEqual([0, 1]);
  });

  test("at a rate, forgets what it was waiting for", async () => {
    const { scene, pairs, source, start, frames } = open({ rateHz: 10, other: true });
    start();
    for (const one of Scene.made) one.draw();
    pairs[0]!.release();
    for (const one of Scene.made) one.draw();
    expect(await settled(source.stop())).toBe(true);
    vi.advanceTimersByTime(1000);
    expect(pairs).toHaveLength(1);
    expect(frames()).toEqual([0, 1]);
    for (const one of Scene.made) expect(one.close).toHaveBeenCalledTimes(1);
    expect(scene.close).toHaveBeenCalledTimes(1);
  });

  test("an error is passed on once, and nothing is drawn any more", async () => {
    const { scene, other, source, start, frames, onError, pairs } = open({ other: true });
    start();
    const error = new Error("no memory");
    other.draw(error);
    expect(onError.mock.calls).toEqual([[error]]);
    const stopping = source.stop();
    expect(await settled(stopping)).toBe(false);
    scene.draw();
    expect(await settled(stopping)).toBe(true);
    expect([pairs.length, frames(), onError.mock.calls.length]).toEqual([0, [0], 1]);
  });
});

describe("single frames", () => {
  const turn = [1, 0, 0, 0, 0, -1, 0, 1, 0] as const;

  test("are copies, drawn one after the other; an error ends one of them", async () => {
    const renderer = new SceneRenderer(native, { ...SIZE, view: "ideal" });
    const [scene] = Scene.made as [Scene];
    expect(scene.options).toMatchObject({ ...SIZE, buffers: 1, noiseGrey: 0 });
    const frames = [renderer.frame(7), renderer.frame(8), renderer.frame(9)];
    const failed = frames[1]!.catch((error: Error) => error.message);
    await vi.waitFor(() => expect(scene.asked).toHaveLength(1));
    scene.draw();
    const { left, right } = await frames[0]!;
    expect({ left, right }).toEqual({
      left: { ...SIZE, data: Uint8Array.of(0) },
      right: { ...SIZE, data: Uint8Array.of(100) },
    });
    scene.buffers[0]!.left[0] = 55;
    expect([...left.data]).toEqual([0]);
    await vi.waitFor(() => expect(scene.asked).toHaveLength(2));
    scene.draw(new Error("odd"));
    expect(await failed).toBe("odd");
    await vi.waitFor(() => expect(scene.asked).toHaveLength(3));
    scene.draw();
    expect([...(await frames[2]!).left.data]).toEqual([55]);
    expect(scene.asked.map(([buffer, frame]) => [buffer, frame])).toEqual([
      [0, 7],
      [0, 8],
      [0, 9],
    ]);
    renderer.close();
    expect(scene.close).toHaveBeenCalledTimes(1);
  });

  test("of the third camera, in colours, by a second scene", async () => {
    const renderer = new SceneRenderer(native, SIZE);
    const frames = [renderer.otherFrame(3), renderer.otherFrame(4)];
    const [scene, other] = Scene.made as [Scene, Scene];
    expect(other.options).toMatchObject({ colours: true, buffers: 1 });
    await vi.waitFor(() => expect(other.asked).toHaveLength(1));
    other.draw();
    expect(await frames[0]).toEqual({ ...SIZE, data: Uint8Array.of(0) });
    await vi.waitFor(() => expect(other.asked).toHaveLength(2));
    other.draw();
    await frames[1];
    renderer.close();
    expect([scene, other].map(({ close }) => close.mock.calls.length)).toEqual([1, 1]);
    expect(Scene.made).toHaveLength(2);
  });

  test("their truth, of either side", () => {
    const renderer = new SceneRenderer(native, SIZE);
    const [scene] = Scene.made as [Scene];
    const view = { width: 4, height: 3, focalPixels: 9, cx: 1, cy: 2 };
    scene.truth.mockImplementation(({ disparity, visible }) => {
      disparity.fill(2.5);
      visible.fill(255);
    });
    for (const [side, number] of [
      ["left", 0],
      ["right", 1],
    ] as const) {
      expect(renderer.truth(5, side, view)).toEqual({
        disparity: { width: 4, height: 3, data: new Float32Array(12).fill(2.5) },
        visible: { width: 4, height: 3, data: new Uint8Array(12).fill(255) },
      });
      expect(scene.truth.mock.calls.at(-1)![0]).toMatchObject({ ...view, frame: 5, side: number });
    }
  });

  test("the depth in another camera: its rays, its turn and its place", () => {
    const renderer = new SceneRenderer(native, { ...SIZE, view: "ideal" });
    const [scene] = Scene.made as [Scene];
    scene.depthAlong.mockImplementation(({ depth }) => depth.fill(3));
    const camera = {
      name: "rgb",
      imageSize: { width: 3, height: 2 },
      R: turn,
      T: [1, 2, 3] as const,
      K: [10, 0, 1, 0, 20, 0.5, 0, 0, 1] as const,
      distortion: { model: "none" as const, coefficients: [] },
    };
    expect(renderer.depthOf(6, camera)).toEqual({ width: 3, height: 2, data: new Float32Array(6).fill(3) });
    const [call] = scene.depthAlong.mock.calls[0]!;
    const near = (values: readonly number[]) => values.map((value) => expect.closeTo(value, 9));
    expect({ ...call, rays: [...call.rays], rotation: [...call.rotation], centre: [...call.centre] }).toEqual(
      {
        frame: 6,
        count: 6,
        depth: expect.any(Float32Array),
        rotation: near(turn),
        // -R^T T, and R^T (1, 2, 3) is (1, 3, -2).
        centre: near([-1, -3, 2]),
        rays: near([-0.1, -0.025, 0, -0.025, 0.1, -0.025, -0.1, 0.025, 0, 0.025, 0.1, 0.025]),
      },
    );
  });
});
