// SPDX-License-Identifier: Apache-2.0
// The point cloud on WebGL 2: depth and image are textures, the vertex shader makes one point of each pixel. JavaScript only
// uploads; it touches no point.
import type { Counts } from "depthwatt-consumer/frames";
import type { Camera } from "../documents.js";
import type { Meaning, Range } from "../picture/colourise.js";
import { type Matrix, pixelsPerSlope } from "./orbit.js";

const VERTEX = `#version 300 es
precision highp float;
precision highp int;
precision highp usampler2D;
uniform usampler2D depth;
uniform usampler2D grey;
uniform usampler2D confidence;
uniform sampler2D colours;
uniform ivec2 size;
uniform int reduction;
uniform vec2 meaning;
uniform vec4 camera;
uniform vec2 range;
uniform mat4 viewProjection;
uniform float pointSize;
uniform float pixelsPerSlope;
uniform int colouring;
uniform bool hideFilled;
out vec3 colour;
void main() {
  ivec2 pixel = ivec2(gl_VertexID % size.x, gl_VertexID / size.x);
  uint count = texelFetch(depth, pixel, 0).r;
  float z = float(count) * meaning.x + meaning.y;
  // A square that was sent as one pixel becomes one point, the first.
  bool repeated = pixel.x % reduction != 0 || pixel.y % reduction != 0;
  bool hidden = repeated || hideFilled && texelFetch(confidence, pixel, 0).r == 0u;
  if (count == 0u || z < range.x || z > range.y || hidden) {
    gl_Position = vec4(2.0, 2.0, 2.0, 1.0);
    gl_PointSize = 0.0;
    return;
  }
  vec3 point = vec3((vec2(pixel) - camera.zw) * z / camera.xy, z);
  gl_Position = viewProjection * vec4(point, 1.0);
  // A pixel's share of the scene, as wide as it is seen from here: neighbours touch at size 1.
  gl_PointSize = clamp(pointSize * float(reduction) * pixelsPerSlope * z / camera.x / max(gl_Position.w, 0.05), 1.0, 48.0);
  float share = colouring == 1 ? (1.5 - point.y) / 3.0 : (range.y - z) / max(range.y - range.x, 1e-6);
  colour = colouring == 0
    ? vec3(float(texelFetch(grey, pixel, 0).r) / 255.0)
    : texture(colours, vec2(clamp(share, 0.0, 1.0), 0.5)).rgb;
}`;

const FRAGMENT = `#version 300 es
precision mediump float;
in vec3 colour;
out vec4 shown;
void main() { shown = vec4(colour, 1.0); }`;

export interface CloudFrame {
  width: number;
  height: number;
  /** u16 counts. */
  depth: Counts;
  meaning: Meaning;
  grey: Counts | undefined;
  confidence: Counts | undefined;
  camera: Camera;
  /** See CloudInput. */
  reduction: number;
}

export interface CloudLook {
  viewProjection: Matrix;
  range: Range;
  pointSize: number;
  colouring: "image" | "height" | "depth";
  hideFilled: boolean;
  background: [number, number, number];
}

const UNIFORMS = [
  "depth",
  "grey",
  "confidence",
  "colours",
  "size",
  "reduction",
  "meaning",
  "camera",
  "range",
  "viewProjection",
  "pointSize",
  "pixelsPerSlope",
  "colouring",
  "hideFilled",
] as const;

export class CloudScene {
  readonly #gl: WebGL2RenderingContext;
  readonly #at: Record<string, WebGLUniformLocation | null> = {};
  readonly #textures: WebGLTexture[] = [];
  #frame: CloudFrame | undefined;

