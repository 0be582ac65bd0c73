# SPDX-License-Identifier: Apache-2.0
"""Reads the frames of depthwatt: numpy and paho-mqtt are all it needs.

    from depthwatt import Depthwatt

    for frame in Depthwatt("mqtt://127.0.0.1:1883"):
        print(frame.device, frame.header.frame_number, frame.metres[240, 320])

The format is docs/reference/frames.md of the project. RVL bodies are unpacked by a few lines of C where there is a
compiler (cc), else by numpy; `rvl_decoder()` says which.
"""

import collections
import ctypes
import dataclasses
import hashlib
import operator
import os
import shutil
import struct
import subprocess
import tempfile
import threading
import zlib
from urllib.parse import unquote, urlsplit

import numpy as np

__all__ = ["Depthwatt", "Frame", "Header", "Energy", "FrameError", "parse_frame", "decode_rvl", "decode_points", "rvl_decoder"]

HEADER_BYTES = 96
MAX_SIDE = 16384
MAX_PIXELS = 1 << 24
STREAMS = {1: "depth", 2: "disparity", 3: "confidence", 4: "left", 5: "points", 6: "right", 7: "registered", 8: "registeredConfidence"}
ENCODINGS = {1: "raw", 2: "rvl", 3: "png", 4: "compressedDepth", 5: "jpeg", 6: "voxels"}
ELEMENTS = {1: "u8", 2: "u16", 3: "f32", 4: "rgb8", 5: "i16"}
CLOCKS = {1: "monotonic", 2: "realtime", 3: "file"}
QUANTITIES = {1: "depthMetres", 2: "disparityPixels", 3: "confidence", 4: "greyValue", 5: "colourValue", 6: "pointMetres"}
INVALID_RULES = {0: "none", 1: "zero", 2: "nan", 3: "lowest"}
POINT_FRAMES = {1: "camera", 2: "robot"}
POINT_COLOURS = {0: "none", 1: "grey", 2: "rgb"}
DTYPES = {"u8": np.dtype("u1"), "u16": np.dtype("<u2"), "f32": np.dtype("<f4"), "rgb8": np.dtype("u1")}
CHANNELS = {"u8": 1, "u16": 1, "f32": 1, "rgb8": 3}
POINT_BYTES = {("f32", "grey"): 16, ("f32", "rgb"): 16, ("i16", "grey"): 8, ("i16", "rgb"): 10, ("i16", "none"): 0}
_LAYOUT = struct.Struct("<4sHHBBBBHBBIIIIQQqIIddIIHBBI")
assert _LAYOUT.size == HEADER_BYTES
_ENERGY = struct.Struct("<ffHH")
ENERGY_HEADER_BYTES = HEADER_BYTES + _ENERGY.size


class FrameError(ValueError):
    """Bytes that are no frame; the message says which field, what was expected and what came."""


@dataclasses.dataclass(frozen=True)
class Energy:
    """Joules between the captures of two successive frames, an interval of `seconds` that ended `age_ms` before this frame.

    joules_uncertainty is expanded (k = 2), None if the step of the publisher's sensor is unknown.
    """

    joules: float
    joules_uncertainty: "float | None"
    seconds: float
    age_ms: int


@dataclasses.dataclass(frozen=True)
class Header:
    """The header of a frame. Times are nanoseconds on `clock`; realtime_offset_ns is None where it is not known.

    reduction: 1, or the picture is a smaller one: pixel (x, y) is pixel (reduction x, reduction y) of what was computed.
    Voxels are so many times as large.
    point_frame ("camera", "robot") and point_colour ("grey", "rgb", "none" of voxels) are None but for the stream points.
    energy is None if the frame carries none.
    """

    stream: str
    encoding: str
    element: str
    clock: str
    flags: int
    quantity: str
    invalid_rule: str
    width: int
    height: int
    body_bytes: int
    frame_number: int
    left_timestamp_ns: int
    right_timestamp_ns: int
    realtime_offset_ns: "int | None"
    left_sequence: int
    right_sequence: int
    unit_scale: float
    value_offset: float
    run_id: int
    clock_domain: int
    reduction: int = 1
    point_frame: "str | None" = None
    point_colour: "str | None" = None
    energy: "Energy | None" = None


