// SPDX-License-Identifier: Apache-2.0
// Connects the page to its worker: messages into the store, the newest frame set to the views, one set a screen
// refresh.
import type { PictureStream } from "depthwatt-consumer/frames";
import {
  type ControlAnswer,
  type FromPage,
  SOCKET_PATH,
  type ToPage,
} from "../../edge/outputs/viewer/protocol.js";
import { remember } from "./figures/history.js";
import type { FrameSet, FromWorker, ToWorker } from "./frame-set.js";
import { requestId, requestPayload } from "./settings/request.js";
import { change, controlNow, pageState } from "./store.js";
import { S } from "./strings.js";

const KEPT_LINES = 200;

const worker = new Worker(new URL("./worker.ts", import.meta.url), { type: "module" });
const post = (message: ToWorker) => worker.postMessage(message);

type Drawer = (set: FrameSet) => void;
const drawers = new Set<Drawer>();
let newest: FrameSet | undefined;
let shown: FrameSet | undefined;
let owed = 0;
const answers = new Map<number, (answer: ControlAnswer) => void>();
/** The program's clock less this one. */
let clockOffsetMs = 0;
let lastId = 0;

/** Counted for the page's own figures and for its tests. */
export const shownFrames = { sets: 0, skipped: 0, damaged: 0, outOfOrder: 0, decodedBytes: 0, drawMs: 0 };

export function connect(): void {
  const scheme = location.protocol === "https:" ? "wss" : "ws";
  // A rig's page is in a folder.
  const folder = location.pathname.slice(0, location.pathname.lastIndexOf("/"));
  post({ type: "connect", url: `${scheme}://${location.host}${folder}${SOCKET_PATH}` });
}

export const login = (password: string) => post({ type: "login", password });

/** The picture of one device under the name of another would be a lie. */
function isChosen(set: FrameSet): boolean {
  const { device } = pageState();
  return device === undefined || set.device === device;
}

let watched = "";
export function watch(device: string | undefined, streams: PictureStream[]): void {
  const message = { type: "watch", device, streams } as const;
  const text = JSON.stringify(message);
  if (text === watched) return;
  watched = text;
  if (shown !== undefined && !isChosen(shown)) shown = undefined;
  post({ type: "watch", watch: message });
}

/** A request of control; signed where the program wants that. Answered also where the connection breaks. */
export function ask(command: string, body: object): Promise<ControlAnswer> {
  const id = ++lastId;
  const { device } = pageState();
  const { state } = controlNow(pageState());
  const below = state.enabled ? undefined : state.askedBelow;
  const signedFor = state.enabled ? state.signedFor : below && `${below}/${device}`;
  const payload = requestPayload({
    id: requestId(),
    command,
    body,
    signedFor,
    timeMs: Date.now() + clockOffsetMs,
  });
  const message: FromPage = { type: "ask", id, device, command, payload };
  return new Promise((resolve) => {
    if (pageState().link !== "open") {
      resolve(S.unanswered);
      return;
    }
    answers.set(id, resolve);
    post({ type: "say", message });
  });
}

function giveUpAnswers(): void {
  for (const resolve of answers.values()) resolve(S.unanswered);
  answers.clear();
}

/** Calls the drawer with each set that is shown, and at once with the set that is on screen. */
export function onFrames(drawer: Drawer): () => void {
  drawers.add(drawer);
  if (shown && isChosen(shown)) drawer(shown);
  return () => drawers.delete(drawer);
}

export const shownSet = (): FrameSet | undefined => shown;

/** A frozen page holds its set and asks for no other. */
export function freeze(frozen: boolean): void {
  change({ frozen });
  if (!frozen) settle();
}

function settle(): void {
  for (; owed > 0; owed--) post({ type: "shown" });
}

function draw(): void {
  const set = newest;
  newest = undefined;
  if (set === undefined || pageState().frozen) return;
  if (!isChosen(set)) {
    settle();
    return;
  }
  const before = performance.now();
  const last = shown?.pictures[firstStream(shown)]?.header;
  const next = set.pictures[firstStream(set)]?.header;
  if (last && next && last.runId === next.runId && shown?.device === set.device) {
    const step = (next.frameNumber - last.frameNumber) | 0;
    if (step <= 0 && last.stream === next.stream) shownFrames.outOfOrder++;
  }
  shown = set;
  shownFrames.sets++;
  shownFrames.skipped += set.skipped;
  shownFrames.damaged += Object.keys(set.damaged).length;
  shownFrames.decodedBytes += set.bytes;
  for (const drawer of drawers) drawer(set);
  shownFrames.drawMs = performance.now() - before;
  settle();
}

const firstStream = (set: FrameSet): PictureStream =>
  (Object.keys(set.pictures)[0] ?? "depth") as PictureStream;

function take(set: FrameSet): void {
  // A tab that is hidden gets no animation frame: it settles nothing, so nothing more is sent to it.
  const waiting = newest !== undefined;
  newest = set;
  owed++;
  if (!waiting) requestAnimationFrame(draw);
}

function hear(message: ToPage): void {
  const { documents, device, log } = pageState();
  switch (message.type) {
    case "hello":
      clockOffsetMs = message.timeMs - Date.now();
      change({ hello: message, password: undefined });
      break;
    case "password":
      change({ password: message.reason });
      break;
    case "source":
      change({ source: { connected: message.connected, reason: message.reason }, password: undefined });
      break;
    case "devices":
      change({
        devices: message.devices,
        device: device ?? message.devices[0]?.name,
        documents: Object.fromEntries(
          message.devices.flatMap(({ name }) => (documents[name] ? [[name, documents[name]]] : [])),
        ),
      });
      break;
    case "watching":
      change({ device: message.device ?? device });
      break;
    case "log":
      change({ log: [...log, ...message.lines].slice(-KEPT_LINES) });
      break;
    case "control":
      change({ control: message });
      break;
    case "answer":
      answers.get(message.id)?.(message.answer);
      answers.delete(message.id);
      break;
    case "metrics":
      remember(message.device, message.document);
      note(message);
      break;
    case "state":
    case "info":
    case "cameraInfo":
    case "calibration":
    case "grid":
      note(message);
  }

  function note({ device: of, type, document }: Extract<ToPage, { document: unknown }>): void {
    change({ documents: { ...documents, [of]: { ...documents[of], [type]: document } } });
  }
}

// For people at the console, and for tests.
Object.assign(globalThis, { depthwatt: { shownFrames, shownSet, state: pageState } });

worker.onmessage = ({ data }: MessageEvent<FromWorker>) => {
  if (data.type === "frames") take(data.set);
  else if (data.type === "said") hear(data.message);
  else {
    if (data.state !== "open") giveUpAnswers();
    // The program repeats its messages to a page that comes back.
    change(data.state === "open" ? { link: data.state, log: [] } : { link: data.state });
  }
};
