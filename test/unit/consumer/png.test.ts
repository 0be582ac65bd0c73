// SPDX-License-Identifier: Apache-2.0
// Tests PNG bodies: the same counts as a second decoder for every filter and depth; files that inflate to more or less
// than their header's rows, by zlib and by the browser's inflater; unneeded chunks stay packed.
import { constants, crc32, deflateSync, inflateSync } from "node:zlib";
import { decode as decodeByFastPng, encode as encodeByFastPng } from "fast-png";
import { expect, test } from "vitest";
import { encodePng } from "../../../camera/index.js";
import { decodePng, inflateByFflate } from "../../../clients/javascript/src/png.js";
import { cpuMsSince } from "../../doubles/cpu-time.js";

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);

function chunk(name: string, body: Uint8Array, claimed = body.length): Buffer {
  const head = Buffer.alloc(8);
  head.writeUInt32BE(claimed, 0);
  head.write(name, 4, "latin1");
  const tail = Buffer.alloc(4);
  tail.writeUInt32BE(crc32(Buffer.concat([head.subarray(4), body])));
  return Buffer.concat([head, body, tail]);
}

function header(width: number, height: number, depth: number, changes: Record<number, number> = {}): Buffer {
  const body = Buffer.alloc(13);
  body.writeUInt32BE(width, 0);
  body.writeUInt32BE(height, 4);
  body[8] = depth;
  for (const [at, value] of Object.entries(changes)) body[Number(at)] = value;
  return chunk("IHDR", body);
}

const END = chunk("IEND", Buffer.alloc(0));
const file = (...chunks: Buffer[]) => new Uint8Array(Buffer.concat([SIGNATURE, ...chunks]));
const rowChunk = (bytes: number) => chunk("IDAT", deflateSync(Buffer.alloc(bytes)));

test.each([0, 1, 2, 3, 4])("every filter at both depths gives what fast-png gives, first %i", (first) => {
  for (const depth of [8, 16]) {
    const [width, height, step] = [7, 10, depth / 8];
    const rows = Buffer.from(
      Array.from({ length: height * (width * step + 1) }, (_, i) => (i * i * 31 + 17 * i) & 255),
    );
    for (let y = 0; y < height; y++) rows[y * (width * step + 1)] = (y + first) % 5;
    const packed = deflateSync(rows);
    const parts = [packed.subarray(0, 5), Buffer.alloc(0), packed.subarray(5)];
    const png = file(header(width, height, depth), ...parts.map((part) => chunk("IDAT", part)), END);
    const counts = decodePng(png, { width, height, depth });
    expect([...counts]).toEqual([...decodeByFastPng(png).data]);
    expect(counts).toBeInstanceOf(depth === 8 ? Uint8Array : Uint16Array);
  }
});

test("Paeth's filter takes the left byte of two that are equally near, and the one above before the corner's", () => {
  const rows = (left: number, above: number, corner: number) => [0, corner, above, 4, left - corner, 0];
  const last = (left: number, above: number, corner: number) => {
    const packed = deflateSync(Uint8Array.from(rows(left, above, corner)));
    const png = file(header(2, 2, 8), chunk("IDAT", packed), END);
    return decodePng(png, { width: 2, height: 2, depth: 8 })[3];
  };
  // The guess is left + above - corner. It is 1 from the left byte and from the corner, 2 from the one above.
  expect(last(8, 11, 10)).toBe(8);
  // It is 1 from the byte above and from the corner, 2 from the left one.
  expect(last(11, 8, 10)).toBe(8);
  expect(last(12, 11, 10)).toBe(12);
  expect(last(11, 12, 10)).toBe(12);
  expect(last(9, 11, 10)).toBe(10);
});

test("reads what the publisher and fast-png write", async () => {
  const data = Uint16Array.from({ length: 33 * 20 }, (_, i) => (i * 7919) & 0xffff);
  const grey = { width: 33, height: 20, depth: 16 };
  expect(decodePng(await encodePng({ data, ...grey }), grey)).toEqual(data);
  expect(decodePng(encodeByFastPng({ data, ...grey, depth: 16, channels: 1 }), grey)).toEqual(data);
});

test("colours of 8 bit are read as three channels, and never in place of grey", async () => {
  const data = Uint8Array.from({ length: 3 * 33 * 20 }, (_, i) => (i * 7919) & 0xff);
  const colours = { width: 33, height: 20, depth: 8, channels: 3 } as const;
  const png = await encodePng({ data, width: 33, height: 20 });
  expect(decodePng(png, colours)).toEqual(data);
  expect([...decodeByFastPng(png).data]).toEqual([...data]);
  expect(() => decodePng(png, { ...colours, channels: 1 })).toThrow(/colour type 2/);
});

test("a file that inflates to more than its rows is refused before it does", () => {
  // 100 MB in 97 kB, for a picture of 4 x 3.
  const bomb = file(header(4, 3, 16), rowChunk(100 << 20), END);
  expect(bomb.length).toBeLessThan(110_000);
  const again = deflateSync(Buffer.alloc(100 << 20));
  const before = process.cpuUsage();
  expect(() => decodePng(bomb, { width: 4, height: 3, depth: 16 })).toThrow(
    expect.objectContaining({ code: "ERR_BUFFER_TOO_LARGE" }),
  );
  expect(() => inflateByFflate(again, 27)).toThrow(/more than the 27 bytes/);
  expect(cpuMsSince(before)).toBeLessThan(1000);
});

