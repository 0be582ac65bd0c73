// SPDX-License-Identifier: Apache-2.0
// A camera that turns around a target, by pointer, touch, wheel and keyboard; and its matrices.

/** Column by column, as WebGL takes them. */
export type Matrix = Float32Array;

export interface OrbitState {
  /** Radians: around the vertical, and up. */
  yaw: number;
  pitch: number;
  /** Metres from the target. */
  distance: number;
  target: [number, number, number];
}

/** The left camera's position, a little back, so that the view starts with the camera's. */
export const START: OrbitState = { yaw: 0, pitch: 0, distance: 3, target: [0, 0, 2.6] };

const FIELD_OF_VIEW = (50 * Math.PI) / 180;
const NEAR = 0.02;
const FAR = 500;

/** Pixels that a thing as wide as it is far away takes on a canvas whose shorter side is `side`. */
export const pixelsPerSlope = (side: number): number => side / 2 / Math.tan(FIELD_OF_VIEW / 2);

interface Axes {
  right: [number, number, number];
  up: [number, number, number];
  back: [number, number, number];
}

// The cloud's own axes are the camera's: Y down, Z away. Seen from behind that camera, up is -Y and back is -Z.
function orbitAxes({ yaw, pitch }: OrbitState): Axes {
  const [sinYaw, cosYaw, sinPitch, cosPitch] = [
    Math.sin(yaw),
    Math.cos(yaw),
    Math.sin(pitch),
    Math.cos(pitch),
  ];
  return {
    right: [cosYaw, 0, -sinYaw],
    up: [sinYaw * sinPitch, -cosPitch, cosYaw * sinPitch],
    back: [-sinYaw * cosPitch, -sinPitch, -cosYaw * cosPitch],
  };
}

/** Where the cloud's axes X, Y and Z point on the screen: right and down, each from -1 to 1. */
export function screenAxes(state: OrbitState): [x: number, y: number][] {
  const { right, up } = orbitAxes(state);
  return [0, 1, 2].map((axis) => [right[axis]!, -up[axis]!]);
}

/** The longest round length that takes at most `maxPixels` at the target's distance, metres, and its pixels. */
export function scaleBar({ distance }: OrbitState, side: number, maxPixels: number) {
  const perMetre = pixelsPerSlope(side) / distance;
  const longest = maxPixels / perMetre;
  const power = 10 ** Math.floor(Math.log10(longest));
  const metres = power * ([5, 2].find((factor) => factor * power <= longest) ?? 1);
  return { metres, pixels: metres * perMetre };
}

const dot = (a: readonly number[], b: readonly number[]) => a[0]! * b[0]! + a[1]! * b[1]! + a[2]! * b[2]!;

/** Clip = projection x view, for points in the cloud's axes. */
export function viewProjection(state: OrbitState, aspect: number): Matrix {
  const { right, up, back } = orbitAxes(state);
  const viewpoint = state.target.map((value, axis) => value + back[axis]! * state.distance);
  const f = 1 / Math.tan(FIELD_OF_VIEW / 2);
  const [sx, sy] = aspect > 1 ? [f / aspect, f] : [f, f * aspect];
  const [a, b] = [(FAR + NEAR) / (NEAR - FAR), (2 * FAR * NEAR) / (NEAR - FAR)];
  const matrix = new Float32Array(16);
  for (let axis = 0; axis < 3; axis++) {
    matrix[4 * axis] = sx * right[axis]!;
    matrix[4 * axis + 1] = sy * up[axis]!;
    matrix[4 * axis + 2] = a * back[axis]!;
    matrix[4 * axis + 3] = -back[axis]!;
  }
  matrix[12] = -sx * dot(right, viewpoint);
  matrix[13] = -sy * dot(up, viewpoint);
  matrix[14] = -a * dot(back, viewpoint) + b;
  matrix[15] = dot(back, viewpoint);
  return matrix;
}

export function turned(state: OrbitState, yaw: number, pitch: number): OrbitState {
  const limit = Math.PI / 2 - 0.01;
  return { ...state, yaw: state.yaw + yaw, pitch: Math.min(limit, Math.max(-limit, state.pitch + pitch)) };
}