  /** @throws Error where the shaders do not build: a bug or a driver's */
  constructor(gl: WebGL2RenderingContext) {
    this.#gl = gl;
    const program = gl.createProgram();
    for (const [kind, source] of [
      [gl.VERTEX_SHADER, VERTEX],
      [gl.FRAGMENT_SHADER, FRAGMENT],
    ] as const) {
      const shader = gl.createShader(kind) as WebGLShader;
      gl.shaderSource(shader, source);
      gl.compileShader(shader);
      gl.attachShader(program, shader);
    }
    gl.linkProgram(program);
    if (!gl.getProgramParameter(program, gl.LINK_STATUS))
      throw new Error(`expected shaders that link, got: ${gl.getProgramInfoLog(program)}`);
    gl.useProgram(program);
    for (const name of UNIFORMS) this.#at[name] = gl.getUniformLocation(program, name);
    for (let unit = 0; unit < 4; unit++) {
      const texture = gl.createTexture();
      gl.activeTexture(gl.TEXTURE0 + unit);
      gl.bindTexture(gl.TEXTURE_2D, texture);
      // Integer textures are not filtered.
      const filter = unit === 3 ? gl.LINEAR : gl.NEAREST;
      gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MIN_FILTER, filter);
      gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MAG_FILTER, filter);
      gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_WRAP_S, gl.CLAMP_TO_EDGE);
      gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_WRAP_T, gl.CLAMP_TO_EDGE);
      gl.uniform1i(this.#at[UNIFORMS[unit] as string] ?? null, unit);
      this.#textures.push(texture);
    }
    gl.pixelStorei(gl.UNPACK_ALIGNMENT, 1);
    gl.enable(gl.DEPTH_TEST);
    this.#bytes(1, 1, 1, Uint8Array.of(255));
    this.#bytes(2, 1, 1, Uint8Array.of(255));
  }

  setColours(colours: Uint32Array): void {
    const gl = this.#gl;
    gl.activeTexture(gl.TEXTURE3);
    const bytes = new Uint8Array(colours.buffer as ArrayBuffer);
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA8, 256, 1, 0, gl.RGBA, gl.UNSIGNED_BYTE, bytes);
  }

  #bytes(unit: number, width: number, height: number, bytes: Uint8Array): void {
    const gl = this.#gl;
    gl.activeTexture(gl.TEXTURE0 + unit);
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.R8UI, width, height, 0, gl.RED_INTEGER, gl.UNSIGNED_BYTE, bytes);
  }

  upload(frame: CloudFrame): void {
    const gl = this.#gl;
    const { width, height, depth, grey, confidence } = frame;
    this.#frame = frame;
    gl.activeTexture(gl.TEXTURE0);
    gl.texImage2D(
      ...([gl.TEXTURE_2D, 0, gl.R16UI, width, height, 0, gl.RED_INTEGER, gl.UNSIGNED_SHORT, depth] as const),
    );
    if (grey instanceof Uint8Array) this.#bytes(1, width, height, grey);
    if (confidence instanceof Uint8Array) this.#bytes(2, width, height, confidence);
  }

  draw({ viewProjection, range, pointSize, colouring, hideFilled, background }: CloudLook): void {
    const gl = this.#gl;
    gl.viewport(0, 0, gl.drawingBufferWidth, gl.drawingBufferHeight);
    gl.clearColor(...background, 1);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    if (!this.#frame) return;
    const { width, height, camera, meaning, confidence, grey, reduction } = this.#frame;
    const at = (name: string) => this.#at[name] ?? null;
    gl.uniform2i(at("size"), width, height);
    gl.uniform1i(at("reduction"), reduction);
    gl.uniform2f(at("meaning"), meaning.unitScale, meaning.valueOffset);
    gl.uniform4f(at("camera"), camera.focalX, camera.focalY, camera.centreX, camera.centreY);
    gl.uniform2f(at("range"), range.min, range.max);
    gl.uniformMatrix4fv(at("viewProjection"), false, viewProjection);
    gl.uniform1f(at("pointSize"), pointSize);
    const { drawingBufferWidth, drawingBufferHeight } = gl;
    gl.uniform1f(at("pixelsPerSlope"), pixelsPerSlope(Math.min(drawingBufferWidth, drawingBufferHeight)));
    const byImage = colouring === "image" && grey !== undefined;
    gl.uniform1i(at("colouring"), byImage ? 0 : colouring === "height" ? 1 : 2);
    gl.uniform1i(at("hideFilled"), hideFilled && confidence !== undefined ? 1 : 0);
    gl.drawArrays(gl.POINTS, 0, width * height);
  }

  close(): void {
    for (const texture of this.#textures) this.#gl.deleteTexture(texture);
    this.#gl.getExtension("WEBGL_lose_context")?.loseContext();
  }
}