test("one byte more or less, bytes after the picture and after the file, are refused", () => {
  const size = { width: 4, height: 3, depth: 16 };
  const head = header(4, 3, 16);
  expect(decodePng(file(head, rowChunk(27), END), size)).toEqual(new Uint16Array(12));
  expect(() => decodePng(file(head, rowChunk(28), END), size)).toThrow(/28 of the 27 bytes/);
  expect(() => decodePng(file(head, rowChunk(26), END), size)).toThrow(/26 of the 27 bytes/);
  const tail = chunk("IDAT", Buffer.concat([deflateSync(Buffer.alloc(27)), Buffer.alloc(5)]));
  expect(() => decodePng(file(head, tail, END), size)).toThrow(/5 bytes after the picture/);
  expect(() => decodePng(file(head, rowChunk(27), END, END), size)).toThrow(/12 bytes after IEND/);
  for (const bytes of [26, 28])
    expect(() => inflateByFflate(deflateSync(Buffer.alloc(bytes)), 27)).toThrow(/27 bytes/);
  const whole = deflateSync(Buffer.from(Array.from({ length: 27 }, (_, i) => i)), {
    level: constants.Z_BEST_SPEED,
  });
  expect([...inflateByFflate(whole, 27)]).toEqual(Array.from({ length: 27 }, (_, i) => i));
  expect(() => inflateByFflate(whole.subarray(0, 12), 27)).toThrow();
});

test.each([4095, 4096, 4097, 8192, 8193])(
  "%i packed bytes are unpacked slice by slice, and cut ones are refused",
  (packedBytes) => {
    // Stored, not compressed: 11 bytes more than the data.
    const data = Buffer.from(Array.from({ length: packedBytes - 11 }, (_, i) => (i * 7919) & 255));
    const packed = deflateSync(data, { level: 0 });
    expect(packed).toHaveLength(packedBytes);
    expect(Buffer.compare(inflateByFflate(packed, data.length), data)).toBe(0);
    expect(() => inflateByFflate(packed, data.length - 1)).toThrow(/more than/);
    expect(() => inflateByFflate(packed, data.length + 1)).toThrow(/of the \d+ bytes of its rows/);
    expect(() => inflateByFflate(packed.subarray(0, -5), data.length)).toThrow();
  },
);

test("a colour profile that inflates without end is never inflated", () => {
  const profile = Buffer.concat([Buffer.from("p\0\0", "latin1"), deflateSync(Buffer.alloc(100 << 20))]);
  const png = file(header(4, 3, 8), chunk("iCCP", profile), chunk("zTXt", profile), rowChunk(15), END);
  // In CPU time, and against what inflating it once costs on this machine.
  const cpuCost = (work: () => void) => {
    const before = process.cpuUsage();
    work();
    const { user, system } = process.cpuUsage(before);
    return user + system;
  };
  const inflating = cpuCost(() => inflateSync(profile.subarray(3)));
  const decoding = cpuCost(() =>
    expect(decodePng(png, { width: 4, height: 3, depth: 8 })).toEqual(new Uint8Array(12)),
  );
  expect(decoding).toBeLessThan(inflating / 2);
});

test("damage and other kinds are refused in words", () => {
  const size = { width: 4, height: 3, depth: 8 };
  const good = [rowChunk(15), END];
  const cases: [Uint8Array, RegExp][] = [
    [new Uint8Array(0), /no PNG signature/],
    [file(), /end of the file inside a chunk/],
    [file(header(4, 3, 8)), /end of the file inside a chunk/],
    [file(header(3, 4, 8), ...good), /3 x 4, 8 bit, grey/],
    [file(header(4, 3, 16), ...good), /4 x 3, 16 bit, grey/],
    [file(header(4, 3, 8, { 9: 2 }), ...good), /colour type 2/],
    [file(header(4, 3, 8, { 12: 1 }), ...good), /an interlaced picture/],
    [file(header(4, 3, 8, { 10: 1 }), ...good), /compression 1 and filter 0/],
    [file(header(4, 3, 8, { 11: 1 }), ...good), /compression 0 and filter 1/],
    [file(header(3, 3, 8), ...good), /3 x 3, 8 bit, grey/],
    [file(header(4, 4, 8), ...good), /4 x 4, 8 bit, grey/],
    [file(header(4, 3, 8), rowChunk(15), END.subarray(0, 11)), /end of the file inside a chunk/],
    [file(chunk("IHDR", Buffer.alloc(12)), ...good), /an IHDR of 12 bytes/],
    [file(...good), /IDAT in place of IHDR/],
    [file(header(4, 3, 8), header(4, 3, 8), ...good), /IHDR after IHDR/],
    [
      file(header(4, 3, 8), chunk("IDAT", Buffer.alloc(4), 0xffffffff)),
      /of 4294967295 bytes that is cut off/,
    ],
    [file(header(4, 3, 8), chunk("IDAT", Buffer.alloc(4), 5)), /a chunk IDAT of 5 bytes that is cut off/],
    [file(header(4, 3, 8), END), /./],
    [file(header(4, 3, 8), chunk("IDAT", deflateSync(Buffer.alloc(15, 5))), END), /row filter 5/],
  ];
  for (const [png, expected] of cases) expect(() => decodePng(png, size)).toThrow(expected);
});
