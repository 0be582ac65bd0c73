// SPDX-License-Identifier: Apache-2.0
// Off the page's thread: the WebSocket, its way back after a loss, and the decoding of frames by the consumer's own code.
import { type Counts, decodeBody, type FrameHeader, isPicture, parseFrame } from "depthwatt-consumer/frames";
import { BEAT_MS, type FromPage, MAX_CREDITS, type ToPage } from "../../edge/outputs/viewer/protocol.js";
import type { FrameSet, FromWorker, ToWorker } from "./frame-set.js";

const FIRST_DELAY_MS = 250;
const MAX_DELAY_MS = 1500;
const SILENCE_MS = 3 * BEAT_MS;

const scope = self as unknown as {
  postMessage(message: FromWorker, transfer?: Transferable[]): void;
  onmessage: (event: MessageEvent<ToWorker>) => void;
};

let url = "";
let socket: WebSocket | undefined;
let password: string | undefined;
let watch: Extract<FromPage, { type: "watch" }> | undefined;
let admitted = false;
let delayMs = FIRST_DELAY_MS;
let silence: ReturnType<typeof setTimeout> | undefined;
/** Sets that the page has and has not shown. */
let outstanding = 0;
let assembling: { set: FrameSet; waiting: number } | undefined;

const post = (message: FromWorker, transfer: Transferable[] = []) => scope.postMessage(message, transfer);

function say(message: FromPage): void {
  if (socket?.readyState === WebSocket.OPEN) socket.send(JSON.stringify(message));
}

function connect(): void {
  const own = new WebSocket(url);
  own.binaryType = "arraybuffer";
  socket = own;
  post({ type: "link", state: "connecting" });
  const lost = () => {
    if (socket !== own) return;
    socket = undefined;
    clearTimeout(silence);
    assembling = undefined;
    admitted = false;
    own.close();
    post({ type: "link", state: "lost" });
    setTimeout(connect, delayMs);
    delayMs = Math.min(MAX_DELAY_MS, delayMs * 2);
  };
  const heard = () => {
    clearTimeout(silence);
    silence = setTimeout(lost, SILENCE_MS);
  };
  heard();
  own.onopen = () => {
    delayMs = FIRST_DELAY_MS;
    post({ type: "link", state: "open" });
  };
  own.onclose = lost;
  own.onmessage = ({ data }: MessageEvent<string | ArrayBuffer>) => {
    if (socket !== own) return;
    heard();
    if (typeof data === "string") takeText(data);
    else takeFrame(new Uint8Array(data));
  };
}

/** The program knows us now: what to send, and how much of it. */
function begin(): void {
  if (admitted) return;
  admitted = true;
  if (watch) say(watch);
  for (let free = MAX_CREDITS - outstanding; free > 0; free--) say({ type: "next" });
}

function takeText(text: string): void {
  const message = JSON.parse(text) as ToPage;
  if (message.type === "beat") return;
  if (message.type === "frames") {
    const { device, count, skipped } = message;
    assembling = { set: { device, pictures: {}, damaged: {}, skipped, bytes: 0 }, waiting: count };
    if (count === 0) finish();
    return;
  }
  if (message.type === "password" && message.reason === "needed" && password !== undefined) {
    say({ type: "login", password });
    return;
  }
  // Only an admitted page gets the source.
  if (message.type === "source") begin();
  post({ type: "said", message });
}

/** The page paints left in grey: of colours their luma (BT.601). */
function greyPicture(header: FrameHeader, counts: Counts): { header: FrameHeader; counts: Counts } {
  if (header.element !== "rgb8") return { header, counts };
  const grey = new Uint8Array(header.width * header.height);
  for (let i = 0; i < grey.length; i++)
    grey[i] = (77 * counts[3 * i]! + 150 * counts[3 * i + 1]! + 29 * counts[3 * i + 2]! + 128) >> 8;
  return { header: { ...header, element: "u8", quantity: "greyValue" }, counts: grey };
}

/** A reduced picture in the size of the whole one, each pixel repeated: places are those of the whole picture. */
function enlarged(header: FrameHeader, counts: Counts): { header: FrameHeader; counts: Counts } {
  const { reduction, width, height } = header;
  if (reduction === 1) return { header, counts };
  const size = { width: reduction * width, height: reduction * height };
  const whole = new (counts.constructor as new (length: number) => Counts)(size.width * size.height);
  for (let y = 0, at = 0; y < size.height; y++) {
    const row = Math.floor(y / reduction) * width;
    for (let x = 0; x < size.width; x++, at++) whole[at] = counts[row + Math.floor(x / reduction)]!;
  }
  return { header: { ...header, ...size }, counts: whole };
}

function takeFrame(message: Uint8Array): void {
  if (assembling === undefined) return;
  const { set } = assembling;
  set.bytes += message.length;
  try {
    const { header, body } = parseFrame(message);
    const { stream } = header;
    // The page shows no other; it makes its cloud of the depth.
    if (!isPicture(stream)) return;
    try {
      const grey = greyPicture(header, decodeBody(header, body));
      set.pictures[stream] = enlarged(grey.header, grey.counts);
    } catch (error) {
      set.damaged[stream] = (error as Error).message;
    }
  } catch (error) {
    // Not even the header says what it was meant to be.
    set.damaged.depth ??= (error as Error).message;
  }
  assembling.waiting--;
  if (assembling.waiting === 0) finish();
}

function finish(): void {
  if (assembling === undefined) return;
  const { set } = assembling;
  assembling = undefined;
  outstanding++;
  const buffers = Object.values(set.pictures).map(({ counts }) => counts.buffer as ArrayBuffer);
  post({ type: "frames", set }, buffers);
}

scope.onmessage = ({ data }) => {
  if (data.type === "connect") {
    url = data.url;
    connect();
  } else if (data.type === "login") {
    password = data.password;
    say({ type: "login", password });
  } else if (data.type === "watch") {
    watch = data.watch;
    if (admitted) say(watch);
  } else if (data.type === "say") say(data.message);
  else {
    outstanding = Math.max(0, outstanding - 1);
    if (admitted) say({ type: "next" });
  }
};
