"""Whether this package works on the GPU of this machine, and how fast: its tests that say something
about a GPU, and two tables.

    make gpu-check                    tests, training and search, minutes
    python benchmarks/gpu_check.py    the same; prints a report in Markdown

The tests compare layers, systems, gradients and searches with their references on the GPU, most of
them in float64; they run without TF32, so that float32 is float32. The tables are those of
training.py and decoding.py at few updates, with TF32 as TensorFlow has it.

Exit code 0: all tests passed and both tables are there; 1: not, or there is no GPU.
"""

import os
import subprocess
import sys

import measuring

ROOT = measuring.HERE.parent

TESTS = [  # those that run on whatever device there is; the slow ones of them too
    "tests/equations/test_layers.py",
    "tests/equations/test_systems.py",
    "tests/gradients/test_system_gradients.py",
    "tests/search/test_beam.py",
    "tests/search/test_system_search.py",
    "tests/export/test_exported_systems.py",
]

TABLES = [
    ["benchmarks/training.py", "--systems", "rnnsearch"],
    ["benchmarks/decoding.py", "--beams", "1", "12", "--batches", "1", "64"],
]


def gpus():
    """List of the GPUs that TensorFlow sees, in words."""
    import tensorflow as tf

    details = [
        tf.config.experimental.get_device_details(device)
        for device in tf.config.list_physical_devices("GPU")
    ]
    return [f"{found['device_name']}, {found['compute_capability']}" for found in details]


def succeeded(*words, **environment):
    """Whether Python with these words ended with 0; what it prints is printed."""
    # the programs' workers share the GPU's memory
    environment = os.environ | {"TF_FORCE_GPU_ALLOW_GROWTH": "true"} | environment
    return not subprocess.run([sys.executable, *words], env=environment, cwd=ROOT).returncode


def main():
    parser = measuring.plain_parser(__doc__)
    parser.add_argument(
        "--quick", action="store_true", help="the tables at a tiny size; their numbers mean nothing"
    )
    quick = ["--quick"] if parser.parse_args().quick else []
    found = gpus()
    if not found:
        sys.exit(
            "gpu-check: TensorFlow sees no GPU. On a machine that has one and its driver"
            " (nvidia-smi shows it): pip install 'tensorflow[and-cuda]'"
        )
    print("## gpu_check.py\n\n" + "; ".join(found) + "\n", flush=True)
    well = [succeeded("-m", "pytest", "-p", "no:xdist", *TESTS, NVIDIA_TF32_OVERRIDE="0")]
    well += [succeeded(*table, *quick) for table in TABLES]
    print("All is well on this GPU." if all(well) else "Not all is well on this GPU: see above.")
    sys.exit(not all(well))


if __name__ == "__main__":
    main()
