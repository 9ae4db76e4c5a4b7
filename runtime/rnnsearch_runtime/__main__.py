"""``python -m rnnsearch_runtime`` is the command ``rnnsearch-translate``."""

from __future__ import annotations

from rnnsearch_runtime.cli import main

raise SystemExit(main())
