# SPDX-License-Identifier: Apache-2.0
"""A reader of MCAP files and of CDR, written from the two specifications and from nothing of depthwatt.

Prints one JSON object: profile, attachments, what the summary counts, and of each topic its schema, its number of messages, the
times of recording (first, last) and, for images, size, encoding, stamps and the SHA-256 of every image's pixels in order.
With --no-summary it walks the records from the beginning, as one must where a file was cut off, and says where it had to stop.
"""
import hashlib
import json
import struct
import sys
import zlib

import zstandard

MAGIC = b"\x89MCAP0\r\n"


class Cursor:
    def __init__(self, data, at=0):
        self.data, self.at = data, at

    def take(self, form):
        values = struct.unpack_from("<" + form, self.data, self.at)
        self.at += struct.calcsize("<" + form)
        return values if len(values) > 1 else values[0]

    def bytes(self, count):
        self.at += count
        return self.data[self.at - count : self.at]

    def text(self):
        return self.bytes(self.take("I")).decode()

    def pairs(self):
        end = self.take("I") + self.at
        found = {}
        while self.at < end:
            key = self.text()
            found[key] = self.text()
        return found


class Cdr(Cursor):
    """Little-endian XCDR1: numbers are aligned to their size, counted from behind the encapsulation."""

    def number(self, form):
        size = struct.calcsize(form)
        self.at += -(self.at - 4) % size
        return self.take(form)

    def string(self):
        return self.bytes(self.number("I"))[:-1].decode()

    def sequence(self):
        return self.bytes(self.number("I"))


def records(data, at, end):
    """(opcode, body) of each whole record."""
    while at + 9 <= end:
        opcode, length = struct.unpack_from("<BQ", data, at)
        if at + 9 + length > end:
            return
        yield opcode, data[at + 9 : at + 9 + length]
        at += 9 + length


