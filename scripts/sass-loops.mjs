// SPDX-License-Identifier: Apache-2.0
// Reads a disassembly: the loop of a kernel that walks batches, the instructions that one turn of it issues, and what they cost.

/**
 * Results a clock and multiprocessor of a pipe, for one 32-bit register a thread (CUDA C++ Programming Guide, throughput of native
 * arithmetic instructions; population count, shuffle and reduction as measured on an H200). 8.7 stands in no table: 8.6 is taken
 * for it. A half2 instruction gives two results, so its lanes are half of what the table says of 16-bit numbers.
 */
export const LANES = {
  53: {
    integer: 128,
    logic: 128,
    half: 128,
    minimum: 64,
    shift: 64,
    permute: 64,
    multiply: 32,
    count: 32,
    load: 32,
  },
  62: {
    integer: 128,
    logic: 128,
    half: 128,
    minimum: 64,
    shift: 64,
    permute: 64,
    multiply: 32,
    count: 16,
    load: 32,
  },
  72: {
    integer: 64,
    logic: 64,
    half: 64,
    minimum: 64,
    shift: 64,
    permute: 64,
    multiply: 64,
    count: 16,
    load: 32,
  },
  87: {
    integer: 64,
    logic: 64,
    half: 64,
    minimum: 64,
    shift: 64,
    permute: 64,
    multiply: 64,
    count: 16,
    load: 32,
  },
  90: {
    integer: 64,
    logic: 64,
    half: 128,
    minimum: 64,
    shift: 64,
    permute: 64,
    multiply: 64,
    count: 16,
    load: 32,
  },
};
/** A warp's instruction takes one of a multiprocessor's four schedulers a clock: 128 lanes. */
const ISSUE = 128;

/** Pipe by mnemonic; what is not named here is an integer operation. */
const PIPES = [
  [/^(HADD2|HMUL2|HFMA2)/, "half"],
  [/^(HMNMX2|IMNMX|VMNMX|VIMNMX|FMNMX|HSETP2|HSET2)/, "minimum"],
  [/^(LOP3|LOP|PLOP3)/, "logic"],
  [/^(SHF(?!L)|SHL|SHR|BFE|BFI)/, "shift"],
  [/^(PRMT|SEL|SGXT)/, "permute"],
  [/^(IMAD|XMAD|IMUL|IDP)/, "multiply"],
  [/^(POPC|FLO|I2F|F2I|MUFU)/, "count"],
  [/^(LD|ST|ATOM|RED\b)/, "load"],
  [/^SHFL/, "shuffle"],
  [/^REDUX/, "reduce"],
  [
    /^(BRA|BSSY|BSYNC|SSY|SYNC|NOP|DEPBAR|LDGDEPBAR|WARPSYNC|BAR|EXIT|PBK|BRK|CAL|RET|YIELD|DEPBAR)/,
    "control",
  ],
];

/** Words a thread that a load or store moves. */
const words = (name) => (/\.128/.test(name) ? 4 : /\.64/.test(name) ? 2 : 1);

/** Issue slots of a scheduler's clock that an instruction takes: 1 where its pipe keeps up with all four schedulers. */
export function slotsOf(name, architecture) {
  const lanes = LANES[architecture];
  const pipe = PIPES.find(([pattern]) => pattern.test(name))?.[1] ?? "integer";
  if (pipe === "control") return 1;
  if (pipe === "shuffle") return ISSUE / 32;
  if (pipe === "reduce") return ISSUE / 16;
  if (pipe === "load") return (ISSUE / lanes.load) * words(name);
  return ISSUE / lanes[pipe];
}

/** The instructions of each function of `cuobjdump -sass`: address, mnemonic, and where it branches to. */
export function parseSass(text) {
  const functions = new Map();
  let current;
  for (const line of text.split("\n")) {
    const begin = line.match(/Function : (\S+)/);
    if (begin !== null) {
      current = [];
      functions.set(begin[1], current);
    }
    const found = line.match(/^\s*\/\*([0-9a-f]{4,5})\*\/\s+(?:@(!?U?P\w+)\s+)?([A-Z][\w.]*)\s*([^;]*);/);
    if (found === null || current === undefined) continue;
    const [, address, predicate, name, rest] = found;
    const target = /^(BRA|BRX|JMP|BRK|SYNC)/.test(name) ? rest.match(/0x([0-9a-f]+)\s*$/)?.[1] : undefined;
    current.push({
      address: Number.parseInt(address, 16),
      name,
      conditional: predicate !== undefined || /P\d/.test(rest.split(",")[0] ?? ""),
      target: target === undefined ? undefined : Number.parseInt(target, 16),
    });
  }
  return functions;
}

/** Backward branches, as [first, last] indices of the instructions of their loops. */
export function loopsOf(code) {
  const at = new Map(code.map((one, i) => [one.address, i]));
  return code.flatMap((one, i) => {
    const to = one.target === undefined || !/^BRA/.test(one.name) ? undefined : at.get(one.target);
    return to !== undefined && to < i ? [[to, i]] : [];
  });
}

/**
 * One turn of a loop: of all ways through it the one with most of what `most` counts, in that order, and then the cheapest.
 * Inner loops are gone through once. Gives instructions by mnemonic.
 */
export function turnOf(code, [first, last], most, cost) {
  const at = new Map(code.map((one, i) => [one.address, i]));
  const score = (one) => [...most.map((pattern) => (pattern.test(one.name) ? 1 : 0)), -cost(one.name)];
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
  const counts = {};
  for (let i = last; i !== undefined; i = best.get(i)?.previous)
    counts[code[i].name] = (counts[code[i].name] ?? 0) + 1;
  return counts;
}

/** Instructions and issue slots of counts by mnemonic. */
export function costOf(counts, architecture) {
  let instructions = 0;
  let slots = 0;
  for (const [name, n] of Object.entries(counts)) {
    instructions += n;
    slots += n * slotsOf(name, architecture);
  }
  return { instructions, slots };
}
