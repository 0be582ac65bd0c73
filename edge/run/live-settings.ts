// SPDX-License-Identifier: Apache-2.0
// The settings of a run and how they change while it runs: all keys of a request or none, between two frames, one request after
// the other.
import { type Config, changedConfig, type SettingsChange, valueAt } from "../config/index.js";
import type { RunGovernor } from "../governor/index.js";
import { runEngineOptions } from "./engine-options.js";
import { cameraInfo } from "./info.js";
import type { NextInput } from "./live-input.js";
import { openGovernor } from "./open-governor.js";
import type { RuntimeParts } from "./parts.js";
import { colourNote } from "./source-requirements.js";

export interface LiveSettingsEvents {
  onNotice(notice: string): void;
  /** `config` holds from the next frame on. */
  onCommit(config: Config): void;
  /** The outputs have the new settings. @param source title of the source, if another one is in use now */
  onApplied(source: string | undefined): void;
}

/** Settings whose change needs another governor: its goal, and the best level of its ladder. */
const GOVERNED = /^(match\.|power\.(budgetWatts|minFps)$)/;

export class LiveSettings {
  readonly #ending: AbortSignal;
  readonly #events: LiveSettingsEvents;
  #config: Config;
  #parts: RuntimeParts | undefined;
  #governor: RunGovernor | undefined;
  #running = false;
  #searchChanged = false;
  #colourNote: string | undefined;
  #changes: Promise<unknown> = Promise.resolve();

  /** @param ending aborted when the run ends: a change that waits for its source is refused then */
  constructor(config: Config, ending: AbortSignal, events: LiveSettingsEvents) {
    this.#config = config;
    this.#ending = ending;
    this.#events = events;
  }

  /** The settings that hold now. */
  get config(): Config {
    return this.#config;
  }

  get governor(): RunGovernor | undefined {
    return this.#governor;
  }

  /** Returns whether the searched disparities or the region have changed since the start. */
  get searchChanged(): boolean {
    const governed = this.#governor?.figures;
    return this.#searchChanged || (governed?.available === true && governed.changes > 0);
  }

  /** Opens the governor if the settings ask for one. @throws DepthwattError of openGovernor() */
  assemble(parts: RuntimeParts): void {
    this.#parts = parts;
    this.#governor = this.#governorFor(parts, this.#config);
    this.#noteColours(parts);
  }

  begin(): void {
    this.#running = true;
    this.#governor?.start();
  }

  async end(): Promise<void> {
    this.#running = false;
    await this.#governor?.stop();
  }

  /**
   * Changes settings: all of them or none. Concurrent calls are served one after the other.
   * @param from who asks, as messages name it
   * @returns the values that hold now, of every given key
   * @throws DepthwattError CONFIG_UNKNOWN_KEY, CONFIG_INVALID, SETTING_NEEDS_RESTART, ENGINE_PARAMETER, ENGINE_FAILED,
   *   BACKEND_UNAVAILABLE, RUN_ENDED, and of a source or calibration that cannot be opened; nothing has changed then
   */
  apply(change: SettingsChange, from: string): Promise<SettingsChange> {
    return this.#inTurn((parts) => this.#apply(parts, change, from));
  }

