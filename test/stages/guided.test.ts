// SPDX-License-Identifier: Apache-2.0
// Coarse-to-fine search: votes and blocks by hand, properties of the levels, and every form against the definition.
import { describe, expect, test } from "vitest";
import { emptyAnswer, INVALID, OUTPUTS, type SgmCase, sgm, shiftedPair } from "../doubles/sgm-call.js";
import { AWKWARD_WIDTHS, expectSameImage, native, Random, variants } from "../doubles/stages.js";

const guided = native.stages.guided as unknown as (call: object) => string;
const forms = ["reference", ...variants];
const tiles = (width: number, height: number) => Math.ceil(width / 8) * Math.ceil(height / 8);

interface Votes {
  winner: Int16Array;
  second: Int16Array;
}

const noVotes = (width: number, height: number): Votes => ({
  winner: new Int16Array(width * height).fill(INVALID),
  second: new Int16Array(width * height).fill(INVALID),
});

/** Chooses blocks from the votes of the coarser level. */
function choose(
  variant: string,
  width: number,
  height: number,
  numDisparities: number,
  votes: Votes,
  minDisparity = 0,
) {
  const blocks = new Uint8Array(8 * tiles(width, height));
  const coarse = { coarseWinner: votes.winner, coarseSecond: votes.second };
  expect(guided({ variant, width, height, numDisparities, minDisparity, ...coarse, blocks })).toBe(variant);
  return blocks;
}

type GuidedCase = SgmCase & {
  blocks?: Uint8Array;
  words?: number;
  moreLeft?: Uint32Array;
  moreRight?: Uint32Array;
};

function match(variant: string, given: GuidedCase) {
  const answer = emptyAnswer(given.width * given.height);
  expect(guided({ greyLeft: new Uint8Array(given.width * given.height), ...given, ...answer, variant })).toBe(
    variant,
  );
  return answer;
}

function vote(variant: string, given: GuidedCase): Votes {
  const votes = noVotes(given.width, given.height);
  expect(guided({ greyLeft: new Uint8Array(given.width * given.height), ...given, ...votes, variant })).toBe(
    variant,
  );
  return votes;
}

describe.each(["reference", variants[0] as string])("guided, %s: blocks by hand", (variant) => {
  test("a tile without votes takes the lowest blocks", () => {
    expect(Array.from(choose(variant, 8, 8, 100, noVotes(4, 4)))).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
  });

  test("a vote reaches the blocks within two disparities; the neighbours of the best blocks fill the rest", () => {
    const votes = noVotes(4, 4);
    votes.winner[5] = 40; // 80: blocks 19 and 20, two votes each
    votes.winner[6] = 20; // 40: blocks 9 and 10
    votes.second[6] = 21; // 42: blocks 10 and 11, one vote each
    // Votes: 9 2, 10 3, 11 1, 19 2, 20 2. Then 8 and 18 and 21 (next to two votes), the lowest first.
    expect(Array.from(choose(variant, 8, 8, 128, votes))).toEqual([8, 9, 10, 11, 18, 19, 20, 21]);
  });

  test("of more than eight blocks those with most votes win, then the lowest", () => {
    const votes = noVotes(4, 4);
    for (let i = 0; i < 5; ++i) votes.winner[i] = 1 + 12 * i; // 2, 26, 50, 74, 98: blocks 0 1, 6 7, 12 13, 18 19, 24 25
    votes.second[9] = 49; // 98 again
    expect(Array.from(choose(variant, 8, 8, 128, votes))).toEqual([0, 1, 6, 7, 12, 13, 24, 25]);
  });

  test("votes are clamped to the range, and count from minDisparity", () => {
    const votes = noVotes(4, 4);
    votes.winner[0] = 60; // 120 of 7 to 76: the last block, 17, and its neighbours
    expect(Array.from(choose(variant, 8, 8, 70, votes, 7))).toEqual([10, 11, 12, 13, 14, 15, 16, 17]);
  });

  test("a tile counts one coarse pixel beyond its own", () => {
    const votes = noVotes(8, 4); // 16 x 8 pixels, two tiles
    votes.winner[3] = 40; // x = 3, the last of tile 0, counted by tile 1 too
    votes.winner[6] = 10; // x = 6: tile 1 alone
    const blocks = Array.from(choose(variant, 16, 8, 128, votes));
    expect(blocks.slice(0, 8)).toEqual([14, 15, 16, 17, 18, 19, 20, 21]);
    expect(blocks.slice(8)).toContain(19);
    expect(blocks.slice(8)).toContain(4);
  });
});

