// SPDX-License-Identifier: Apache-2.0
// Checks a request from a place where anybody may write: size, JSON, schema, signature, and only then runs the command.
// Every message gets one answer, or is counted if too many are refused.
import { z } from "zod";
import { DepthwattError, isDepthwattError } from "../../core/index.js";
import type { ControlAnswer } from "../contracts/control.js";
import { refusalFrom } from "./answer.js";
import { firstIssue } from "./commands.js";
import { RateLimit } from "./rate-limit.js";
import { SignatureVerifier, type VerifierClock } from "./signature.js";

export const MAX_REQUEST_BYTES = 65_536;
/** Refused requests that are answered, a second; the others are only counted. */
const MAX_REFUSALS_A_SECOND = 10;

const printableText = z.string().regex(/^[^\p{Cc}]*$/u, "expected text without control characters");

const requestSchema = z.strictObject({
  id: printableText.min(1).max(64),
  client: printableText.max(64).optional(),
  timeMs: z.number().optional(),
  nonce: printableText.max(64).optional(),
  body: z.unknown().optional(),
});

const signedSchema = z.strictObject({
  signed: z.string(),
  signature: z.string().regex(/^[0-9a-f]{64}$/, "expected 64 hexadecimal digits, small letters"),
});

export type WireRequest = z.infer<typeof requestSchema>;
/** `id` is that of the request, also where its signature is wrong; null where none could be read. */
export type WireAnswer = { id: string | null } & ControlAnswer;

export interface GateOptions {
  /** BASE/DEVICE. */
  device: string;
  /** Undefined: the broker answers for its clients. */
  secret: string | undefined;
  perform(command: string, body: unknown, from: string): Promise<ControlAnswer>;
  /** For tests. */
  clock?: VerifierClock;
  now?: () => number;
}

export interface GateCounters {
  answered: number;
  /** By code; those among them that were not even answered are `unanswered`. */
  refused: Record<string, number>;
  unanswered: number;
}

export class RequestGate {
  readonly #options: GateOptions;
  readonly #verifier: SignatureVerifier | undefined;
  readonly #refusals: RateLimit;
  readonly #counters: GateCounters = { answered: 0, refused: {}, unanswered: 0 };
  #closed = false;

  constructor(options: GateOptions) {
    this.#options = options;
    this.#verifier =
      options.secret === undefined ? undefined : new SignatureVerifier(options.secret, options.clock);
    this.#refusals = new RateLimit(MAX_REFUSALS_A_SECOND, options.now);
  }

  counters(): GateCounters {
    return { ...this.#counters, refused: { ...this.#counters.refused } };
  }

  /** From now on everything is answered with RUN_ENDED. */
  close(): void {
    this.#closed = true;
  }

  /**
   * Never rejects.
   * @param next to.fault a fault of the message apart from its payload
   * @param next to.who where it came from, where that is known; else who asks is what the request itself says
   * @returns undefined where a refusal is only counted
   */
  async answer(
    command: string,
    payload: Uint8Array,
    { fault, who }: { fault?: DepthwattError | undefined; who?: string } = {},
  ): Promise<WireAnswer | undefined> {
    let id: string | null = null;
    let answer: ControlAnswer;
    try {
      const message = read(payload);
      id = requestId(message);
      const request = this.#open(command, message);
      this.#admit(request);
      if (fault !== undefined) throw fault;
      if (this.#closed)
        throw new DepthwattError("RUN_ENDED", "the run is ending; nothing is changed any more");
      const reported = request.client ? `"${request.client}"` : "a client without a name";
      answer = await this.#options.perform(command, request.body, who ?? reported);
    } catch (error) {
      if (!isDepthwattError(error)) throw error;
      answer = refusalFrom(error);
    }
    return this.#count(answer) ? { id, ...answer } : undefined;
  }

  /** Counts the answer, and returns whether it shall be sent. */
  #count(answer: ControlAnswer): boolean {
    if (!answer.ok) {
      const { refused } = this.#counters;
      refused[answer.code] = (refused[answer.code] ?? 0) + 1;
      if (!this.#refusals.take()) {
        this.#counters.unanswered++;
        return false;
      }
    }
    this.#counters.answered++;
    return true;
  }

  #open(command: string, message: unknown): WireRequest {
    if (this.#verifier === undefined) {
      if (isSigned(message))
        throw invalid("expected an unsigned request, because control.authentication is broker");
      return parse(requestSchema, message);
    }
    if (!isSigned(message)) {
      throw new DepthwattError(
        "CONTROL_SECRET",
        'expected a signed request, {"signed": "...", "signature": "..."}; this one is not signed',
      );
    }
    const { signed, signature } = parse(signedSchema, message);
    this.#verifier.checkSignature({ device: this.#options.device, command, text: signed }, signature);
    return parse(requestSchema, parseJson(Buffer.from(signed)));
  }

  #admit({ timeMs, nonce }: WireRequest): void {
    if (this.#verifier === undefined) return;
    if (timeMs === undefined || nonce === undefined || nonce.length < 16)
      throw invalid("a signed request needs timeMs and a nonce of 16 characters or more");
    this.#verifier.use({ timeMs, nonce });
  }
}

const invalid = (text: string) => new DepthwattError("CONTROL_INVALID", text);

const isSigned = (message: unknown) => typeof message === "object" && message !== null && "signed" in message;

function read(payload: Uint8Array): unknown {
  if (payload.length <= MAX_REQUEST_BYTES) return parseJson(payload);
  throw invalid(`expected a request of at most ${MAX_REQUEST_BYTES} bytes, got ${payload.length}`);
}

/** A refusal names the request that it belongs to. */
function requestId(message: unknown): string | null {
  const signed = signedSchema.safeParse(message);
  let request = message;
  try {
    if (signed.success) request = JSON.parse(signed.data.signed);
  } catch {
    return null;
  }
  const parsed = requestSchema.pick({ id: true }).strip().safeParse(request);
  return parsed.success ? parsed.data.id : null;
}

function parseJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch (cause) {
    throw new DepthwattError("CONTROL_INVALID", "expected JSON in UTF-8, got something else", { cause });
  }
}

function parse<Schema extends z.ZodType>(schema: Schema, value: unknown): z.infer<Schema> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  throw invalid(`the request does not fit its schema: ${firstIssue(parsed.error)}`);
}
