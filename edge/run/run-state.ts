// SPDX-License-Identifier: Apache-2.0
// The state of a run, online or degraded, and the reason. It joins the problems of the source, the backend, the outputs and the
// rig, and publishes the first of them in this order.
import type { BackendName } from "../../cuda/index.js";
import type { DeviceState } from "../contracts/output.js";
import type { PairProblem } from "../rig/health/index.js";

/** Problems that are looked up when the state is published. */
export interface StateConditions {
  /** The backend that computes now. */
  backend(): BackendName;
  outputProblem(): string | undefined;
  rigProblem(): Pick<PairProblem, "text" | "code"> | undefined;
}

export class RunState {
  readonly #conditions: StateConditions;
  readonly #publish: (state: DeviceState, reason: string, code?: string) => void;
  #sourceProblem: string | undefined;
  #sourceCode: string | undefined;
  #backendLoss: string | undefined;
  #backendCode: string | undefined;
  #running = false;

  /** @param publish called for every state; `code` is the code of the problem, if it has one */
  constructor(
    conditions: StateConditions,
    publish: (state: DeviceState, reason: string, code?: string) => void,
  ) {
    this.#conditions = conditions;
    this.#publish = publish;
  }

  /** Publishes `online`. Before begin() and after end() nothing is published. */
  begin(reason: string): void {
    this.#running = true;
    this.#publish("online", reason);
  }

  end(): void {
    this.#running = false;
  }

  /** @param problem undefined: the source has recovered. @param code classifies the cause, if it is known */
  setSourceProblem(problem: string | undefined, code?: string): void {
    this.#sourceProblem = problem;
    this.#sourceCode = code;
    this.update("the source delivers again");
  }

  /**
   * The GPU does not compute although it should. @returns false for the same loss again, because each frame in work reports it
   * @param code classifies the cause
   */
  setBackendLoss(reason: string, code?: string): boolean {
    if (reason === this.#backendLoss) return false;
    this.#backendLoss = reason;
    this.#backendCode = code;
    return true;
  }

  /** Ends a loss if CUDA computes: the next loss is a new one, also with the same text. Call it after each computed frame. */
  backendWorks(): void {
    if (this.#backendLoss !== undefined && this.#conditions.backend() === "cuda")
      this.#backendLoss = undefined;
  }

  /** Publishes the state as it is now. @param reason why it is online, if it is */
  update(reason: string): void {
    if (!this.#running) return;
    // Only `auto` falls back from CUDA to the CPU. If CUDA computes again, the loss is over.
    const loss = this.#conditions.backend() === "cpu" ? this.#backendLoss : undefined;
    const problem = this.#sourceProblem ?? loss ?? this.#conditions.outputProblem();
    const rig = problem === undefined ? this.#conditions.rigProblem() : undefined;
    const degraded = problem ?? rig?.text;
    this.#publish(
      degraded === undefined ? "online" : "degraded",
      degraded ?? reason,
      this.#code(loss) ?? rig?.code,
    );
  }

  /** Returns the code of the problem that is published first, if it has one. */
  #code(loss: string | undefined): string | undefined {
    if (this.#sourceProblem !== undefined) return this.#sourceCode;
    return loss === undefined ? undefined : this.#backendCode;
  }
}
