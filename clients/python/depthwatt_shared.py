# SPDX-License-Identifier: Apache-2.0
"""Reads the frames of a depthwatt on this machine from its shared memory, without a copy; needs numpy and Linux.

    from depthwatt_shared import SharedFrames

    for frame in SharedFrames("/run/depthwatt/frames.sock", "depth"):
        nearest = frame.counts[frame.counts > 0].min()
        if frame.is_intact():
            print(nearest, "mm")

docs/reference/shared-memory.md of the project has the layout.
"""

import ctypes
import mmap
import os
import platform
import select
import socket
import struct
import threading
import time

import numpy as np
from depthwatt import CHANNELS, DTYPES, STREAMS, Frame, FrameError, parse_frame

__all__ = ["SharedFrame", "SharedFrames"]

_CODES = {name: code for code, name in STREAMS.items()}
_RING_BYTES = 4096
_REPLY_BYTES = 16
_LOOK_SECONDS = 0.2
_FUTEX = {"x86_64": 202, "aarch64": 98}.get(platform.machine())
_GET_SEALS, _SEAL_SHRINK = 1034, 2
_libc = ctypes.CDLL(None, use_errno=True)
_lock = threading.Lock()


class _Pause(ctypes.Structure):
    _fields_ = [("seconds", ctypes.c_long), ("nanoseconds", ctypes.c_long)]


def _fence():
    """A lock that is taken twice orders the reads before it and after it, on every CPU."""
    with _lock:
        pass
    with _lock:
        pass


class SharedFrame(Frame):
    """A frame in memory that the publisher writes again: use it, then ask is_intact().

    counts is a read-only view, [height, width] or [height, width, 3]. missed counts the frames that were overwritten before they
    were read; published_ns is CLOCK_MONOTONIC when the frame was complete.
    """

    def __init__(self, header, body, sequence, number, missed, published_ns):
        super().__init__(None, header, body)
        self._sequence, self.number, self.missed, self.published_ns = sequence, number, missed, published_ns

    @property
    def counts(self):
        header = self.header
        if header.stream == "points":
            return super().counts
        shape = (header.height, header.width, 3) if CHANNELS[header.element] == 3 else (header.height, header.width)
        return np.frombuffer(self.body, DTYPES[header.element]).reshape(shape)

    def is_intact(self):
        """Returns whether the bytes are still those of this frame."""
        _fence()
        return int(self._sequence[0]) == 2 * self.number


class SharedFrames:
    """Iterating yields the newest frame each time, and ends when the publisher ends or its frames get another size.

    path: outputs.sharedMemory.path of the publisher. timeout: seconds to wait for the first frame.
    Raises ConnectionError with the publisher's reason, OSError.
    """

    def __init__(self, path, stream="depth", timeout=5.0):
        self._last, self._memory = 0, None
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self._socket.settimeout(timeout)
            self._socket.connect(path)
            self._socket.sendall(struct.pack("<4sHBB", b"DWSM", 1, _CODES[stream], 0))
            self._map(self._receive())
        except BaseException:
            self.close()
            raise

    def _receive(self):
        reply, rights, _, _ = self._socket.recvmsg(_REPLY_BYTES + 256, socket.CMSG_SPACE(4))
        descriptors = [
            struct.unpack("i", data[:4])[0]
            for level, kind, data in rights
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS
        ]
        if descriptors:
            return descriptors[0]
        if len(reply) < _REPLY_BYTES or reply[:4] != b"DWSM":
            raise ConnectionError("the publisher closed the connection")
        raise ConnectionError(reply[_REPLY_BYTES:].decode("utf8", "replace"))

    def _map(self, descriptor):
        try:
            # Memory that can shrink could end this process with SIGBUS.
            seals = _libc.fcntl(descriptor, _GET_SEALS, 0)
            if seals < 0 or not seals & _SEAL_SHRINK:
                raise ConnectionError("expected memory that is sealed against shrinking")
            self._memory = mmap.mmap(descriptor, 0, prot=mmap.PROT_READ)
        finally:
            os.close(descriptor)
        size = len(self._memory)
        magic, version, _, self._slots, _, self._slot_bytes = struct.unpack_from("<4sHHIIQ", self._memory)
        if magic != b"DWRG" or version != 1:
            raise ConnectionError("expected a ring of frames of version 1")
        fits = 1 <= self._slots <= 64 and 64 <= self._slot_bytes <= (size - _RING_BYTES) // self._slots
        if not fits or self._slot_bytes % 64:
            raise ConnectionError("expected 1 to 64 slots within the memory")
        self._wake = np.frombuffer(self._memory, np.uint32, 2, 64)
        self._published = np.frombuffer(self._memory, np.uint64, 1, 72)

    def newest(self):
        """Returns the newest frame if this reader has not seen it, else None."""
        for _ in range(100):
            number = int(self._published[0])
            if number in (0, self._last):
                return None
            _fence()
            at = _RING_BYTES + (number - 1) % self._slots * self._slot_bytes
            sequence = np.frombuffer(self._memory, np.uint64, 1, at)
            published_ns, offset, size = struct.unpack_from("<QII", self._memory, at + 8)
            try:
                if offset < 24 or offset + size > self._slot_bytes:
                    raise FrameError("message: expected one within its slot")
                header, body = parse_frame(memoryview(self._memory)[at + offset : at + offset + size], "sequence")
            except FrameError:
                _fence()
                if int(sequence[0]) != 2 * number:
                    continue
                raise
            missed = number - self._last - 1 if self._last else 0
            frame = SharedFrame(header, body, sequence, number, missed, published_ns)
            if not frame.is_intact():
                continue
            self._last = number
            return frame
        return None

    @property
    def ended(self):
        """The publisher has ended, or the connection to it is closed."""
        return bool(self._wake[1]) or bool(select.select([self._socket], [], [], 0)[0])

    def wait(self, timeout=None):
        """Returns the next frame, None after `timeout` seconds. Raises EOFError when the publisher has ended."""
        end = None if timeout is None else time.monotonic() + timeout
        while True:
            before = int(self._wake[0])
            frame = self.newest()
            if frame is not None:
                return frame
            if self.ended:
                raise EOFError("the publisher has ended or has frames of another size")
            left = _LOOK_SECONDS if end is None else min(_LOOK_SECONDS, end - time.monotonic())
            if left <= 0:
                return None
            self._sleep(before, left)

    def _sleep(self, before, seconds):
        if _FUTEX is None:
            time.sleep(min(seconds, 0.001))
            return
        pause = _Pause(0, int(seconds * 1e9))
        _libc.syscall(_FUTEX, ctypes.c_void_p(self._wake.ctypes.data), 0, ctypes.c_uint(before), ctypes.byref(pause), None, 0)

    def __iter__(self):
        try:
            while True:
                yield self.wait()
        except EOFError:
            return

    def close(self):
        """Closes the connection. The memory is unmapped when no frame refers to it any more."""
        self._socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