/** Blocks that random votes choose. */
function randomBlocks(
  random: Random,
  width: number,
  height: number,
  numDisparities: number,
  minDisparity: number,
) {
  const coarse = [Math.ceil(width / 2), Math.ceil(height / 2)] as const;
  const votes = noVotes(...coarse);
  for (const side of [votes.winner, votes.second]) {
    for (let i = 0; i < side.length; ++i) {
      if (random.whole(0, 3) > 0) side[i] = (minDisparity + random.whole(0, numDisparities - 1)) >> 1;
    }
  }
  return { votes, blocks: choose("reference", width, height, numDisparities, votes, minDisparity) };
}

describe.each(variants)("%s gives the definition's bits", (variant) => {
  test("blocks", () => {
    const random = new Random();
    for (const [width, height] of [
      [61, 23],
      [8, 1],
      [1, 9],
      [130, 17],
      [1009, 9], // more tiles than the fast form reads together
    ] as const) {
      const numDisparities = random.whole(65, 512);
      const minDisparity = random.whole(0, 9);
      const { votes, blocks } = randomBlocks(random, width, height, numDisparities, minDisparity);
      const got = choose(variant, width, height, numDisparities, votes, minDisparity);
      expectSameImage(got, blocks, 8, `seed ${random.seed}: ${width}x${height}x${numDisparities}`);
    }
  });

  test("every width, and ranges, paths, words, penalties and threads as they come", () => {
    const random = new Random();
    for (const width of AWKWARD_WIDTHS) {
      const height = random.pick([1, 7, 8, 9, 17, 24]);
      const numDisparities = random.pick([random.whole(8, 64), random.whole(65, 200), 128, 96]);
      const minDisparity = random.pick([0, 0, random.whole(1, 20)]);
      const p2 = random.pick([24, random.whole(1, 127)]); // up to 31, the sums of four paths fit bytes
      const paths = random.pick([2, 4]);
      const words = random.pick([1, 2]);
      const more = shiftedPair(random, width, height, minDisparity + 3);
      const given: GuidedCase = {
        width,
        height,
        numDisparities,
        minDisparity,
        paths,
        words,
        p1: random.whole(1, p2),
        p2,
        adaptiveP2: random.pick([0, 2, 40]),
        uniqueness: random.pick([0, 10]),
        outsideCost: random.pick([6, 63]),
        subpixel: true,
        threads: random.pick([1, 2, 3]),
        ...shiftedPair(random, width, height, minDisparity + 3),
        greyLeft: random.fill(new Uint8Array(width * height), 0, 255),
        ...(words === 2 && { moreLeft: more.censusLeft, moreRight: more.censusRight }),
        ...(numDisparities > 64 && randomBlocks(random, width, height, numDisparities, minDisparity)),
      };
      const what = `seed ${random.seed}: ${width}x${height}x${numDisparities}+${minDisparity} ${paths} paths ${words} words`;
      const expected = match("reference", given);
      const got = match(variant, given);
      for (const output of OUTPUTS)
        expectSameImage(got[output], expected[output], width, `${what}: ${output}`);
      const votes = vote(variant, given);
      const expectedVotes = vote("reference", given);
      expectSameImage(votes.winner, expectedVotes.winner, width, `${what}: votes`);
      expectSameImage(votes.second, expectedVotes.second, width, `${what}: second votes`);
    }
  });

  test("a range of at most 64 gives the left view of the full search", () => {
    const random = new Random();
    const [width, height] = [83, 21];
    const given = {
      width,
      height,
      numDisparities: random.whole(8, 64),
      paths: 4,
      p1: 7,
      p2: 40,
      outsideCost: 6,
      ...shiftedPair(random, width, height, 5),
    };
    const full = sgm(variant, given);
    const got = match(variant, given);
    for (const output of ["disparity", "disparityQ4", "confidence"] as const) {
      expectSameImage(got[output], full[output], width, `seed ${random.seed}: ${output}`);
    }
  });
});

test.each(forms)("a true disparity among the blocks is found, %s", (variant) => {
  const random = new Random();
  const [width, height, shift] = [160, 24, 90];
  const votes = noVotes(80, 12);
  votes.winner.fill(shift / 2);
  const blocks = choose(variant, width, height, 128, votes);
  const given = {
    width,
    height,
    numDisparities: 128,
    paths: 4,
    p1: 10,
    p2: 60,
    ...shiftedPair(random, width, height, shift),
  };
  const answer = match(variant, { ...given, blocks });
  for (let y = 0; y < height; ++y) {
    for (let x = shift + 10; x < width; ++x) expect(answer.disparity[y * width + x]).toBe(shift);
    for (let x = 10; x < width - shift; ++x) expect(answer.rightDisparity[y * width + x]).toBe(shift);
  }
});