  /**
   * Closes the source until wake(), after the changes that were requested before.
   * @param isWanted asked when its turn has come
   * @throws (as a rejection) DepthwattError of an engine that cannot be opened; the source stays open then
   */
  sleep(isWanted: () => boolean): Promise<void> {
    return this.#inTurn(async (parts) => {
      const { engine, pipeline, health, input } = parts;
      if (!isWanted() || this.#ending.aborted) return;
      const { description } = parts.source;
      // The engine must give up the memory of the images before the source does.
      const options = runEngineOptions(
        this.#config,
        { description },
        health.corrected(input.geometry),
        parts.shared,
      );
      let closed: Promise<void> | undefined;
      await engine.change(options, false, () => {
        pipeline.discardWaiting("dutyCycle");
        closed = input.source.suspend();
      });
      await closed;
    });
  }

  /**
   * Opens the source again.
   * @throws (as a rejection) DepthwattError of the source, its calibration or the engine
   */
  wake(isWanted: () => boolean): Promise<void> {
    return this.#inTurn(async (parts) => {
      const { engine, health, input } = parts;
      if (!isWanted() || !input.source.suspended) return;
      const { next, isSame } = await input.reopen(this.#config, this.#ending);
      try {
        if (isSame) {
          const options = runEngineOptions(
            this.#config,
            next.source,
            health.corrected(next.geometry),
            parts.shared,
          );
          await engine.change(options, false, () => next.takeOver());
        } else await this.#change(parts, this.#config, [], next);
      } catch (error) {
        await next.discard();
        throw error;
      }
    });
  }

  #inTurn<T>(work: (parts: RuntimeParts) => Promise<T>): Promise<T> {
    const done = this.#changes.then(() => work(this.#parts as RuntimeParts));
    this.#changes = done.catch(() => {});
    return done;
  }

  async #apply(parts: RuntimeParts, change: SettingsChange, from: string): Promise<SettingsChange> {
    const { config, changed } = changedConfig(this.#config, change, from);
    if (changed.length > 0) {
      const { title } = parts.source.description;
      const next = await parts.input.prepare(config, changed, this.#ending);
      try {
        await this.#change(parts, config, changed, next);
      } catch (error) {
        await next?.discard();
        throw error;
      }
      const values = Object.fromEntries(changed.map((key) => [key, valueAt(config, key)]));
      parts.outputs.settings(values, from);
      const source = parts.source.description.title;
      this.#events.onApplied(source === title ? undefined : source);
      for (const warning of next?.warnings ?? []) this.#events.onNotice(warning);
      this.#noteColours(parts);
    }
    return Object.fromEntries(Object.keys(change).map((key) => [key, valueAt(config, key)]));
  }

  async #change(
    parts: RuntimeParts,
    config: Config,
    changed: readonly string[],
    next: NextInput | undefined,
  ): Promise<void> {
    const { engine, health, input } = parts;
    const regoverned = next !== undefined || changed.some((key) => GOVERNED.test(key));
    const geometry = next?.geometry ?? health.corrected(input.geometry);
    const options = runEngineOptions(config, next?.source ?? parts.source, geometry, parts.shared);
    const governor = regoverned ? this.#governorFor(parts, config, next) : this.#governor;
    // The levels of the old governor come from the old settings.
    if (regoverned) await this.#governor?.stop();
    try {
      await engine.change(options, regoverned, () => {
        this.#commit(parts, config, changed, governor, next);
      });
    } finally {
      if (regoverned && this.#running) this.#governor?.start();
    }
  }

  /** @returns a governor that is not started; undefined if the configuration asks for none. @throws DepthwattError */
  #governorFor(parts: RuntimeParts, config: Config, next?: NextInput): RunGovernor | undefined {
    return openGovernor(config, parts, {
      source: next?.source ?? parts.source,
      onChange: (reason) => this.#events.onNotice(`governor: ${reason}`),
      onProblem: (problem) => this.#events.onNotice(`governor: ${problem.message}`),
    });
  }

  /** Between two frames: everything holds from the next one on. */
  #commit(
    parts: RuntimeParts,
    config: Config,
    changed: readonly string[],
    governor: RunGovernor | undefined,
    next: NextInput | undefined,
  ): void {
    const { pipeline, outputs, input } = parts;
    const before = input.geometry.cameraInfo;
    this.#config = config;
    this.#governor = governor;
    this.#searchChanged ||= next !== undefined || changed.some((key) => /^(match|region)\./.test(key));
    if (next !== undefined) {
      pipeline.discardWaiting();
      next.takeOver();
    }
    this.#watchRig(parts, changed, next !== undefined);
    parts.duty.configure(config.power.dutyCycle);
    if (next !== undefined && next.source !== input.source) parts.duty.sourceChanged();
    outputs.configure(config.outputs, input.picture);
    const described = cameraInfo(input, parts.source);
    if (next !== undefined && (before ?? described) !== undefined) outputs.cameraInfo(described);
    this.#events.onCommit(config);
  }

  /** A failure is only reported, because the change already holds: frames are computed without a watch too. */
  #watchRig({ health, source, input }: RuntimeParts, changed: readonly string[], reopen: boolean): void {
    try {
      if (reopen) health.open(this.#config, source.description, input.geometry);
      else if (changed.some((key) => key.startsWith("health."))) health.configure(this.#config);
    } catch (error) {
      this.#events.onNotice(`health: ${(error as Error).message}`);
    }
  }

  /** Reports a matcher that computes without the colours it reads, once for each such matcher. */
  #noteColours({ source }: RuntimeParts): void {
    const note = colourNote(this.#config, source.description);
    if (note === this.#colourNote) return;
    this.#colourNote = note;
    if (note !== undefined) this.#events.onNotice(note);
  }
}