/** In shares of what the view spans. */
export function moved(state: OrbitState, x: number, y: number): OrbitState {
  const { right, up } = orbitAxes(state);
  const span = 2 * state.distance * Math.tan(FIELD_OF_VIEW / 2);
  const target = state.target.map((value, axis) => value - span * (x * right[axis]! - y * up[axis]!));
  return { ...state, target: target as OrbitState["target"] };
}

export function zoomed(state: OrbitState, factor: number): OrbitState {
  return { ...state, distance: Math.min(200, Math.max(0.05, state.distance * factor)) };
}

const KEYS: Record<string, (state: OrbitState, shift: boolean) => OrbitState> = {
  ArrowLeft: (state, shift) => (shift ? moved(state, 0.05, 0) : turned(state, -0.08, 0)),
  ArrowRight: (state, shift) => (shift ? moved(state, -0.05, 0) : turned(state, 0.08, 0)),
  ArrowUp: (state, shift) => (shift ? moved(state, 0, 0.05) : turned(state, 0, 0.08)),
  ArrowDown: (state, shift) => (shift ? moved(state, 0, -0.05) : turned(state, 0, -0.08)),
  "+": (state) => zoomed(state, 1 / 1.15),
  "=": (state) => zoomed(state, 1 / 1.15),
  "-": (state) => zoomed(state, 1.15),
  "0": () => START,
};

/** The state after a key, or undefined where the key means nothing here. */
export const byKey = (state: OrbitState, key: string, shift: boolean): OrbitState | undefined =>
  KEYS[key]?.(state, shift);

/** Follows pointers on an element; `change` is given the state after each move. */
export function followPointers(
  element: HTMLElement,
  state: () => OrbitState,
  change: (next: OrbitState) => void,
): () => void {
  const down = new Map<number, { x: number; y: number }>();
  const spread = () => {
    const [a, b] = [...down.values()];
    return a && b ? Math.hypot(a.x - b.x, a.y - b.y) : 0;
  };
  const onDown = (event: PointerEvent) => {
    element.setPointerCapture(event.pointerId);
    down.set(event.pointerId, { x: event.clientX, y: event.clientY });
  };
  const onMove = (event: PointerEvent) => {
    const last = down.get(event.pointerId);
    if (!last) return;
    const before = spread();
    const size = Math.min(element.clientWidth, element.clientHeight) || 1;
    const [dx, dy] = [(event.clientX - last.x) / size, (event.clientY - last.y) / size];
    down.set(event.pointerId, { x: event.clientX, y: event.clientY });
    if (down.size > 1) {
      const after = spread();
      const next = moved(state(), dx / 2, dy / 2);
      change(before > 0 && after > 0 ? zoomed(next, before / after) : next);
    } else if (event.shiftKey || event.buttons === 2 || event.buttons === 4) change(moved(state(), dx, dy));
    else change(turned(state(), 3 * dx, 3 * dy));
  };
  const onUp = (event: PointerEvent) => down.delete(event.pointerId);
  const onWheel = (event: WheelEvent) => {
    // The wheel scrolls the page until the canvas is chosen by a click or the Tab key.
    if (document.activeElement !== element && !event.ctrlKey) return;
    event.preventDefault();
    change(zoomed(state(), Math.exp(Math.sign(event.deltaY) * 0.12)));
  };
  const onMenu = (event: Event) => event.preventDefault();
  element.addEventListener("pointerdown", onDown);
  element.addEventListener("pointermove", onMove);
  element.addEventListener("pointerup", onUp);
  element.addEventListener("pointercancel", onUp);
  element.addEventListener("wheel", onWheel, { passive: false });
  element.addEventListener("contextmenu", onMenu);
  return () => {
    element.removeEventListener("pointerdown", onDown);
    element.removeEventListener("pointermove", onMove);
    element.removeEventListener("pointerup", onUp);
    element.removeEventListener("pointercancel", onUp);
    element.removeEventListener("wheel", onWheel);
    element.removeEventListener("contextmenu", onMenu);
  };
}
