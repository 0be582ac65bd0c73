// SPDX-License-Identifier: Apache-2.0
// Defines a source that delivers one pair of images repeatedly, faster than the engine computes, until it is stopped,
// and counts the pairs that come back.
import {
  greyPairLayout,
  type PairSource,
  type RawImage,
  type SourceCounters,
  type SourceDescription,
  type SourceEvents,
} from "../../camera/index.js";

interface Pictures {
  width: number;
  height: number;
  left: Uint8Array;
  right: Uint8Array;
}

export class PacedSource implements PairSource {
  readonly description: SourceDescription;
  delivered = 0;
  released = 0;
  ended = false;
  readonly #pictures: Pictures;
  #enough = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(pictures: Pictures) {
    const { width, height } = pictures;
    this.#pictures = pictures;
    this.description = {
      title: "paced",
      ...greyPairLayout(width, height),
      rateHz: undefined,
      clock: "monotonic",
    };
  }

  start(events: SourceEvents): void {
    this.#timer = setInterval(() => {
      if (this.#enough) {
        clearInterval(this.#timer);
        this.ended = true;
        events.onEnd();
        return;
      }
      const { width, height, left, right } = this.#pictures;
      const side: Omit<RawImage, "data"> = {
        width,
        height,
        strideBytes: width,
        sequence: this.delivered++,
        format: "GREY",
        timestampNs: process.hrtime.bigint(),
      };
      events.onPair({
        left: { ...side, data: left },
        right: { ...side, data: right },
        clock: "monotonic",
        release: () => {
          this.released++;
        },
      });
    }, 3);
  }

  /** No further pair. */
  end(): void {
    this.#enough = true;
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
  }

  counters(): SourceCounters {
    return {
      pairs: this.delivered,
      dropsLeft: {},
      dropsRight: {},
      skewMsMean: undefined,
      skewMsP99: undefined,
      driftPpm: undefined,
    };
  }
}
