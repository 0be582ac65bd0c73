// SPDX-License-Identifier: Apache-2.0
// Executes requests to a running depthwatt: one request in, one answer out. Knows neither MQTT nor HTTP; the caller
// authorizes the client.
import { DepthwattError, isDepthwattError, redactUrl } from "../../core/index.js";
import {
  type Config,
  describedSettings,
  nearestName,
  SETTING_BY_KEY,
  SETTINGS,
  type SettingsChange,
  type SettingValue,
  valueAt,
} from "../config/index.js";
import type { ControlAnswer, ControlResult, RunControl } from "../contracts/control.js";
import { findPreset, PRESET_CHOICES } from "../presets/index.js";
import type { OtherCalibration } from "../rig/health/index.js";
import { refusalFrom } from "./answer.js";
import {
  COMMAND_NAMES,
  COMMANDS,
  type CommandBody,
  type CommandName,
  commandSchemas,
  firstIssue,
} from "./commands.js";
import { RateLimit } from "./rate-limit.js";
import type { SavedSettings } from "./save.js";
import type { Snapshot } from "./snapshot.js";

/** Requests a second that are served, of all who ask together. */
export const MAX_REQUESTS_A_SECOND = 10;

/** Where a request names a preset. */
const PRESET_FIELD = { what: "preset", code: "CONTROL_INVALID" } as const;

/** The run that is controlled. */
export interface ControlledRun {
  /** Requests wait for it: the first outputs take them while the last are opened. @throws DepthwattError RUN_ENDED */
  readonly begun?: Promise<void>;
  readonly config: Config;
  apply(change: SettingsChange, from: string): Promise<SettingsChange>;
  notice(text: string): void;
  /** All streams of the next frame. @throws DepthwattError STREAM_SILENT, RUN_ENDED */
  snapshot(): Promise<Snapshot>;
  /** Ends the sleep of power.dutyCycle. @returns false if the run never sleeps */
  wake?: (() => boolean) | undefined;
  /**
   * @returns the corrected calibration, or with `undo` the previous one
   * @throws DepthwattError CONTROL_UNSUPPORTED, OUTPUT_UNWRITABLE
   */
  otherCalibration?: (undo: boolean) => OtherCalibration;
  /** Restarts with the configuration that its files have then. @throws DepthwattError CONFIG_* */
  restart?: ((from: string) => void) | undefined;
  /** Writes values into the configuration file. @throws DepthwattError OUTPUT_UNWRITABLE, CONTROL_UNSUPPORTED */
  save?: ((change: SettingsChange) => SavedSettings) | undefined;
}

export interface ControlOptions {
  off: string | undefined;
  /** See RunControl. */
  trial?: boolean;
  secret: string | undefined;
  brokerAuthenticates: boolean;
  now?: () => number;
}

export class Control implements RunControl {
  readonly off: string | undefined;
  readonly trial: boolean;
  readonly secret: string | undefined;
  readonly brokerAuthenticates: boolean;
  readonly #run: ControlledRun;
  readonly #limit: RateLimit;
  #recordingEnds: NodeJS.Timeout | undefined;

  constructor(run: ControlledRun, { off, trial = false, secret, brokerAuthenticates, now }: ControlOptions) {
    this.off = off;
    this.trial = trial;
    this.secret = secret;
    this.brokerAuthenticates = brokerAuthenticates;
    this.#run = run;
    this.#limit = new RateLimit(MAX_REQUESTS_A_SECOND, now);
  }

  get canSave(): boolean {
    return this.#run.save !== undefined;
  }

  settings() {
    const described = describedSettings(this.#run.config, this.off === undefined);
    const settings = described.settings.filter(({ key }) => !this.trial || isTrialSetting(key));
    return { ...described, settings, presets: PRESET_CHOICES };
  }

  /**
   * Serves one request; never rejects.
   * @param body as JSON.parse made it
   * @param from who asks, as it is reported: for messages and the log
   */
  async perform(command: string, body: unknown, from: string): Promise<ControlAnswer> {
    try {
      if (!this.#limit.take()) {
        const text = `expected at most ${MAX_REQUESTS_A_SECOND} requests a second, of all who ask together`;
        throw new DepthwattError("CONTROL_BUSY", text);
      }
      await this.#run.begun;
      return await this.#serve(command, body, from);
    } catch (error) {
      if (isDepthwattError(error)) return refusalFrom(error);
      this.#run.notice(`the request "${command}" by ${from} failed: ${String(error)}`);
      return refusalFrom(new DepthwattError("INTERNAL", "the request failed; the device's log says how"));
    }
  }

  async #serve(command: string, body: unknown, from: string): Promise<ControlResult> {
    const name = COMMAND_NAMES.find((one) => one === command);
    if (name === undefined) {
      const near = nearestName(command, COMMAND_NAMES);
      throw new DepthwattError(
        "CONTROL_INVALID",
        `no command is called ${JSON.stringify(command.slice(0, 100))}`,
        {
          hint: near === undefined ? `There are: ${COMMAND_NAMES.join(", ")}.` : `Did you mean "${near}"?`,
        },
      );
    }
    const parsed = COMMANDS[name].safeParse(body ?? {});
    if (!parsed.success) {
      const text = `the body of "${name}" does not fit its schema: ${firstIssue(parsed.error)}`;
      throw new DepthwattError("CONTROL_INVALID", text);
    }
    return this.#do(name, parsed.data as never, from);
  }