def _refuse(field, expected, found):
    raise FrameError(f"{field}: expected {expected}, found {found}")


def _name(names, field, code):
    if code not in names:
        _refuse(field, f"one of {names}", code)
    return names[code]


def _energy(message):
    joules, seconds, thousandths, age_ms = _ENERGY.unpack_from(message, HEADER_BYTES)
    if not (0 < joules < float("inf") and 0 < seconds < float("inf")):
        return None
    return Energy(joules, None if thousandths == 0xFFFF else joules * thousandths / 1000, seconds, age_ms)


def parse_frame(message, checks="crc"):
    """Checks a message and returns (Header, body); the body stays packed. Raises FrameError.

    checks="sequence" is for messages in shared memory, which have no CRC: their readers check a sequence number.
    """
    message = memoryview(message)
    if len(message) < HEADER_BYTES:
        _refuse("message", f"at least {HEADER_BYTES} bytes", len(message))
    (magic, version, header_bytes, stream, encoding, element, clock, flags, quantity, invalid_rule, width, height,
     body_bytes, frame_number, left_ns, right_ns, offset_ns, left_sequence, right_sequence, scale, offset, run_id,
     clock_domain, point_bytes, point_frame, point_colour, crc) = _LAYOUT.unpack_from(message)  # fmt: skip
    if magic != b"DWFR":
        _refuse("magic", "DWFR", magic)
    if version != 1:
        _refuse("version", 1, version)
    if not HEADER_BYTES <= header_bytes <= len(message):
        _refuse("headerBytes", f"{HEADER_BYTES} or more, within the message", header_bytes)
    body = message[header_bytes:]
    if body_bytes != len(body):
        _refuse("bodyBytes", len(body), body_bytes)
    computed = zlib.crc32(message[HEADER_BYTES:], zlib.crc32(message[:92])) if checks == "crc" else crc
    if crc != computed:
        _refuse("crc32", computed, crc)
    for field, side in (("width", width), ("height", height)):
        if not 1 <= side <= MAX_SIDE:
            _refuse(field, f"1 to {MAX_SIDE}", side)
    header = Header(
        stream=_name(STREAMS, "stream", stream),
        encoding=_name(ENCODINGS, "encoding", encoding),
        element=_name(ELEMENTS, "element", element),
        clock=_name(CLOCKS, "clock", clock),
        flags=flags,
        quantity=_name(QUANTITIES, "quantity", quantity),
        invalid_rule=_name(INVALID_RULES, "invalidRule", invalid_rule),
        width=width,
        height=height,
        body_bytes=body_bytes,
        frame_number=frame_number,
        left_timestamp_ns=left_ns,
        right_timestamp_ns=right_ns,
        realtime_offset_ns=offset_ns if flags & 1 else None,
        left_sequence=left_sequence,
        right_sequence=right_sequence,
        unit_scale=scale,
        value_offset=offset,
        run_id=run_id,
        clock_domain=clock_domain,
        reduction=1 << (flags >> 3 & 3),
        point_frame=_name(POINT_FRAMES, "pointFrame", point_frame) if stream == 5 else None,
        point_colour=_name(POINT_COLOURS, "pointColour", point_colour) if stream == 5 else None,
        energy=_energy(message) if header_bytes >= ENERGY_HEADER_BYTES else None,
    )
    if header.stream == "points":
        if header.element not in ("f32", "i16"):
            _refuse("element", "f32 or i16 for points", header.element)
        voxels = header.encoding == "voxels"
        if header.encoding != "raw" and not voxels:
            _refuse("encoding", "raw or voxels for points", header.encoding)
        if voxels and header.element != "i16":
            _refuse("element", "i16 for voxels", header.element)
        if voxels != (header.point_colour == "none"):
            _refuse("pointColour", "none for voxels, grey or rgb for raw points", header.point_colour)
        if point_bytes != POINT_BYTES[header.element, header.point_colour]:
            _refuse("pointBytes", POINT_BYTES[header.element, header.point_colour], point_bytes)
        raw_bytes = width * height * point_bytes
    elif header.encoding == "voxels":
        _refuse("encoding", "voxels in the stream points alone", "voxels")
    elif header.element == "i16":
        _refuse("element", "i16 in the stream points alone", "i16")
    else:
        raw_bytes = width * height * CHANNELS[header.element] * DTYPES[header.element].itemsize
    if header.encoding == "raw" and body_bytes != raw_bytes:
        _refuse("bodyBytes", raw_bytes, body_bytes)
    if header.encoding in ("rvl", "compressedDepth") and header.element != "u16":
        _refuse("element", f"u16 for {header.encoding}", header.element)
    coloured = (header.stream, header.encoding, header.element) == ("registered", "jpeg", "rgb8")
    if header.element == "rgb8" and header.stream != "left" and not coloured:
        _refuse("element", f"one number a pixel: {header.stream} has no colours", "rgb8")
    if header.encoding == "jpeg" and header.element != "u8" and not coloured:
        _refuse("element", f"u8 for jpeg of {header.stream}", header.element)
    if not 0 < scale < float("inf"):
        _refuse("unitScale", "a finite number above 0", scale)
    if not np.isfinite(offset):
        _refuse("valueOffset", "a finite number", offset)
    return header, body


