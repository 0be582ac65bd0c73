// SPDX-License-Identifier: Apache-2.0
// A real run at a real broker that may be controlled, small enough to be changed a hundred times; and its results as hashes.
import { createHash } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { unzipSync } from "fflate";
import { writeScene } from "../../camera/index.js";
import { loadConfig } from "../../edge/config/index.js";
import { loadNative } from "../../edge/contracts/native.js";
import type { RunFigures } from "../../edge/run/figures.js";
import { openRuntime } from "../../edge/run/main.js";
import type { Runtime } from "../../edge/run/runtime.js";
import { SECRET, TestClient } from "./control-client.js";
import { until } from "./frames.js";
import { type Mosquitto, type MosquittoOptions, startMosquitto } from "./mosquitto.js";

export interface ControlledRun {
  runtime: Runtime;
  notices: string[];
  /** The published states, oldest first. */
  states: { state: string; reason: string }[];
  stop(): Promise<EndedRun>;
}

export interface EndedRun extends RunFigures {
  /** Pairs that all its sources had delivered when it was stopped. */
  captured: number;
}

/** Opens what a test needs, and closes all of it in the opposite order. */
export class ControlBench {
  readonly #cleanups: (() => unknown)[] = [];

  async close(): Promise<void> {
    for (const cleanup of this.#cleanups.splice(0).reverse()) await cleanup();
  }

  folder(): string {
    const folder = mkdtempSync(join(tmpdir(), "depthwatt-control-"));
    this.#cleanups.push(() => rmSync(folder, { recursive: true, force: true }));
    return folder;
  }

  secretFile(secret = SECRET): string {
    const file = join(this.folder(), "secret");
    writeFileSync(file, `${secret}\n`, { mode: 0o600 });
    return file;
  }

  async broker(options: MosquittoOptions = {}): Promise<Mosquitto> {
    const mosquitto = await startMosquitto(options);
    this.#cleanups.push(() => mosquitto.stop());
    return mosquitto;
  }

  async client(url: string, device: string, version: 4 | 5 = 5): Promise<TestClient> {
    const client = await TestClient.connect(url, device, version);
    this.#cleanups.push(() => client.close());
    return client;
  }

  /** @param url of the broker, or "none" */
  async run(url: string, device: string, ...set: string[]): Promise<ControlledRun> {
    const all = [
      "board=none",
      "power.sensor=none",
      "outputs.viewer.enabled=false",
      "source.synthetic.width=160",
      "source.synthetic.height=96",
      "match.numDisparities=32",
      "control.enabled=true",
      `control.secretFile=${this.secretFile()}`,
      `outputs.mqtt.broker=${url}`,
      `device=${device}`,
    ];
    const { config } = loadConfig({ set: [...all, ...set], environment: {} });
    const notices: string[] = [];
    const states: ControlledRun["states"] = [];
    const runtime = await openRuntime(config, undefined, {
      onNotice: (notice) => notices.push(notice),
      onState: (state, reason) => states.push({ state, reason }),
    });
    const ended = runtime.run();
    let captured: number | undefined;
    const stop = async () => {
      captured ??= runtime.parts.source.counters().pairs;
      runtime.stop();
      return { ...(await ended), captured };
    };
    this.#cleanups.push(stop);
    await until("frames", () => runtime.parts.pipeline.frames > 3, 30_000);
    return { runtime, notices, states, stop };
  }

  /** A scene that stands still, as a recording that goes round: the settings of a run that plays it. */
  async stillScene({ width = 160, height = 96, firstFrame = 0 } = {}): Promise<Record<string, string>> {
    const folder = this.folder();
    await writeScene(loadNative(), {
      width,
      height,
      folder,
      frames: 1,
      firstFrame,
      view: "rectified",
      truth: "none",
    });
    return {
      "source.kind": "replay",
      "source.replay.left": join(folder, "left"),
      "source.replay.right": join(folder, "right"),
      "source.replay.loop": "true",
      "source.replay.rateHz": "60",
      "calibration.file": join(folder, "calibration.json"),
    };
  }
}

export const assignments = (values: object): string[] =>
  Object.entries(values).map(([key, value]) => `${key}=${value ?? ""}`);

/** Hashes of every picture of a snapshot, by its name. */
export async function hashes(client: TestClient): Promise<Record<string, string>> {
  const answer = await client.ask("snapshot", {});
  if (answer.ok !== true) throw new Error(`no snapshot: ${JSON.stringify(answer)}`);
  const zip = unzipSync(Buffer.from(answer.base64 as string, "base64"));
  const pictures = Object.entries(zip).filter(([name]) => !name.endsWith(".json"));
  return Object.fromEntries(
    pictures.map(([name, bytes]) => [name, createHash("sha256").update(bytes).digest("hex")]),
  );
}

/** Pairs by what became of them: all of them, where nothing is lost. */
export function accountedPairs({ frames, drops }: RunFigures): number {
  const causes = ["engineBusy", "notSent", "backendLost", "governor", "sourceChanged"];
  return causes.reduce((sum, cause) => sum + (drops[cause] ?? 0), frames);
}

/** Frames by what became of them at the stream "depth". */
export function accountedDepth({ drops, outputs }: RunFigures): number {
  const { sentByStream } = outputs.mqtt as unknown as { sentByStream: { depth?: number } };
  const lost = Object.entries(drops).filter(([cause]) =>
    /^mqtt\.(depth\.|held|failed|rateLimit)/.test(cause),
  );
  return lost.reduce((sum, [, count]) => sum + count, sentByStream.depth ?? 0);
}