  #do(name: CommandName, body: never, from: string): ControlResult | Promise<ControlResult> {
    switch (name) {
      case "get":
        return this.#get(body);
      case "set":
        return this.#set(body, from);
      case "schema":
        return {
          ok: true,
          settings: this.settings().settings,
          presets: PRESET_CHOICES,
          commands: commandSchemas(),
        };
      case "snapshot":
        return this.#snapshot();
      case "wake":
        return this.#wake(from);
      case "recalibrate":
        return this.#recalibrate(body, from);
      case "restart":
        return this.#restart(from);
      case "record":
        return this.#record(body, from);
    }
  }

  #get({ keys }: CommandBody<"get">): ControlResult {
    const { config } = this.#run;
    const readable = SETTINGS.map(({ key }) => key).filter((key) => !this.trial || isTrialSetting(key));
    const pairs = (keys ?? readable).map((key) => {
      if (!SETTING_BY_KEY.has(key)) throw unknownSetting(key);
      this.#admit(key);
      return [key, shown(valueAt(config, key))];
    });
    return { ok: true, values: Object.fromEntries(pairs) };
  }

  /** @throws DepthwattError CONTROL_UNSUPPORTED of a setting that a trial keeps to the user who runs it */
  #admit(key: string): void {
    if (this.trial && !isTrialSetting(key))
      throw unsupported(`${key}: settings of files and sources need a secret (control.secretFile)`);
  }

  async #set({ preset, values = {}, save }: CommandBody<"set">, from: string): Promise<ControlResult> {
    if (save === true && this.#run.save === undefined)
      throw unsupported("this run was started without a configuration file, so there is none to save to");
    for (const key of Object.keys(values)) this.#admit(key);
    const under = preset === undefined ? {} : findPreset(preset, nearestName, PRESET_FIELD).settings;
    const effective = await this.#run.apply({ ...under, ...values }, from);
    const reported = Object.fromEntries(Object.entries(effective).map(([key, value]) => [key, shown(value)]));
    const pairs = Object.entries(reported).map(([key, value]) => `${key}=${String(value)}`);
    const named = preset === undefined ? "" : `preset ${preset}, which is now `;
    this.#run.notice(`settings changed by ${from}: ${named}${pairs.join(", ")}`);
    if (save !== true) return { ok: true, values: reported };
    const saved = this.#run.save!(effective);
    this.#run.notice(`settings saved to ${saved.file} by ${from}: ${pairs.join(", ")}`);
    return { ok: true, values: reported, saved };
  }

  async #record({ recording = true, seconds }: CommandBody<"record">, from: string): Promise<ControlResult> {
    if (this.#run.config.outputs.mcap.file === undefined)
      throw unsupported("outputs.mcap.file is not set, so there is no place to record to");
    const turn = (on: boolean, asker: string) => this.#run.apply({ "outputs.mcap.recording": on }, asker);
    clearTimeout(this.#recordingEnds);
    await turn(recording, from);
    clearTimeout(this.#recordingEnds); // of a request that was served just before this one
    this.#run.notice(`recording ${recording ? "begun" : "ended"} by ${from}`);
    if (recording && seconds !== undefined) {
      const end = () => void turn(false, from).catch(() => {}); // the run has ended, and the file with it
      this.#recordingEnds = setTimeout(end, 1000 * seconds).unref();
    }
    return { ok: true, recording };
  }

  async #snapshot(): Promise<ControlResult> {
    const { zip, ...facts } = await this.#run.snapshot();
    const base64 = Buffer.from(zip.buffer, zip.byteOffset, zip.length).toString("base64");
    return { ok: true, ...facts, contentType: "application/zip", base64 };
  }

  #wake(from: string): ControlResult {
    if (this.#run.wake?.() !== true)
      throw unsupported("power.dutyCycle.frames is not set, so this run never sleeps");
    this.#run.notice(`wake asked for by ${from}`);
    return { ok: true, waking: true };
  }

  async #recalibrate({ undo }: CommandBody<"recalibrate">, from: string): Promise<ControlResult> {
    const key = "calibration.file";
    this.#admit(key);
    const before = this.#run.config.calibration.file;
    if (before === undefined || this.#run.otherCalibration === undefined)
      throw unsupported("calibration.file is not set, so there is no calibration to correct");
    const { file, corrections } = this.#run.otherCalibration(undo === true);
    await this.#run.apply({ [key]: file }, from);
    this.#run.notice(`calibration changed by ${from}: ${file}, before it ${before}`);
    return { ok: true, file, before, corrections, saved: this.#run.save?.({ [key]: file }) ?? null };
  }

  #restart(from: string): ControlResult {
    if (this.#run.restart === undefined)
      throw unsupported("the program that runs this depthwatt does not restart it");
    this.#run.restart(from);
    this.#run.notice(`restart asked for by ${from}`);
    return { ok: true, restarting: true };
  }
}

const shown = (value: SettingValue | undefined | null) =>
  typeof value === "string" ? redactUrl(value) : (value ?? null);

/**
 * Returns whether a trial may change the setting. Every user of this machine reaches its page: they must neither read the
 * files nor use the cameras of the user who runs it.
 */
export function isTrialSetting(key: string): boolean {
  if (key.startsWith("source.")) return key.startsWith("source.synthetic.");
  return SETTING_BY_KEY.get(key)?.facts.isPath !== true;
}

const unsupported = (why: string) => new DepthwattError("CONTROL_UNSUPPORTED", why);

function unknownSetting(key: string): DepthwattError {
  const near = nearestName(key, SETTING_BY_KEY.keys());
  const guess = near === undefined ? "" : `; did you mean "${near}"?`;
  return new DepthwattError("CONFIG_UNKNOWN_KEY", `${key}: no setting has this name${guess}`);
}