# RVL (Wilson, ISS 2017): again and again a count of zeros, a count of values, and the folded differences of the values. A
# number is nibbles of three bits, lowest first, the top bit saying "more follows"; nibbles fill 32-bit words from the top.
_RVL_C = r"""
#include <stddef.h>
#include <stdint.h>

typedef struct {
  const unsigned char *next, *end;
  uint32_t word;
  int nibbles;
} Reader;

/* At most ten nibbles; -1 where the body ends or a number is longer. */
static int64_t number(Reader *r) {
  uint32_t value = 0;
  for (int shift = 0; shift < 30; shift += 3) {
    if (r->nibbles == 0) {
      if (r->end - r->next < 4) return -1;
      r->word = (uint32_t)r->next[0] | (uint32_t)r->next[1] << 8 | (uint32_t)r->next[2] << 16 | (uint32_t)r->next[3] << 24;
      r->next += 4;
      r->nibbles = 8;
    }
    const uint32_t nibble = r->word >> 28;
    r->word <<= 4;
    r->nibbles--;
    value |= (nibble & 7) << shift;
    if (nibble < 8) return value;
  }
  return -1;
}

/* 0: all of it; 1: the body ends early or a number is too long; 2: a run is longer than the picture, or empty;
   3: a value outside 1 to 65535; 4: bytes are left over. */
int depthwatt_rvl(const unsigned char *body, size_t bytes, uint16_t *pixels, size_t count) {
  Reader r = {body, body + bytes, 0, 0};
  int64_t previous = 0;
  size_t at = 0;
  while (at < count) {
    const int64_t zeros = number(&r);
    if (zeros < 0) return 1;
    if ((uint64_t)zeros > count - at) return 2;
    for (int64_t i = 0; i < zeros; ++i) pixels[at++] = 0;
    const int64_t values = number(&r);
    if (values < 0) return 1;
    if ((uint64_t)values > count - at || zeros + values == 0) return 2;
    for (int64_t i = 0; i < values; ++i) {
      const int64_t folded = number(&r);
      if (folded < 0) return 1;
      previous += (folded >> 1) ^ -(folded & 1);
      if (previous < 1 || previous > 65535) return 3;
      pixels[at++] = (uint16_t)previous;
    }
  }
  return r.next == r.end ? 0 : 4;
}

static int64_t unfold(int64_t folded) { return (folded >> 1) ^ -(folded & 1); }

/* cells: x, y, z and level of each voxel, `room` of them. Returns their number or a fault: -1 as 1 above; -2: more than the
   room; -3: not in order, or not of 16 bits; -4 as 4. */
int64_t depthwatt_voxels(const unsigned char *body, size_t bytes, int32_t *cells, size_t room) {
  Reader r = {body, body + bytes, 0, 0};
  const int64_t count = number(&r);
  int64_t x = 0, y = 0, z = 0, level = 0;
  if (count < 0) return -1;
  if ((uint64_t)count > room) return -2;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t dx = number(&r);
    if (dx < 0) return -1;
    x += dx;
    if (dx == 0) {
      const int64_t dy = number(&r);
      if (dy < 0) return -1;
      y += dy;
      if (dy == 0) {
        const int64_t dlevel = number(&r), dz = number(&r), by = number(&r);
        if (dlevel < 0 || dz < 0 || by < 0) return -1;
        if (i > 0 && dlevel == 0 && unfold(dz) <= 0) return -3;
        level += dlevel, z += unfold(dz), y += unfold(by);
      }
      const int64_t bx = number(&r);
      if (bx < 0) return -1;
      x += unfold(bx);
    }
    if (level > 7 || x < -32768 || x > 32767 || y < -32768 || y > 32767 || z < -32768 || z > 32767) return -3;
    cells[4 * i] = (int32_t)x, cells[4 * i + 1] = (int32_t)y, cells[4 * i + 2] = (int32_t)z, cells[4 * i + 3] = (int32_t)level;
  }
  return r.next == r.end ? count : -4;
}
"""
_RVL_FAULTS = {
    1: ("another number", "the end of the body, or one of more than ten nibbles"),
    2: ("runs that fill the picture", "one that is longer, or empty"),
    3: ("values from 1 to 65535", "another one"),
    4: ("the end of the body", "more bytes"),
}


