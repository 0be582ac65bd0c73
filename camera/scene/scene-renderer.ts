// SPDX-License-Identifier: Apache-2.0
// Single frames of the scene on request, with their truth: for files and tests. SyntheticSource is for streams.
import { allocate } from "../../core/index.js";
import type { FloatImage, GreyImage, RgbImage } from "../recordings/images/index.js";
import type { NativeScene, SceneExports } from "./native.js";
import { type SceneOptions, type SceneView, sceneSetup } from "./scene-cameras.js";

/** Ground truth of one camera of the ideal view. */
export interface SceneTruth {
  /** Pixels: focalPixels * baseline / Z; every pixel has one. */
  disparity: FloatImage;
  /** 255 where the other camera sees the same point inside its image, else 0. */
  visible: GreyImage;
}

export class SceneRenderer {
  readonly #scene: NativeScene;
  readonly #size: { width: number; height: number };
  #settle: { resolve: () => void; reject: (error: Error) => void } | undefined;
  #last: Promise<unknown> = Promise.resolve();

  /** @throws DepthwattError ENGINE_PARAMETER for a size, seed or noise outside its range */
  constructor(native: SceneExports, options: SceneOptions = {}) {
    const setup = sceneSetup(options);
    this.#size = { width: setup.width, height: setup.height };
    this.#scene = new native.Scene({ ...setup, buffers: 1 }, (error) => {
      if (error) this.#settle!.reject(error);
      else this.#settle!.resolve();
    });
  }

  /** Returns both images of a frame as separate images: grey, or three bytes a pixel if the options ask for colours. */
  frame(number: number): Promise<{ left: GreyImage | RgbImage; right: GreyImage | RgbImage }> {
    const next = this.#last.then(async () => {
      await new Promise<void>((resolve, reject) => {
        this.#settle = { resolve, reject };
        this.#scene.render(0, number);
      });
      const { left, right } = this.#scene.buffers[0]!;
      return { left: { data: left.slice(), ...this.#size }, right: { data: right.slice(), ...this.#size } };
    });
    this.#last = next.catch(() => {});
    return next;
  }

  /** The truth of a frame; about 0.1 s of this thread at 640x480. */
  truth(number: number, side: "left" | "right", view: SceneView): SceneTruth {
    const { width, height } = view;
    const disparity = new Float32Array(allocate(4 * width * height, "the truth of a scene"));
    const visible = new Uint8Array(allocate(width * height, "the truth of a scene"));
    this.#scene.truth({ ...view, frame: number, side: side === "left" ? 0 : 1, disparity, visible });
    return { disparity: { data: disparity, width, height }, visible: { data: visible, width, height } };
  }

  close(): void {
    this.#scene.close();
  }
}
