"""Packaging; tool settings are in pyproject.toml."""

import pathlib
import re

from setuptools import find_packages, setup

HERE = pathlib.Path(__file__).parent
VERSION = re.search(
    r'__version__ = "(.+)"', (HERE / "rnnsearch_tf" / "__init__.py").read_text()
).group(1)

# tensorflow_text's ops are built for one TensorFlow minor version: the two move together.
CORE = [
    "tensorflow>=2.21,<2.22",
    "tensorflow-text>=2.21,<2.22",
    # Files of others are read by it: these two have the last of its fixes, and 3.12 is the last for
    # Python 3.10.
    "keras>=3.12.4,!=3.13.*,!=3.14.*,!=3.15.0,<4",
    "keras-nlp>=0.21",
    "sacrebleu>=2.4,<3",
    "sentencex>=0.6,<2",  # cuts paragraphs into sentences; 1 MB, needs nothing else
    "pyyaml>=6",
    "tqdm>=4.60",
    "tensorflow-serving-api>=2.21,<2.22",
    "grpcio-health-checking>=1.71",
    # the server for development
    "uvicorn>=0.30",
    "starlette>=0.40",
]
EXTRAS = {
    # trains subword vocabularies; using them needs only tensorflow-text
    "subwords": ["sentencepiece>=0.2,<0.2.2"],  # 0.2.2 cuts some texts otherwise
    "plots": ["matplotlib>=3.8"],
    "browser": [
        "playwright>=1.40",
        "axe-playwright-python>=0.1.4",
    ],  # tests of the attention page, with a Chromium of the system
    "onnx": ["tf2onnx>=1.17,<2", "onnx>=1.17,<2", "onnxruntime>=1.20,<2"],  # export --format onnx
    "docs": [
        "mkdocs>=1.6,<2",
        "mkdocs-material>=9.5,<10",
        "mkdocstrings[python]>=1.0,<2",
        "latex2mathml>=3.77",
    ],
}
EXTRAS["dev"] = sorted(
    {package for extra in EXTRAS.values() for package in extra}
    | {
        "pytest>=8",
        "pytest-xdist>=3.5",
        "pytest-timeout>=2.3",
        "hypothesis>=6.100",
        "nbclient>=0.10",
        "ipykernel>=6",
        "sacremoses>=0.1.1",  # the reference of Moses's rules
    }
    | {"ruff>=0.17,<0.18"}  # a newer one may format otherwise
    | {"mypy>=2.4,<2.5"}
)
# not in dev, for it wants an older urllib3; its tests are skipped then
EXTRAS["smt"] = ["sil-machine[thot]>=1.9,<2", "scikit-learn>=1.4"]


def long_description():
    """The README without its picture: a package index shows no file of the project, and there is no
    public address of it.
    """
    text = (HERE / "README.md").read_text(encoding="utf-8")
    # the line below it goes too
    return re.sub(r"^!\[[^\]]*\]\([^)]*\)\n\n\*[^*]*\*\n\n", "", text, flags=re.MULTILINE)


setup(
    name="rnnsearch-tf",
    version=VERSION,
    description=(
        "Attention-based neural machine translation in TensorFlow: RNNsearch and its family"
    ),
    long_description=long_description(),
    long_description_content_type="text/markdown",
    author="the rnnsearch_tf authors",
    license="Apache-2.0",
    license_files=["LICENSE"],
    keywords=(
        "machine translation, attention, recurrent neural network, sequence to sequence,"
        " TensorFlow, Keras"
    ),
    classifiers=[
        "Intended Audience :: Science/Research",
        "Intended Audience :: Developers",
        "Operating System :: POSIX",
        "Programming Language :: Python :: 3",
        "Topic :: Scientific/Engineering :: Artificial Intelligence",
        "Topic :: Text Processing :: Linguistic",
    ],
    packages=find_packages(include=["rnnsearch_tf", "rnnsearch_tf.*"]),
    package_data={
        "rnnsearch_tf": [
            "py.typed",
            "config/shipped/*.yaml",
            "data/phrasebook.tsv.xz",
            "runs/shipped/*/*",
            "runs/shipped/*/best/*",
            "text/prefixes/*.txt",
            "extras/server/page/*",
        ]
    },
    python_requires=">=3.10,<3.14",
    install_requires=CORE,
    extras_require=EXTRAS,
    entry_points={"console_scripts": ["rnnsearch = rnnsearch_tf.cli.main:run"]},
)