_VOXEL_FAULTS = {
    -1: _RVL_FAULTS[1],
    -2: ("no more voxels than pixels, and a nibble or more for each", "more voxels"),
    -3: ("voxels in order, cells of 16 bits and levels below 8", "other ones"),
    -4: _RVL_FAULTS[4],
}


def _build_rvl():
    """Compiles the C above into the user's cache and returns its functions; None where there is no compiler, or DEPTHWATT_RVL is numpy."""
    compiler = shutil.which(os.environ.get("CC", "cc"))
    if compiler is None or os.environ.get("DEPTHWATT_RVL") == "numpy":
        return None
    cache = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "depthwatt")
    name = f"rvl-{hashlib.sha256(_RVL_C.encode()).hexdigest()[:16]}-{os.uname().machine}.so"
    path = os.path.join(cache, name)
    try:
        os.makedirs(cache, mode=0o700, exist_ok=True)
        # Loads no library from a folder that other users can write to.
        if os.stat(cache).st_uid != os.getuid() or os.stat(cache).st_mode & 0o022:
            return None
        if not os.path.exists(path):
            with tempfile.TemporaryDirectory(dir=cache) as folder:
                source, library = os.path.join(folder, "rvl.c"), os.path.join(folder, "rvl.so")
                with open(source, "w", encoding="utf8") as file:
                    file.write(_RVL_C)
                subprocess.run(
                    [compiler, "-O2", "-shared", "-fPIC", source, "-o", library], check=True, capture_output=True
                )
                os.replace(library, path)
        library = ctypes.CDLL(path)
        functions = library.depthwatt_rvl, library.depthwatt_voxels
    except (OSError, subprocess.CalledProcessError):
        return None
    for function, result in zip(functions, (ctypes.c_int, ctypes.c_int64)):
        function.restype = result
        function.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p, ctypes.c_size_t]
    return functions


_rvl = None
_rvl_built = False


def _native_rvl():
    global _rvl, _rvl_built
    if not _rvl_built:
        _rvl, _rvl_built = _build_rvl(), True
    return _rvl


def rvl_decoder():
    """What unpacks RVL here: "c" or "numpy"."""
    return "numpy" if _native_rvl() is None else "c"


