// SPDX-License-Identifier: Apache-2.0
// Lists the words that this project does not use, and the words that replace them. wording.mjs searches for them.

// In this code a lane is one thread of a warp or one element of a vector register.
const WARPS_AND_VECTORS =
  /^(cuda|bench\/model)\/|\/(cuda|cuda-limits|predictions)\.(md|test\.ts)$|^test\/doubles\/native\/warp\/|\/(cuda-kernels\.test\.ts|build-cuda\.mjs)$/;

/**
 * Words that may appear nowhere: not in pages, comments or messages, and not as a part of a name.
 * `except` matches uses in code that are correct. `allowed` matches the paths where the word has another meaning.
 */
export const FORBIDDEN = [
  {
    words: ["eye", "eyes"],
    say: "camera, or left / right image; side where a name stands for left or right",
  },
  // `processor` is a key of profiles and of result files that people keep, and a word in the names of CPUs.
  {
    words: ["processor", "processors"],
    say: "CPU",
    except: /Xeon\(R\) Processor|multiprocessors?|\.processors?|processors?["']?:/gi,
  },
  { words: ["cure", "cures", "cured"], say: "hint, or what to do" },
  { words: ["lane", "lanes"], say: "frame in work, or worker", allowed: WARPS_AND_VECTORS },
  { words: ["most"], say: "max", except: /\bat most\b/gi, namesOnly: true },
];

/** Words of comments, pages, messages and test names. word-allowance.json has the number that each folder may contain. */
export const PLAIN = [
  { words: ["told", "tell", "tells"], say: "report, log, print or publish" },
  { words: ["says so", "is said", "are said", "no word"], say: "reports, logs" },
  { words: ["beside"], say: "next to, with, in addition to" },
  { words: ["whoever", "nobody", "whatever"], say: "the noun: the reader, the user, no output" },
  { words: ["the one that", "of those", "what is"], say: "the noun" },
  { words: ["of its own", "of their own", "by itself", "by themselves"], say: "separate, own, alone" },
  {
    words: ["goes on", "begins anew", "begin anew", "outlives", "outlive"],
    say: "continues, restarts, survives",
  },
  { words: ["stands in", "stands once", "stands here", "stands there", "lies in", "lies at"], say: "is" },
  { words: ["taken off", "taken out"], say: "corrected, removed" },
  { words: ["mend", "mends", "mended"], say: "fix, workaround" },
  { words: ["a hand free", "bad days"], say: "an idle worker; failures and recovery" },
  { words: ["rival", "rivals", "riddle"], say: "second publisher, competitor" },
  { words: ["picture has", "left picture", "right picture", "input picture"], say: "image" },
  { words: ["has moved since"], say: "the cameras have moved relative to each other" },
  {
    words: ["words of 31 bits", "words of 62 bits", "word of 31 bits", "word of 62 bits"],
    say: "31-bit / 62-bit census",
  },
  { words: ["right view of its own"], say: "separate right-image match" },
];

/** Words that may not begin a comment, because the sentence that follows them usually has no verb. */
export const BEGINNINGS = ["Of", "Those", "Whether", "What", "That", "Who", "Whose"];
