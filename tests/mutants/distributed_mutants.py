"""Planted faults of trainings in several processes; see mutants.py."""

from mutants import Mutant

TOGETHER = (
    "training/test_distributed.py::test_workers_together_make_the_updates_of_one_process[2-all]"
)
KILLED = "training/test_launch.py::test_a_killed_worker_is_started_again[2-1]"
REPLICAS = (
    "training/test_launch.py::test_replicas_together_make_the_updates_of_one_process"
    "[accumulate-traced]"
)
AGREED = "training/test_workers.py"
LAUNCH = "training/test_launch.py"

_FAULTS = [
    (
        "models/translation_model.py",
        "each replica evaluates its share alone",
        "weighted_total, total = self.workers.sums(totals)",
        "weighted_total, total = totals",
        REPLICAS,
    ),
    (
        "distributed/workers.py",
        "a port in use is an unexpected error",
        "except (RuntimeError, tf.errors.OpError) as error:",
        "except RuntimeError as error:",
        f"{AGREED}::test_a_worker_that_cannot_join_says_why",
    ),
    (
        "models/translation_model.py",
        "divides by the words of the share",
        'self.workers.counts(*batch_counts(inputs["target_ids"]))',
        'batch_counts(inputs["target_ids"])',
        TOGETHER,
    ),
    (
        "models/loss.py",
        "a row of padding is a sentence",
        "tf.math.count_nonzero(\n        tf.reduce_any(real, axis=1), dtype=tf.int32\n    )",
        "tf.shape(target_ids)[0]",
        TOGETHER,
    ),
    (
        "models/translation_model.py",
        "every worker decides by its own loss",
        "*gradients, objective, weighted_total, total = self.workers.sums(",
        "*gradients, _, weighted_total, total = self.workers.sums(",
        TOGETHER,
    ),
    ("data/batching.py", "a worker reads all", "ids[worker::workers]", "ids[0::1]", TOGETHER),
    (
        "data/batching.py",
        "an empty share has a word",
        (
            "tf.where(empty, tf.zeros_like(target), target)[\n        :, : tf.where(empty, 1,"
            " longest(target))\n    ]"
        ),
        "target",
        TOGETHER,
    ),
    (
        "training/fit.py",
        "another worker writes",
        ("            self.limits,\n            *self.agreement,"),
        (
            "            self.limits,\n            MetricsLog(self.run.metrics, self.state),"
            "\n            *self.agreement,"
        ),
        KILLED,
    ),
    (
        "cli/launch.py",
        "a failure behind a running worker is not seen",
        "[process.poll() for process in self.processes]",
        "[process.poll() for process in self.processes[:1]]",
        f"{LAUNCH}::test_workers_have_time_to_save_what_they_learned",
    ),
    (
        "cli/launch.py",
        "a lost worker is left lost",
        "self.everywhere or any(code < 0 for code in failures)",
        "False",
        KILLED,
    ),
    (
        "cli/launch.py",
        "begins anew",
        "            may_resume = True",
        "            may_resume = False",
        KILLED,
    ),
    (
        "cli/launch.py",
        "what a training began from is said again",
        "    if parsed.start_from:  # RUN has",
        "    if False:  # RUN has",
        f"{LAUNCH}::test_what_begins_a_training_is_not_said_again_when_it_goes_on",
    ),
    (
        "runtime/keras_internals.py",
        "replicas sum the sums",
        "    def _backend_update_step(",
        "    def _unused(",
        REPLICAS,
    ),
    (
        "training/worker_sync.py",
        "every worker has its own clock",
        "if self.workers.chief else (0, 0, 0)",
        "if True else (0, 0, 0)",
        f"{AGREED}::test_the_chiefs_clock_and_decisions_count",
    ),
    (
        "training/interruption.py",
        "a worker stops alone",
        "self.agreed = number if self.alone else self.agreed",
        "self.agreed = number",
        f"{AGREED}::test_a_signal_is_kept_until_all_know",
    ),
    (
        "distributed/workers.py",
        "padding of gathered rows counts",
        "tf.pad(values, [[0, missing], [0, 0]])",
        "tf.pad(values, [[0, missing], [0, 0]], constant_values=1)",
        TOGETHER,
    ),
    (
        "distributed/workers.py",
        "whole matrices are summed twice",
        'self._sum_of_large(whole, f"whole',
        '2 * self._sum_of_large(whole, f"whole',
        TOGETHER,
    ),
    (
        "distributed/workers.py",
        "what was to be sent in few bits is sent whole",
        "tf.cast(values, self.exchange_dtype or values.dtype)",
        "values",
        TOGETHER,
    ),
    (
        "distributed/workers.py",
        "rows of one word replace each other",
        "tf.math.unsorted_segment_sum(\n        slices.values,",
        "tf.math.unsorted_segment_max(\n        slices.values,",
        TOGETHER,
    ),
    (
        "layers/dropout.py",
        "replicas drop the same values",
        "SEED_STRIDE * number",
        "0 * number",
        f"{LAUNCH}::test_replicas_together_make_the_updates_of_one_process",
    ),
    (
        "cli/launch.py",
        "workers outlive their launcher",
        "prctl(1, signal.SIGTERM)",
        "prctl(1, 0)",
        f"{LAUNCH}::test_a_killed_launchers_workers_save_and_end",
    ),
    (
        "evaluation/bleu.py",
        "words of a script without spaces",
        'return "zh" if language in languages.CHINESE else "char"',
        'return "13a"',
        "cli/test_evaluate_more.py::test_text_without_spaces_is_scored_by_characters",
    ),
    (
        "layers/dropout.py",
        "workers drop the same values",
        "SEED_STRIDE * worker",
        "0 * worker",
        f"{AGREED}::test_every_worker_drops_other_values",
    ),
]

DISTRIBUTED = [Mutant(file, fault, old, new, (test,)) for file, fault, old, new, test in _FAULTS]