def _numbers(body):
    """Every number of a body with the nibble that it ends in, and how many are before the first that is too long."""
    if len(body) % 4:
        body = body[: len(body) // 4 * 4]
        _refuse("RVL body", "whole words", "a part of one")
    big_endian = np.frombuffer(body, "<u4").astype(">u4").view(np.uint8)
    nibbles = np.empty(2 * big_endian.size, np.uint8)
    nibbles[0::2] = big_endian >> 4
    nibbles[1::2] = big_endian & 15
    ends = np.flatnonzero(nibbles < 8)
    starts = np.empty_like(ends)
    starts[:1] = 0
    starts[1:] = ends[:-1] + 1
    lengths = ends - starts + 1
    # Longer ones are refused where they are read; here they must only not overflow.
    groups = (nibbles[: ends[-1] + 1 if ends.size else 0] & 7).astype(np.int64)
    places = np.arange(groups.size) - np.repeat(starts, lengths)
    groups <<= 3 * np.minimum(places, 9)
    numbers = np.add.reduceat(groups, starts) if ends.size else np.empty(0, np.int64)
    usable = int(np.argmax(lengths > 10)) if np.any(lengths > 10) else numbers.size
    return numbers, ends, usable


def _words_until(ends, at):
    """Bytes of the words that the first `at` numbers are in."""
    return -(-(int(ends[at - 1]) + 1) // 8) * 4


def _numpy_rvl(body, count):
    numbers, ends, usable = _numbers(body)
    at, pixel, first_values, runs = 0, 0, [], []
    while pixel < count:
        if at + 2 > usable:
            _refuse("RVL body", *_RVL_FAULTS[1])
        zeros, values = int(numbers[at]), int(numbers[at + 1])
        if zeros > count - pixel or values > count - pixel - zeros or zeros + values == 0:
            _refuse("RVL body", *_RVL_FAULTS[2])
        if at + 2 + values > usable:
            _refuse("RVL body", *_RVL_FAULTS[1])
        pixel += zeros
        first_values.append(at + 2)
        runs.append((pixel, values))
        pixel += values
        at += 2 + values
    if _words_until(ends, at) != len(body):
        _refuse("RVL body", *_RVL_FAULTS[4])
    pixels = np.zeros(count, np.uint16)
    run_starts, run_lengths = np.array(runs, np.int64).T
    within = np.arange(run_lengths.sum()) - np.repeat(np.cumsum(run_lengths) - run_lengths, run_lengths)
    folded = numbers[np.repeat(np.array(first_values, np.int64), run_lengths) + within]
    values = np.cumsum((folded >> 1) ^ -(folded & 1))
    if values.size and (values.min() < 1 or values.max() > 65535):
        _refuse("RVL body", *_RVL_FAULTS[3])
    pixels[np.repeat(run_starts, run_lengths) + within] = values
    return pixels


def decode_rvl(body, count):
    """Unpacks exactly `count` pixels into a uint16 array. Raises FrameError."""
    functions = _native_rvl()
    if functions is None:
        return _numpy_rvl(body, count)
    packed = np.frombuffer(body, np.uint8)
    pixels = np.empty(count, np.uint16)
    fault = functions[0](packed.ctypes.data, packed.size, pixels.ctypes.data, count)
    if fault:
        _refuse("RVL body", *_RVL_FAULTS[fault])
    return pixels


def _unfold(folded):
    return (folded >> 1) ^ -(folded & 1)


def _python_voxels(body, room):
    """As depthwatt_voxels() above; returns the cells or a fault."""
    numbers, ends, usable = _numbers(body)
    left = iter(numbers[:usable].tolist())
    x = y = z = level = 0
    try:
        count = next(left)
        if count > room:
            return -2
        cells = np.empty((count, 4), np.int32)
        for i in range(count):
            dx = next(left)
            x += dx
            if dx == 0:
                dy = next(left)
                y += dy
                if dy == 0:
                    dlevel, dz = next(left), _unfold(next(left))
                    if i > 0 and dlevel == 0 and dz <= 0:
                        next(left)
                        return -3
                    level, z, y = level + dlevel, z + dz, y + _unfold(next(left))
                x += _unfold(next(left))
            if level > 7 or min(x, y, z) < -32768 or max(x, y, z) > 32767:
                return -3
            cells[i] = x, y, z, level
    except StopIteration:
        return -1
    return cells if _words_until(ends, usable - operator.length_hint(left)) == len(body) else -4


def _decode_voxels(body, edge, most):
    """The middles of voxels: float32 [count, 3]. Raises FrameError. edge: of a voxel of level 0; most: voxels."""
    room = min(most, 2 * len(body))
    functions = _native_rvl()
    if functions is None:
        cells = _python_voxels(body, room)
    else:
        packed, cells = np.frombuffer(body, np.uint8), np.empty((room, 4), np.int32)
        found = functions[1](packed.ctypes.data, packed.size, cells.ctypes.data, room)
        cells = cells[:found] if found >= 0 else found
    if isinstance(cells, int):
        _refuse("voxels body", *_VOXEL_FAULTS[cells])
    with np.errstate(all="ignore"):
        return ((cells[:, :3] + 0.5) * (edge * 2.0 ** cells[:, 3:])).astype(np.float32)


def _unfilter(rows, step):
    """Undoes PNG's filters (rows: filter byte, then bytes; step: bytes of a pixel)."""
    height, line = rows.shape[0], rows.shape[1] - 1
    out = np.zeros((height, line), np.uint8)
    above = np.zeros(line, np.uint8)
    for y in range(height):
        kind, now = rows[y, 0], rows[y, 1:]
        if kind == 0:
            out[y] = now
        elif kind == 1:
            out[y] = np.cumsum(now.reshape(-1, step), axis=0, dtype=np.uint8).reshape(-1)
        elif kind == 2:
            out[y] = now + above
        elif kind in (3, 4):
            row, up, left = bytearray(now.tobytes()), above.tolist(), 0
            for x in range(line):
                left = row[x - step] if x >= step else 0
                corner = up[x - step] if x >= step else 0
                if kind == 3:
                    guess = (left + up[x]) >> 1
                else:
                    p = left + up[x] - corner
                    a, b, c = abs(p - left), abs(p - up[x]), abs(p - corner)
                    guess = left if a <= b and a <= c else up[x] if b <= c else corner
                row[x] = (row[x] + guess) & 255
            out[y] = np.frombuffer(row, np.uint8)
        else:
            _refuse("PNG", "a filter from 0 to 4", kind)
        above = out[y]
    return out


def _decode_png(header, body):
    """A grey or RGB PNG of exactly the header's size; never inflates to more than that."""
    body = bytes(body)
    depth = 8 * DTYPES[header.element].itemsize
    channels = CHANNELS[header.element]
    if header.element == "f32":
        _refuse("PNG", "8 or 16 bit counts", "f32")
    if body[:8] != b"\x89PNG\r\n\x1a\n":
        _refuse("PNG", "its signature", body[:8])
    at, packed, name = 8, [], b""
    while name != b"IEND":
        if at + 12 > len(body):
            _refuse("PNG", "another chunk", "the end of the body")
        size, name = struct.unpack_from(">I4s", body, at)
        if size > len(body) - at - 12:
            _refuse("PNG", f"a whole chunk {name}", f"{size} bytes that are cut off")
        if (at == 8) != (name == b"IHDR"):
            _refuse("PNG", "IHDR first and once", name)
        if name == b"IHDR":
            if size != 13:
                _refuse("PNG", "an IHDR of 13 bytes", size)
            facts = struct.unpack_from(">IIBBBBB", body, at + 8)
            wanted = (header.width, header.height, depth, 2 if channels == 3 else 0, 0, 0, 0)
            if facts != wanted:
                _refuse("PNG", f"one of {wanted}", facts)
        elif name == b"IDAT":
            packed.append(body[at + 8 : at + 8 + size])
        at += 12 + size
    if at != len(body):
        _refuse("PNG", "the end of the body", f"{len(body) - at} bytes after IEND")
    step = channels * depth // 8
    line = header.width * step
    wanted = header.height * (line + 1)
    inflater = zlib.decompressobj()
    try:
        data = inflater.decompress(b"".join(packed), wanted + 1)
    except zlib.error as error:
        raise FrameError(f"PNG: {error}") from error
    if len(data) != wanted or not inflater.eof or inflater.unused_data:
        _refuse("PNG", f"{wanted} bytes of rows", "more, fewer or an end that is missing")
    pixels = _unfilter(np.frombuffer(data, np.uint8).reshape(header.height, line + 1), step)
    return pixels.view(">u2").astype(np.uint16).reshape(-1) if depth == 16 else pixels.reshape(-1)


def _pixels(header, max_pixels):
    count = header.width * header.height
    if count > max_pixels:
        _refuse("header", f"at most {max_pixels} pixels", f"{header.width} x {header.height}")
    return count


def decode_points(header, body, max_pixels=MAX_PIXELS):
    """Points of a frame: float32 [height, width, 3] of x, y, z in metres (NaN where there is none), and uint8 of red, green,
    blue. Of voxels: float32 [count, 3] of their middles, and no colours. Raises FrameError."""
    pixels = _pixels(header, max_pixels)
    if header.stream != "points":
        _refuse("stream", "points", header.stream)
    if header.encoding == "voxels":
        return _decode_voxels(body, header.unit_scale, pixels), np.empty((0, 3), np.uint8)
    shape = (header.height, header.width)
    point_bytes = POINT_BYTES[header.element, header.point_colour]
    rows = np.frombuffer(body, np.uint8).reshape(*shape, point_bytes)
    places = 12 if header.element == "f32" else 6
    counts = np.ascontiguousarray(rows[..., :places]).view("<f4" if header.element == "f32" else "<i2")
    with np.errstate(all="ignore"):
        xyz = (counts.astype(np.float64) * header.unit_scale).astype(np.float32)
    if header.element == "i16":
        xyz[counts == -32768] = np.nan
    if point_bytes == 8:
        colours = np.repeat(rows[..., places : places + 1], 3, axis=2)
    else:
        colours = np.ascontiguousarray(rows[..., places + 2 : places - 1 : -1])
    return xyz, colours


def decode_body(header, body, max_pixels=MAX_PIXELS):
    """Counts as they travel: [height, width] of uint8, uint16 or float32; colours [height, width, 3]. Raises FrameError."""
    count = _pixels(header, max_pixels)
    if header.stream == "points":
        _refuse("stream", "a picture", "points: use xyz and colours")
    if header.encoding == "jpeg":
        _refuse("encoding", "raw, rvl, png or compressedDepth", "jpeg: use the body as an image file")
    if header.encoding == "png":
        counts = _decode_png(header, body)
    elif header.encoding == "raw":
        counts = np.frombuffer(body, DTYPES[header.element]).copy()
    elif header.encoding == "rvl":
        counts = decode_rvl(body, count)
    else:
        if len(body) < 20:
            _refuse("compressedDepth", "20 bytes of header", len(body))
        size = struct.unpack_from("<II", body, 12)
        if size != (header.width, header.height):
            _refuse("compressedDepth", (header.width, header.height), size)
        counts = decode_rvl(body[20:], count)
    if header.element == "rgb8":
        return counts.reshape(header.height, header.width, 3)
    return counts.reshape(header.height, header.width)


class Frame:
    """One frame of one device. Its body is unpacked when it is first asked for."""

    def __init__(self, device, header, body, max_pixels=MAX_PIXELS):
        self.device, self.header, self.body = device, header, body
        self._max_pixels = max_pixels
        self._counts = self._unpacked = None

    @property
    def counts(self):
        """As they travel: [height, width] of uint8, uint16 or float32. Raises FrameError."""
        if self._counts is None:
            self._counts = decode_body(self.header, self.body, self._max_pixels)
        return self._counts

    @property
    def values(self):
        """float32 [height, width] in the unit of `header.quantity`; NaN where there is no value."""
        header, counts = self.header, self.counts
        # In doubles, as the other readers. A scale that overflows gives inf, without a warning.
        with np.errstate(all="ignore"):
            values = (counts.astype(np.float64) * header.unit_scale + header.value_offset).astype(np.float32)
        if header.invalid_rule == "zero":
            values[counts == 0] = np.nan
        return values

    @property
    def metres(self):
        """Depth in metres, float32, NaN where there is none. Raises FrameError for another stream than depth."""
        if self.header.quantity != "depthMetres":
            _refuse("quantity", "depthMetres", self.header.quantity)
        return self.values

    @property
    def pixels(self):
        """Disparity in pixels, float32, NaN where there is none. Raises FrameError for another stream."""
        if self.header.quantity != "disparityPixels":
            _refuse("quantity", "disparityPixels", self.header.quantity)
        return self.values

    @property
    def xyz(self):
        """Of points: float32 [height, width, 3], metres, NaN where there is none; of voxels [count, 3]. Raises FrameError."""
        return self._points()[0]

    @property
    def colours(self):
        """Of points: uint8 [height, width, 3] of red, green, blue; empty of voxels. Raises FrameError for another stream."""
        return self._points()[1]

    def _points(self):
        if self._unpacked is None:
            self._unpacked = decode_points(self.header, self.body, self._max_pixels)
        return self._unpacked


class Depthwatt:
    """Subscribes to a stream; iterating over it yields frames, the newest ones where the reader is slower.

    url: mqtt://, mqtts://, ws:// or wss://, with user:password@ where the broker asks for them. device: None for all.
    ca: PEM file of the broker's authority. waiting: frames that wait at most, older ones are dropped and counted.
    timeout: seconds without a frame after which iterating raises TimeoutError; None waits for ever.

    Counters: received, dropped (slower reader), invalid (no frame, last_error says why), missing (numbers that never came).
    """

    def __init__(self, url, device=None, stream="depth", base="depthwatt", ca=None, waiting=2, timeout=None,
                 max_pixels=MAX_PIXELS):  # fmt: skip
        import paho.mqtt.client as mqtt

        parts = urlsplit(url)
        ports = {"mqtt": 1883, "mqtts": 8883, "ws": 80, "wss": 443}
        if parts.scheme not in ports or not parts.hostname:
            raise ValueError(f"url: expected mqtt://, mqtts://, ws:// or wss:// with a host name, got {parts.scheme}://")
        if stream not in STREAMS.values():
            raise ValueError(f"stream: expected one of {', '.join(STREAMS.values())}, got {stream}")
        self.received = self.dropped = self.invalid = self.missing = 0
        self.last_error = None
        self._stream, self._timeout, self._max_pixels = stream, timeout, max_pixels
        self._frames = collections.deque(maxlen=waiting)
        self._changed = threading.Condition()
        self._last = {}
        # The topic of a registered stream has the name of the other camera.
        leaf = {"registered": "registered/+", "registeredConfidence": "registered/+/confidence"}.get(stream, stream)
        self._topic = f"{base}/{'+' if device is None else device}/{leaf}"
        self._device_level = base.count("/") + 1
        self._refused = None
        self._closed = False
        web = parts.scheme.startswith("ws")
        options = {"transport": "websockets" if web else "tcp"}
        # paho-mqtt 2 requires the callback version; 1 has no such argument.
        versions = getattr(mqtt, "CallbackAPIVersion", None)
        self._client = mqtt.Client(versions.VERSION1, **options) if versions else mqtt.Client(**options)
        if parts.username:
            self._client.username_pw_set(unquote(parts.username), unquote(parts.password or ""))
        if parts.scheme in ("mqtts", "wss"):
            self._client.tls_set(ca_certs=ca)
        if web:
            self._client.ws_set_options(path=parts.path or "/")
        self._client.on_connect = self._on_connect
        self._client.on_message = self._on_message
        self._client.connect(parts.hostname, parts.port or ports[parts.scheme])
        self._client.loop_start()

    def _on_connect(self, client, _userdata, _flags, code, *_):
        if code != 0:
            with self._changed:
                self._refused = f"the broker refused the connection (code {code})"
                self._changed.notify_all()
            return
        client.subscribe(self._topic)

    def _on_message(self, _client, _userdata, message):
        try:
            header, body = parse_frame(message.payload)
            if header.stream != self._stream:
                _refuse("stream", f"{self._stream} as in the topic", header.stream)
        except FrameError as error:
            self.invalid += 1
            self.last_error = error
            return
        device = message.topic.split("/")[self._device_level]
        key = (device, header.run_id)
        before = self._last.get(key)
        if before is not None:
            step = (header.frame_number - before) & 0xFFFFFFFF
            if 0 < step < 0x80000000:
                self.missing += step - 1
        elif len(self._last) > 1000:
            self._last.clear()
        self._last[key] = header.frame_number
        with self._changed:
            self.received += 1
            if len(self._frames) == self._frames.maxlen:
                self.dropped += 1
            self._frames.append(Frame(device, header, body, self._max_pixels))
            self._changed.notify()

    def __iter__(self):
        return self

    def __next__(self):
        with self._changed:
            there = self._changed.wait_for(lambda: self._frames or self._refused or self._closed, self._timeout)
            if self._frames:
                return self._frames.popleft()
            if self._refused:
                raise ConnectionError(self._refused)
            if not there:
                raise TimeoutError(f"no frame on {self._topic} for {self._timeout} s")
            raise StopIteration

    def close(self):
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        self._client.disconnect()
        self._client.loop_stop()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
