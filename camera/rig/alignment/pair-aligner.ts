// SPDX-License-Identifier: Apache-2.0
// PairAligner: looks at pairs, and reads the numbers that the addon writes of each look.
import { DepthwattError, type ErrorCode, loadAddon } from "../../../core/index.js";
import {
  ALIGNMENT_TERMS,
  type AlignmentExports,
  type AlignmentLook,
  type MapTurn,
  type NativePairAligner,
  type PairAlignerOptions,
} from "./native.js";

/** @throws DepthwattError ADDON_MISSING */
const alignmentAddon = (): AlignmentExports => loadAddon<AlignmentExports>();

const TERMS = ALIGNMENT_TERMS.length;
const PRODUCTS = (TERMS * (TERMS + 1)) / 2;
const FIRST_PRODUCT = 15;
const LOOK_NUMBERS = FIRST_PRODUCT + PRODUCTS + TERMS;

function coded(error: unknown): Error {
  const code = (error as { code?: string }).code;
  if (error instanceof DepthwattError || !(error instanceof Error) || code === undefined)
    return error as Error;
  return new DepthwattError(code as ErrorCode, error.message, { cause: error });
}

/** The right map of a camera that has turned, made on another thread. @throws (as a rejection) DepthwattError ENGINE_PARAMETER */
export async function turnMap(turn: MapTurn): Promise<Int32Array> {
  try {
    return await alignmentAddon().turnMap(turn);
  } catch (error) {
    throw coded(error);
  }
}

/** Looks at pairs: at once by look(), or next to everything else by begin() and take(), which do not wait. */
export class PairAligner {
  readonly #native: NativePairAligner;
  readonly #numbers = new Float64Array(LOOK_NUMBERS);

  /** @throws DepthwattError ENGINE_PARAMETER, MEMORY_EXHAUSTED, ADDON_MISSING */
  constructor(options: PairAlignerOptions) {
    try {
      this.#native = new (alignmentAddon().PairAligner)(options);
    } catch (error) {
      throw coded(error);
    }
  }

  /** @throws DepthwattError ENGINE_PARAMETER: an image that is too small, or after begin() */
  look(left: Uint8Array, right: Uint8Array): AlignmentLook {
    try {
      this.#native.look(left, right, this.#numbers);
    } catch (error) {
      throw coded(error);
    }
    return this.#read();
  }

  /** Copies the pair and looks at it on its own thread. @returns false where the one before is not taken yet */
  begin(left: Uint8Array, right: Uint8Array): boolean {
    return this.#native.begin(left, right);
  }

  /** The look that begin() started; undefined while there is none. */
  take(): AlignmentLook | undefined {
    return this.#native.take(this.#numbers) ? this.#read() : undefined;
  }

  close(): void {
    this.#native.close();
  }

  #read(): AlignmentLook {
    const at = this.#numbers as unknown as Record<number, number>;
    return {
      cpuMs: at[0]!,
      leftCorners: at[1]!,
      rightCorners: at[2]!,
      features: at[3]!,
      kept: at[4]!,
      leftSharpness: at[5]!,
      rightSharpness: at[6]!,
      leftContrast: at[7]!,
      rightContrast: at[8]!,
      medianDisparity: at[9]!,
      smallestDisparity: at[10]!,
      meanRows: at[11]!,
      p95Rows: at[12]!,
      weight: at[13]!,
      squares: at[14]!,
      products: [...this.#numbers.subarray(FIRST_PRODUCT, FIRST_PRODUCT + PRODUCTS)],
      targets: [...this.#numbers.subarray(FIRST_PRODUCT + PRODUCTS, LOOK_NUMBERS)],
    };
  }
}
