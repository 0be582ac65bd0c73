// SPDX-License-Identifier: Apache-2.0
// One word for one thing: the words we do not use, and the one that we use instead.
// prose.mjs looks for `pattern` in pages and in the sentences that users see; names.mjs for `inCode` in names and comments
// of all code, and for `inNames` in names alone. `allowed`: files where the word means something else and is right.

/** The word as a name, or as a part of a camelCase or UPPER_CASE one. */
const named = (word) => {
  const capital = word[0].toUpperCase() + word.slice(1);
  return new RegExp(
    `(?<![A-Za-z])(?:${word}|${capital})(?![a-z])|(?<=[a-z])${capital}(?![a-z])|(?<![A-Z])${word.toUpperCase()}(?![A-Z])`,
    "g",
  );
};

// A lane is one thread of a warp or one element of a vector register, and nothing else.
const WARPS_AND_VECTORS =
  /^(cuda|bench\/model)\/|^docs\/(notebook|decisions\/07)|\/(cuda|cuda-kernels|predictions)\.(md|test\.ts)$|^test\/doubles\/native\/warp\/|\/(cuda-kernels\.test\.ts|build-cuda\.mjs)$/;

export const BANNED = [
  {
    pattern: /\beyes?\b/gi,
    inCode: [named("eye"), named("eyes")],
    use: "camera, or left / right image; side where a name stands for left or right",
  },
  {
    // A key of profiles and result files, which people keep, is called `processor`.
    pattern: /\bprocessors?\b|(?<=^|[.:] )Processors?\b/gm,
    inCode: [/(?<![A-Za-z.])[Pp]rocessors?(?![a-z]|["']?:)|(?<=[a-z])(?<![Mm]ulti)Processors?(?![a-z])/g],
    use: "CPU",
  },
  {
    pattern: /\bcure[sd]?\b/gi,
    inCode: [named("cure"), named("cures"), named("cured")],
    use: "hint, or what to do",
  },
  {
    pattern: /\blanes?\b/gi,
    inCode: [named("lane"), named("lanes")],
    use: "frame in work, or worker",
    allowed: WARPS_AND_VECTORS,
  },
  // "At most" is English; in a name it is a second word for max.
  { inNames: [/(?<![A-Za-z])(?<!\bat )(?:most|Most|MOST)(?![a-z])|(?<=[a-z])Most(?![a-z])/g], use: "max" },
];
