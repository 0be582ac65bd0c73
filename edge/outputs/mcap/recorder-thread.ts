// SPDX-License-Identifier: Apache-2.0
// The thread that a recording is written in. It waits for the disk, so that nobody else does.
import { parentPort, workerData } from "node:worker_threads";
import { loadZstd } from "../../mcap/compression.js";
import type { FromRecorder, RecorderThreadData, ToRecorder } from "./messages.js";
import { Recorder } from "./recorder.js";

const port = parentPort;
if (port === null) throw new Error("recorder-thread.ts runs as a worker thread only");
const tell = (message: FromRecorder, transfer: ArrayBuffer[] = []) => port.postMessage(message, transfer);

const { options, compression, head } = workerData as RecorderThreadData;
const zstd = compression === "zstd" ? await loadZstd() : undefined;
const recorder = new Recorder(options, head, zstd, {
  onWritten: (frames, bytes) => tell({ kind: "written", frames, bytes }),
  onLost: (frames, cause) => tell({ kind: "lost", frames, cause }),
  onProblem: (problem) => tell({ kind: "problem", problem }),
  onFile: (path) => tell({ kind: "file", path }),
  onNotice: (text) => tell({ kind: "notice", text }),
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
      tell({ kind: "spare", buffer }, [buffer]);
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
tell({ kind: "ready" });
