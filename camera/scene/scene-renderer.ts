// SPDX-License-Identifier: Apache-2.0
// Single frames of the scene on request, with their truth: for files and tests. SyntheticSource is for streams.
import { allocate } from "../../core/index.js";
import type { OtherCamera } from "../calibration/calibration.js";
import { undistortExactly } from "../calibration/distortion.js";
import { apply, type Matrix3, multiply, scale, transpose } from "../calibration/matrix.js";
import type { FloatImage, GreyImage, RgbImage } from "../recordings/images/index.js";
import type { NativeScene, SceneExports } from "./native.js";
import { otherSceneSetup, type SceneOptions, type SceneView, sceneSetup } from "./scene-cameras.js";

/** Ground truth of one camera of the ideal view. */
export interface SceneTruth {
  /** Pixels: focalPixels * baseline / Z; every pixel has one. */
  disparity: FloatImage;
  /** 255 where the other camera sees the same point inside its image, else 0. */
  visible: GreyImage;
}

/** Draws one frame after the other into one buffer. */
class SceneDrawing {
  readonly scene: NativeScene;
  #settle: { resolve: () => void; reject: (error: Error) => void } | undefined;
  #last: Promise<unknown> = Promise.resolve();

  constructor(native: SceneExports, setup: ReturnType<typeof sceneSetup>) {
    this.scene = new native.Scene({ ...setup, buffers: 1 }, (error) => {
      if (error) this.#settle!.reject(error);
      else this.#settle!.resolve();
    });
  }

  frame<Result>(number: number, read: (buffer: NativeScene["buffers"][number]) => Result): Promise<Result> {
    const next = this.#last.then(async () => {
      await new Promise<void>((resolve, reject) => {
        this.#settle = { resolve, reject };
        this.scene.render(0, number);
      });
      return read(this.scene.buffers[0]!);
    });
    this.#last = next.catch(() => {});
    return next;
  }
}

export class SceneRenderer {
  readonly #native: SceneExports;
  readonly #options: SceneOptions;
  readonly #scene: NativeScene;
  #other: SceneDrawing | undefined;
  readonly #size: { width: number; height: number };
  readonly #leftRotation: Matrix3;
  readonly #drawing: SceneDrawing;

  /** @throws DepthwattError ENGINE_PARAMETER for a size, seed or noise outside its range */
  constructor(native: SceneExports, options: SceneOptions = {}) {
    const setup = sceneSetup(options);
    this.#size = { width: setup.width, height: setup.height };
    this.#leftRotation = setup.left.rotation as Matrix3;
    this.#native = native;
    this.#options = options;
    this.#drawing = new SceneDrawing(native, setup);
    this.#scene = this.#drawing.scene;
  }

  /** Returns both images of a frame as separate images: grey, or three bytes a pixel if the options ask for colours. */
  frame(number: number): Promise<{ left: GreyImage | RgbImage; right: GreyImage | RgbImage }> {
    return this.#drawing.frame(number, ({ left, right }) => ({
      left: { data: left.slice(), ...this.#size },
      right: { data: right.slice(), ...this.#size },
    }));
  }

  /** Returns the image of the third camera, in colours. */
  otherFrame(number: number): Promise<RgbImage> {
    this.#other ??= new SceneDrawing(this.#native, otherSceneSetup(this.#options));
    return this.#other.frame(number, ({ left }) => ({ data: left.slice(), ...this.#size }));
  }

  /** The truth of a frame; about 0.1 s of this thread at 640x480. */
  truth(number: number, side: "left" | "right", view: SceneView): SceneTruth {
    const { width, height } = view;
    const disparity = new Float32Array(allocate(4 * width * height, "the truth of a scene"));
    const visible = new Uint8Array(allocate(width * height, "the truth of a scene"));
    this.#scene.truth({ ...view, frame: number, side: side === "left" ? 0 : 1, disparity, visible });
    return { disparity: { data: disparity, width, height }, visible: { data: visible, width, height } };
  }

  /**
   * Returns the exact depth in the image of another camera, metres along its optical axis. Its pose is relative to the left
   * camera of sceneCalibration(options).
   */
  depthOf(number: number, camera: OtherCamera): FloatImage {
    const { width, height } = camera.imageSize;
    const depth = new Float32Array(allocate(4 * width * height, "the truth of a scene"));
    const rays = new Float64Array(allocate(16 * width * height, "the truth of a scene"));
    for (let y = 0, at = 0; y < height; y++)
      for (let x = 0; x < width; x++) {
        const [u, v] = undistortExactly(camera, x, y);
        rays[at++] = u;
        rays[at++] = v;
      }
    // The scene's axes are those of the unrotated left camera: x_left = leftRotation x_scene.
    const rotation = multiply(camera.R, this.#leftRotation);
    const centre = scale(apply(transpose(rotation), camera.T), -1);
    this.#scene.depthAlong({ frame: number, count: width * height, rotation, centre, rays, depth });
    return { data: depth, width, height };
  }

  close(): void {
    this.#other?.scene.close();
    this.#scene.close();
  }
}
