"""What memory this process holds."""

import ctypes
import gc
import pathlib

STATUS = pathlib.Path("/proc/self/status")


def anonymous_memory():
    """Bytes of this process that are of no file; what is free already is given back first."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    [line] = [line for line in STATUS.read_text().splitlines() if line.startswith("RssAnon")]
    return 1024 * int(line.split()[1])


def peak_memory():
    """Most bytes that this process has held so far, those of files too."""
    [line] = [line for line in STATUS.read_text().splitlines() if line.startswith("VmHWM")]
    return 1024 * int(line.split()[1])