class Recording:
    def __init__(self):
        self.profile = None
        self.schemas, self.channels, self.topics, self.attachments = {}, {}, {}, {}
        self.statistics = None
        self.chunks = 0

    def take(self, opcode, body):
        c = Cursor(body)
        if opcode == 0x01:
            self.profile = c.text()
        elif opcode == 0x03:
            number, name, encoding = c.take("H"), c.text(), c.text()
            self.schemas[number] = {"name": name, "encoding": encoding, "data": c.bytes(c.take("I")).decode()}
        elif opcode == 0x04:
            number, schema, topic, encoding = c.take("H"), c.take("H"), c.text(), c.text()
            self.channels[number] = {"topic": topic, "schema": schema, "encoding": encoding, "metadata": c.pairs()}
        elif opcode == 0x05:
            channel, sequence, logged, published = c.take("HIQQ")
            self.message(channel, logged, published, body[c.at :])
        elif opcode == 0x06:
            self.chunk(c)
        elif opcode == 0x09:
            c.take("QQ")
            name, kind = c.text(), c.text()
            self.attachments[name] = c.bytes(c.take("Q")).decode()
            assert zlib.crc32(body[: c.at]) == c.take("I"), "the CRC of an attachment"
        elif opcode == 0x0B:
            self.statistics = {"messages": c.take("Q")}

    def chunk(self, c):
        start, end, size, crc = c.take("QQQI")
        compression = c.text()
        data = c.bytes(c.take("Q"))
        assert compression in ("", "zstd"), compression
        if compression == "zstd":
            data = zstandard.ZstdDecompressor().decompress(data, max_output_size=size)
        assert len(data) == size and zlib.crc32(data) == crc, "the CRC of a chunk"
        self.chunks += 1
        for opcode, body in records(data, 0, len(data)):
            assert opcode in (0x03, 0x04, 0x05), opcode
            self.take(opcode, body)

    def message(self, number, logged, published, data):
        channel = self.channels[number]
        schema = self.schemas[channel["schema"]]
        topic = self.topics.setdefault(
            channel["topic"],
            {"schema": schema["name"], "encoding": channel["encoding"], "metadata": channel["metadata"], "count": 0, "first": str(logged), "stamps": [], "hashes": []},
        )
        topic["count"] += 1
        topic["last"] = str(logged)
        if channel["encoding"] == "json":
            topic["newest"] = json.loads(data)
            return
        assert data[:4] == b"\x00\x01\x00\x00", "the encapsulation of little-endian CDR"
        c = Cdr(data, 4)
        if schema["name"] == "tf2_msgs/msg/TFMessage":
            self.transforms(topic, c)
            assert c.at == len(data)
            return
        seconds, nanoseconds = c.number("i"), c.number("I")
        topic["stamps"].append(str(seconds * 10**9 + nanoseconds))
        topic["frame"] = c.string()
        if schema["name"] == "sensor_msgs/msg/Image":
            height, width, encoding, big, step = c.number("I"), c.number("I"), c.string(), c.take("B"), c.number("I")
            pixels = c.sequence()
            assert len(pixels) == height * step and c.at == len(data)
            topic.update(width=width, height=height, pixels=encoding, step=step)
            topic["hashes"].append(hashlib.sha256(pixels).hexdigest())
        elif schema["name"] == "sensor_msgs/msg/CompressedImage":
            topic["pixels"] = c.string()
            topic["hashes"].append(hashlib.sha256(c.sequence()).hexdigest())
            assert c.at == len(data)
        elif schema["name"] == "sensor_msgs/msg/PointCloud2":
            height, width = c.number("I"), c.number("I")
            fields = [{"name": c.string(), "offset": c.number("I"), "type": c.take("B"), "count": c.number("I")} for _ in range(c.number("I"))]
            big, step, row = c.take("B"), c.number("I"), c.number("I")
            points = c.sequence()
            dense = c.take("B")
            assert len(points) == height * row and row == width * step and big == 0 and c.at == len(data)
            topic.update(width=width, height=height, fields=fields, step=step, dense=dense)
            topic["hashes"].append(hashlib.sha256(points).hexdigest())
            # The first and the last point of the middle row, as floats.
            at = height // 2 * row
            topic["places"] = [struct.unpack_from("<3f", points, at + i) for i in (0, row - step)]
        elif schema["name"] == "sensor_msgs/msg/CameraInfo":
            height, width, model = c.number("I"), c.number("I"), c.string()
            d = [c.number("d") for _ in range(c.number("I"))]
            matrices = [[c.number("d") for _ in range(count)] for count in (9, 9, 12)]
            rest = [c.number("I") for _ in range(6)]
            assert rest == [0] * 6 and c.take("B") == 0 and c.at == len(data)
            topic.update(width=width, height=height, model=model, d=d, k=matrices[0], r=matrices[1], p=matrices[2])

    @staticmethod
    def transforms(topic, c):
        found, stamps = {}, set()
        for _ in range(c.number("I")):
            stamps.add(c.number("i") * 10**9 + c.number("I"))
            parent, child = c.string(), c.string()
            found[child] = {"parent": parent, "place": [c.number("d") for _ in range(7)]}
        assert len(stamps) == 1, "one stamp in all transforms of a message"
        topic["stamps"].append(str(stamps.pop()))
        topic["transforms"] = found


def main(path, with_summary):
    with open(path, "rb") as file:
        data = file.read()
    assert data[:8] == MAGIC, "the magic at the beginning"
    recording = Recording()
    end = len(data)
    if with_summary:
        assert data[-8:] == MAGIC, "the magic at the end"
        assert data[-37] == 0x02, "the footer"
        end = struct.unpack_from("<Q", data, len(data) - 28)[0]
    stopped = 8
    for opcode, body in records(data, 8, end):
        recording.take(opcode, body)
        stopped += 9 + len(body)
    if with_summary:
        assert stopped == end
        for opcode, body in records(data, end, len(data) - 8):
            if opcode == 0x0B:
                recording.take(opcode, body)
        counted = sum(topic["count"] for topic in recording.topics.values())
        assert recording.statistics["messages"] == counted, "the summary's count of messages"
    print(json.dumps({
        "profile": recording.profile, "attachments": recording.attachments, "topics": recording.topics,
        "schemas": {schema["name"]: schema for schema in recording.schemas.values()},
        "chunks": recording.chunks, "statistics": recording.statistics, "left": len(data) - stopped if not with_summary else 0,
    }))


main(sys.argv[-1], "--no-summary" not in sys.argv)
