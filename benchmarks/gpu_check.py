"""Whether this package works on the GPU of this machine, and how fast: its tests that say something
about a GPU, and two tables.

    make gpu-check                    tests, training and search, minutes
    python benchmarks/gpu_check.py    the same; prints a report in Markdown

The tests compare layers, systems, gradients and searches with their references on the GPU, most of
them in float64; they run without TF32, so that float32 is float32. The tables are those of
training.py and decoding.py at few updates, with TF32 as TensorFlow has it.

Exit code 0: all tests passed and both tables are there; 1: not, or there is no GPU.
"""

import argparse
import os
import re
import subprocess
import sys

import measuring

TESTS = [
    "equations/test_layers.py",
    "equations/test_systems.py",
    "gradients/test_system_gradients.py",
    "search/test_beam.py",
    "search/test_system_search.py",
    "export/test_exported_systems.py",
]
"""Those that run on whatever device there is; the slow ones of them too."""

TABLES = [
    ["training.py", "--systems", "rnnsearch"],
    ["decoding.py", "--beams", "1", "12", "--batches", "1", "64", "--no-runner"],
]
QUICK = [["training.py", "--quick"], ["decoding.py", "--quick"]]

TOGETHER = {"TF_FORCE_GPU_ALLOW_GROWTH": "true"}
"""The programs' workers share the GPU's memory."""


def gpus():
    """([(device, what it is)] of the GPUs that TensorFlow sees, TensorFlow's version and build in
    words).
    """
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    import tensorflow as tf

    build = (
        f"TensorFlow {tf.__version__}, built"
        f" {'with' if tf.test.is_built_with_cuda() else 'without'} CUDA"
    )
    devices = tf.config.list_physical_devices("GPU")
    details = [tf.config.experimental.get_device_details(device) for device in devices]
    words = [
        f"{found.get('device_name', 'unknown')}, {found.get('compute_capability', 'unknown')}"
        for found in details
    ]
    return [(device.name, word) for device, word in zip(devices, words)], build


def tested():
    """(whether the tests passed, the last line of pytest, the tests that failed)."""
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "no:xdist",
        *(f"tests/{name}" for name in TESTS),
    ]
    environment = os.environ | TOGETHER | {"NVIDIA_TF32_OVERRIDE": "0"}
    done = subprocess.run(
        command, env=environment, cwd=measuring.HERE.parent, stdout=subprocess.PIPE, text=True
    )
    sys.stderr.write(done.stdout)
    failed = re.findall(r"^(?:FAILED|ERROR) (\S+)", done.stdout, re.MULTILINE)
    return done.returncode == 0, done.stdout.strip().rpartition("\n")[2].strip("= "), failed


def measured(table):
    """(whether a benchmark went through, what it printed)."""
    program, *options = table
    command = [sys.executable, measuring.HERE / program, *options]
    done = subprocess.run(command, env=os.environ | TOGETHER, stdout=subprocess.PIPE, text=True)
    return done.returncode == 0, done.stdout


def check(tables):
    """Print the report; whether all is well."""
    found, build = gpus()
    if not found:
        measuring.say(
            f"gpu-check: expected a GPU that TensorFlow sees, got none ({build};"
            f" CUDA_VISIBLE_DEVICES={os.environ.get('CUDA_VISIBLE_DEVICES', 'not set')}); nothing"
            " was checked. On a machine that has an NVIDIA GPU and its driver (nvidia-smi shows"
            " it): pip install 'tensorflow[and-cuda]', and make gpu-check again"
        )
        return False
    print(
        f"## gpu_check.py\n\n{build}. "
        + " ".join(f"`{name}`: {what}." for name, what in found)
        + "\n",
        flush=True,
    )
    measuring.say("gpu-check: the tests")
    well, last, failed = tested()
    print(f"Tests: {last}.\n" + "".join(f"\n- {name}" for name in failed), flush=True)
    for table in tables:
        measuring.say(f"gpu-check: {' '.join(table)}")
        through, printed = measured(table)
        print(
            (
                printed
                if through
                else f"{printed}\n{' '.join(table)} failed; standard error says why.\n"
            ),
            flush=True,
        )
        well = well and through
    print("All is well on this GPU." if well else "Not all is well on this GPU: see above.")
    return well


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--quick", action="store_true", help="the tables at a tiny size; their numbers mean nothing"
    )
    sys.exit(0 if check(QUICK if parser.parse_args().quick else TABLES) else 1)


if __name__ == "__main__":
    main()
