# SPDX-License-Identifier: Apache-2.0
"""Fuzz target of the Python reader: damaged messages, with their CRC put right for most of them. Words: seconds, seed, files of good
messages. Anything but a FrameError, or arrays of another shape than the header's, ends it. Prints one JSON line."""

import json
import os
import random
import struct
import sys
import time
import zlib

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../clients/python"))
import depthwatt  # noqa: E402

MAX_PIXELS = 1 << 16
CODE = depthwatt.parse_frame.__code__.co_filename


def sealed(message):
    """Writes the right CRC, which random damage does not find."""
    crc = zlib.crc32(message[96:], zlib.crc32(message[:92]))
    return message[:92] + struct.pack("<I", crc) + message[96:]


def as_png(message):
    """The same picture of 16 bits as a PNG."""
    header, body = depthwatt.parse_frame(message)
    counts = depthwatt.decode_body(header, body)
    rows = b"".join(b"\0" + row.astype(">u2").tobytes() for row in counts)

    def chunk(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    facts = struct.pack(">IIBBBBB", header.width, header.height, 16, 0, 0, 0, 0)
    file = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", facts) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    head = bytearray(message[:96])
    head[9] = 3
    struct.pack_into("<I", head, 24, len(file))
    return sealed(bytes(head) + file)


def damaged(chance, message):
    message = bytearray(message)
    for _ in range(chance.randrange(6)):
        at = chance.randrange(len(message)) if message else 0
        kind = chance.randrange(6)
        if kind == 0 and message:
            message[at] ^= 1 << chance.randrange(8)
        elif kind == 1 and message:
            message[at] = chance.choice((0, 1, 127, 128, 255, chance.randrange(256)))
        elif kind == 2:
            del message[at:]
        elif kind == 3:
            message[at:at] = chance.randbytes(chance.randrange(12))
        elif kind == 4:
            del message[at : at + chance.randrange(40)]
        else:
            # A field of the header is where most is decided.
            field = chance.randrange(24) * 4
            message[field : field + 4] = struct.pack("<I", chance.choice((0, 1, 2, 255, 65535, 1 << 31, 2**32 - 1)))
    if len(message) >= 24 + 4 and chance.random() < 0.7:
        message[24:28] = struct.pack("<I", max(0, len(message) - 96))
    message = bytes(message)
    return sealed(message) if len(message) >= 96 and chance.random() < 0.95 else message


def read(message, numpy_alone):
    header, body = depthwatt.parse_frame(message)
    shape = (header.height, header.width)
    if header.stream == "points":
        xyz, colours = depthwatt.decode_points(header, body, MAX_PIXELS)
        if header.encoding == "voxels":
            assert xyz.shape[1:] == (3,) and len(xyz) <= shape[0] * shape[1] and colours.size == 0, xyz.shape
            return
        assert xyz.shape == (*shape, 3) and colours.shape == (*shape, 3), (xyz.shape, colours.shape)
        return
    counts = depthwatt.decode_body(header, body, MAX_PIXELS)
    assert counts.shape[:2] == shape, counts.shape
    if numpy_alone and header.encoding == "rvl":
        # The two decoders agree in every pixel.
        assert (depthwatt._numpy_rvl(body, header.width * header.height).reshape(shape) == counts).all()


def agree(message):
    """What one RVL decoder refuses, the other does too."""
    header, body = depthwatt.parse_frame(message)
    if header.width * header.height > MAX_PIXELS:
        return
    if header.encoding == "voxels":
        room = min(header.width * header.height, 2 * len(body))
        packed, cells = np.frombuffer(body, np.uint8), np.empty((room, 4), np.int32)
        found = depthwatt._native_rvl()[1](packed.ctypes.data, packed.size, cells.ctypes.data, room)
        try:
            other = depthwatt._python_voxels(body, room)
        except depthwatt.FrameError:
            assert found < 0 and len(body) % 4, found
            return
        assert found < 0 and isinstance(other, int) or (cells[:found] == other).all(), (found, other)
        return
    if header.encoding != "rvl":
        return
    said = []
    for decode in (depthwatt.decode_rvl, depthwatt._numpy_rvl):
        try:
            decode(body, header.width * header.height)
            said.append(True)
        except depthwatt.FrameError:
            said.append(False)
    assert said[0] == said[1], said


def code_lines(code):
    found = {line for _, _, line in code.co_lines() if line is not None and line > code.co_firstlineno}
    return found.union(*(code_lines(part) for part in code.co_consts if hasattr(part, "co_code")))


READERS = "parse_frame _refuse _name _numbers _numpy_rvl decode_rvl _python_voxels _decode_voxels _unfilter _decode_png _pixels decode_points decode_body".split()


def main():
    seconds, seed = float(sys.argv[1]), int(sys.argv[2])
    good = [open(path, "rb").read() for path in sys.argv[3:]]
    rvl = next(message for message in good if message[9] == 2)
    good.append(as_png(rvl))
    lines = set()

    def trace(frame, event, _):
        if frame.f_code.co_filename != CODE:
            return None
        lines.add(frame.f_lineno)
        return trace

    chance = random.Random(seed)
    answered = refused = 0
    for message in good:
        read(message, True)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        message = damaged(chance, chance.choice(good))
        # Lines are counted in a part of the calls: it takes ten times as long.
        traced = chance.randrange(50) == 0
        sys.settrace(trace if traced else None)
        try:
            read(message, True)
            answered += 1
        except depthwatt.FrameError:
            refused += 1
        except Exception:
            sys.settrace(None)
            print(f"seed {seed}: {message.hex()}", file=sys.stderr)
            raise
        finally:
            sys.settrace(None)
        try:
            agree(message)
        except depthwatt.FrameError:
            pass
    every = set().union(*(code_lines(getattr(depthwatt, name).__code__) for name in READERS))
    reached = f"{len(every & lines)} of {len(every)}"
    decoder = depthwatt.rvl_decoder()
    print(json.dumps({"answered": answered, "refused": refused, "linesReached": reached, "decoder": decoder}))


main()
