# SPDX-License-Identifier: Apache-2.0
"""Reads messages ([u32 length][bytes] ...) with clients/python/depthwatt.py; prints a line for each, or times them.

read_frames.py FILE            one line a message: "ok WIDTH HEIGHT NUMBER REDUCTION CRC-OF-COUNTS CRC-OF-VALUES", or
                               "refused"; of points the CRCs of places and of colours, and the frame that they are in
read_frames.py FILE SECONDS    unpacks the first message to metres again and again; prints decoder and frames a second
"""

import struct
import sys
import time
import zlib

import numpy

sys.path.insert(0, sys.argv[1])
import depthwatt  # noqa: E402

with open(sys.argv[2], "rb") as file:
    data = file.read()


def messages():
    at = 0
    while at < len(data):
        (size,) = struct.unpack_from("<I", data, at)
        yield data[at + 4 : at + 4 + size]
        at += 4 + size


def plain_crc(values):
    """A NaN has many forms."""
    return zlib.crc32(numpy.where(numpy.isnan(values), numpy.float32(-1e9), values).tobytes())


def bits(value):
    return struct.unpack("<I", struct.pack("<f", value))[0]


def energy_facts(energy):
    """As corpus.ts words them."""
    if energy is None:
        return []
    uncertainty = energy.joules_uncertainty
    thousandths = -1 if uncertainty is None else round(1000 * uncertainty / energy.joules)
    return ["energy", bits(energy.joules), bits(energy.seconds), thousandths, energy.age_ms]


def read(message):
    header, body = depthwatt.parse_frame(message)
    return depthwatt.Frame("", header, body, max_pixels=1 << 20)


if len(sys.argv) > 3:
    message = next(messages())
    read(message).metres
    count, began = 0, time.process_time()
    while time.process_time() - began < float(sys.argv[3]):
        read(message).metres
        count += 1
    print(depthwatt.rvl_decoder(), round(count / (time.process_time() - began), 1))
else:
    print(depthwatt.rvl_decoder())
    for message in messages():
        try:
            frame = read(message)
            header = frame.header
            facts = ["ok", *energy_facts(header.energy), header.width, header.height, header.frame_number, header.reduction]
            if header.stream == "points":
                xyz, colours = frame.xyz, frame.colours
                print(*facts, plain_crc(xyz), zlib.crc32(colours.tobytes()), header.point_frame)
            else:
                print(*facts, zlib.crc32(frame.counts.tobytes()), plain_crc(frame.values))
        except depthwatt.FrameError:
            print("refused")
