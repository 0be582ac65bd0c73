// SPDX-License-Identifier: Apache-2.0
// Runs the thread that writes a recording, so that only this thread waits for the disk.
import { parentPort, workerData } from "node:worker_threads";
import { loadZstd } from "../../mcap/compression.js";
import type { FromRecorder, RecorderThreadData, ToRecorder } from "./messages.js";
import { Recorder } from "./recorder.js";

const port = parentPort;
if (port === null) throw new Error("recorder-thread.ts runs as a worker thread only");
const post = (message: FromRecorder, transfer: ArrayBuffer[] = []) => port.postMessage(message, transfer);

const { options, compression, head } = workerData as RecorderThreadData;
const zstd = compression === "zstd" ? await loadZstd() : undefined;
const recorder = new Recorder(options, head, zstd, {
  onWritten: (frames, bytes) => post({ kind: "written", frames, bytes }),
  onLost: (frames, cause) => post({ kind: "lost", frames, cause }),
  onProblem: (problem) => post({ kind: "problem", problem }),
  onFile: (path) => post({ kind: "file", path }),
  onNotice: (text) => post({ kind: "notice", text }),
});

let timer: NodeJS.Timeout | undefined;
function flushInTime(): void {
  const due = recorder.dueInMs;
  if (timer !== undefined || due === undefined) return;
  timer = setTimeout(() => {
    timer = undefined;
    if (recorder.dueInMs === 0) recorder.flush();
    flushInTime();
  }, due);
}

port.on("message", (message: ToRecorder) => {
  switch (message.kind) {
    case "frame": {
      const { buffer, parts, logTime } = message;
      const messages = parts.map(({ at, bytes, ...part }) => ({
        ...part,
        data: new Uint8Array(buffer, at, bytes),
      }));
      recorder.frame(messages, logTime);
      post({ kind: "spare", buffer }, [buffer]);
      break;
    }
    case "document": {
      const { channel, text, logTime, sticky } = message;
      const part = (of: string) => ({
        channel,
        data: new TextEncoder().encode(of),
        publishNs: logTime,
        sequence: 0,
      });
      if (text !== undefined) recorder.document(part(text), logTime);
      if (sticky !== undefined) recorder.begins(part(sticky));
      break;
    }
    case "head":
      recorder.end();
      recorder.head = message.head;
      break;
    case "end":
      recorder.end();
      break;
    case "close":
      clearTimeout(timer);
      recorder.end();
      port.close();
      return;
  }
  flushInTime();
});
post({ kind: "ready" });
