// SPDX-License-Identifier: Apache-2.0
// Reads a disassembly: the loop of a kernel that walks batches, the instructions that one turn of it issues, and what they cost.

/**
 * @typedef {{ address: number, name: string, conditional: boolean, target: number | undefined }} Instruction
 */

/**
 * Results a clock and multiprocessor of a pipe, for one 32-bit register a thread (CUDA C++ Programming Guide, throughput of native
 * arithmetic instructions; population count, shuffle and reduction as measured on an H200). Neither 8.7 nor 11.0 is in a
 * table that we found. 8.6 is taken for 8.7: the guide's section on 8.x gives both the same cores (128 of FP32, 64 of INT32), and
 * not those of 8.0. 9.0 is taken for 11.0. A half2 instruction gives two results, so its lanes are half of what the table says of
 * 16-bit numbers.
 */
const VOLTA = {
  integer: 64,
  logic: 64,
  half: 64,
  minimum: 64,
  shift: 64,
  permute: 64,
  multiply: 64,
  count: 16,
  load: 32,
};
const MAXWELL = {
  integer: 128,
  logic: 128,
  half: 128,
  minimum: 64,
  shift: 64,
  permute: 64,
  multiply: 128,
  count: 32,
  load: 32,
};
export const LANES = {
  53: MAXWELL,
  62: { ...MAXWELL, count: 16 },
  72: VOLTA,
  87: VOLTA,
  90: { ...VOLTA, half: 128 },
  110: { ...VOLTA, half: 128 },
};
/** A warp's instruction takes one of a multiprocessor's four schedulers a clock: 128 lanes. */
const ISSUE = 128;

/**
 * Class by mnemonic; other mnemonics are integer operations.
 * @type {[RegExp, string][]}
 */
const CLASSES = [
  [/^(HADD2|HMUL2|HFMA2)/, "half"],
  [/^(HMNMX2|IMNMX|VMNMX|VIMNMX|VHMNMX|FMNMX|HSETP2|HSET2)/, "minimum"],
  [/^(LOP|LOP3|LOP32I|PLOP3)\b/, "logic"],
  [/^(SHF(?!L)|SHL|SHR|BFE|BFI)/, "shift"],
  [/^(PRMT|SEL|SGXT)/, "permute"],
  [/^(IMAD|XMAD|IMUL|IDP)/, "multiply"],
  [/^(POPC|FLO|I2F|F2I|MUFU)/, "count"],
  [/^SHFL/, "shuffle"],
  [/^REDUX/, "reduce"],
  [/^(LDC|ULDC|LDCU|U[A-Z]|S2|R2|CS2R|VOTE|LEPC)/, "control"], // once for a warp, or next to all pipes
  [
    /^(BRA|BSSY|BSYNC|SSY|SYNC|NOP|DEPBAR|LDGDEPBAR|WARPSYNC|BAR|EXIT|PBK|BRK|CAL|RET|YIELD|MEMBAR|CALL)/,
    "control",
  ],
  [/^(LD|ST|ATOM|RED\b)/, "load"],
];
/** The pipe that a class runs on, next to the others; up to 6.x one for all arithmetic. */
const PIPES = {
  integer: "arithmetic",
  logic: "arithmetic",
  minimum: "arithmetic",
  shift: "arithmetic",
  permute: "arithmetic",
  multiply: "multiply-add",
  half: "multiply-add",
  count: "population count",
  shuffle: "load and store",
  load: "load and store",
  reduce: "reduction",
};

/** Words a thread that a load or store moves. */
const words = (name) => (/\.128/.test(name) ? 4 : /\.64/.test(name) ? 2 : 1);
const instructionClass = (name) => CLASSES.find(([pattern]) => pattern.test(name))?.[1] ?? "integer";

/**
 * Issue slots of a scheduler's clock that an instruction takes: 1 where its pipe keeps up with all four schedulers.
 * @param {string} name
 * @param {number} architecture
 */
export function issueSlots(name, architecture) {
  const lanes = LANES[architecture];
  const kind = instructionClass(name);
  if (kind === "control") return 1;
  if (kind === "shuffle") return ISSUE / 32;
  if (kind === "reduce") return ISSUE / 16;
  if (kind === "load") return (ISSUE / lanes.load) * words(name);
  return ISSUE / lanes[kind];
}

/**
 * The instructions of each function of `cuobjdump -sass`: address, mnemonic, and where it branches to.
 * @param {string} text
 * @returns {Map<string, Instruction[]>}
 */
export function parseSass(text) {
  const functions = new Map();
  let current;
  for (const line of text.split("\n")) {
    const begin = line.match(/Function : (\S+)/);
    if (begin !== null) {
      current = [];
      functions.set(begin[1], current);
    }
    // Maxwell and Pascal issue two instructions together, which are in braces.
    const found = line.match(
      /^\s*\/\*([0-9a-f]{4,5})\*\/\s+\{?\s*(?:@(!?U?P\w+)\s+)?([A-Z][\w.]*)\s*([^;}]*)[;}]/,
    );
    if (found === null || current === undefined) continue;
    const [, address, predicate, name, rest] = found;
    const target = /^(BRA|JMP|SSY|PBK)/.test(name) ? rest.trim().match(/0x([0-9a-f]+)$/)?.[1] : undefined;
    current.push({
      address: Number.parseInt(address, 16),
      name,
      conditional: predicate !== undefined || /P\d|^CC\./.test(rest.split(",")[0] ?? ""),
      target: target === undefined ? undefined : Number.parseInt(target, 16),
    });
  }
  for (const code of functions.values()) {
    const places = new Set(code.map((one) => one.address));
    code.forEach((one, i) => {
      // Maxwell's and Pascal's branches lead to the word of scheduling hints before an instruction,
      if (one.target !== undefined && !places.has(one.target)) one.target += 8;
      // and these to where the last announcement that is still ahead said.
      const announced = { SYNC: "SSY", BRK: "PBK" }[one.name];
      if (announced !== undefined) {
        const ahead = (other) => other.name === announced && other.target > one.address;
        one.target = code.slice(0, i).findLast(ahead)?.target;
      }
    });
  }
  return functions;
}

/**
 * Backward branches, as [first, last] indices of the instructions of their loops.
 * @param {Instruction[]} code
 * @returns {[number, number][]}
 */
export function findLoops(code) {
  const at = new Map(code.map((one, i) => [one.address, i]));
  return code.flatMap((one, i) => {
    const to = one.target === undefined || !/^BRA/.test(one.name) ? undefined : at.get(one.target);
    return to !== undefined && to < i ? [[to, i]] : [];
  });
}

/**
 * One turn of a loop: of all ways through it the one with most of what `preferred` counts, in that order, and then the cheapest.
 * Inner loops are gone through once. Gives instructions by mnemonic.
 * @param {Instruction[]} code
 * @param {[number, number]} loop
 * @param {RegExp[]} preferred
 * @param {(name: string) => number} cost
 * @returns {Record<string, number>}
 */
export function findIteration(code, [first, last], preferred, cost) {
  const at = new Map(code.map((one, i) => [one.address, i]));
  const score = (one) => [...preferred.map((pattern) => (pattern.test(one.name) ? 1 : 0)), -cost(one.name)];
  const better = (a, b) => {
    const where = a.findIndex((value, i) => Math.abs(value - b[i]) > 1e-9);
    return where >= 0 && a[where] > b[where];
  };
  const best = new Map(); // index -> { score, previous }
  best.set(first, { total: score(code[first]), previous: undefined });
  for (let i = first; i < last; i++) {
    const here = best.get(i);
    if (here === undefined) continue;
    const one = code[i];
    const next = [];
    const to = one.target === undefined ? undefined : at.get(one.target);
    const branches = /^(BRA|SYNC|BRK)/.test(one.name);
    if (branches && to !== undefined && to > i && to <= last) next.push(to);
    if (!branches || one.conditional || to === undefined || to <= i) next.push(i + 1);
    for (const n of next) {
      const total = here.total.map((value, k) => value + score(code[n])[k]);
      const before = best.get(n);
      if (before === undefined || better(total, before.total)) best.set(n, { total, previous: i });
    }
  }
  /** @type {Record<string, number>} */
  const counts = {};
  for (let i = last; i !== undefined; i = best.get(i)?.previous)
    counts[code[i].name] = (counts[code[i].name] ?? 0) + 1;
  return counts;
}

/** Slots of counts by mnemonic, added up by class. */
export function slotsByClass(counts, architecture) {
  const sums = {};
  for (const [name, n] of Object.entries(counts)) {
    const kind = instructionClass(name);
    sums[kind] = (sums[kind] ?? 0) + n * issueSlots(name, architecture);
  }
  return sums;
}

/**
 * Returns the cost of counts by mnemonic: instructions; slots, the sum of what each takes of its pipe; and the bound,
 * since pipes work in parallel: the fullest of them, or the schedulers.
 * @param {Record<string, number>} counts
 * @param {number} architecture
 */
export function countCost(counts, architecture) {
  let instructions = 0;
  let slots = 0;
  const pipes = {};
  for (const [name, n] of Object.entries(counts)) {
    const taken = n * issueSlots(name, architecture);
    instructions += n;
    slots += taken;
    const own = PIPES[instructionClass(name)];
    const pipe = architecture < 70 && own === "multiply-add" ? "arithmetic" : own;
    if (pipe !== undefined) pipes[pipe] = (pipes[pipe] ?? 0) + taken;
  }
  pipes.schedulers = instructions;
  const [binds, clocks] = Object.entries(pipes).sort((a, b) => b[1] - a[1])[0];
  return { instructions, slots, clocks, binds };
}
