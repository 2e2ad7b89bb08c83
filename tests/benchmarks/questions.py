"""The questions of ``docs/benchmarks.md``, in the order of the page."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """``about``: what was measured, and beside what. ``benchmark``: the name of the file ``test_*.py`` that answers it.
    ``libraries``: the ones whose versions matter, as pip names them.
    """

    title: str
    about: str
    benchmark: str
    libraries: tuple[str, ...] = ()


QUESTIONS: Final[Mapping[str, Question]] = {
    "layer": Question(
        title="How fast is a layer?",
        about="""Forward and backward, one lane, float32, one thread's own time: medians of 25 rounds in
        turns. H is the number of hidden units, B of sentences, T of tokens; both directions include putting
        sentences into each one's order and back. Below 1 is faster than `torch.nn.LSTM` of the same size.""",
        benchmark="layers",
        libraries=("torch", "numba"),
    ),
    "cells": Question(
        title="How fast are other cells?",
        about="The same, in a stack of one layer, beside our own LSTM.",
        benchmark="layers",
        libraries=("torch", "numba"),
    ),
    "residual": Question(
        title="What do residual connections and normalisation cost?",
        about="""Three layers of GRU that read the normalised layer below and add the layer below, beside the same
        in torch's operations. Both directions are joined in each layer.""",
        benchmark="layers",
        libraries=("torch", "numba"),
    ),
    "scan": Question(
        title="Is a loop or a scan faster?",
        about="""A layer of minLSTM in one direction, after the same compiled product: by torch's operations
        as a parallel scan and as a loop, beside the loop that is compiled.""",
        benchmark="layers",
        libraries=("torch", "numba"),
    ),
    "skips": Question(
        title="What does a layer that skips cost?",
        about="""A layer of 200 over 100 texts of 11 numbers, as gui2019's: a step of learning from the last
        state, all gradients computed, those of the policy included. gui2019 tells of 9.98 hours beside 8
        (1.25 times) for a whole tagger.""",
        benchmark="skips",
        libraries=("torch",),
    ),
    "training": Question(
        title="How fast is training?",
        about="""The sizes and batches of NCRF++ (Yang and Zhang, 2018): word vectors of 50, a character CNN
        of 30 and 50, one BiLSTM layer of 2 x 100, softmax, ten sentences a step. Beside it the same network
        as others write it (`tests/benchmarks/rivals/ncrf.py`): `nn.LSTM` over packed sentences and
        `nn.Conv1d`. One thread's own time: medians of five stretches in turns. Seeds or trials that train
        side by side are lanes of one program.""",
        benchmark="training_speed",
        libraries=("torch", "numba"),
    ),
    "tagging": Question(
        title="How fast is tagging?",
        about="The same networks decide on dev, batch by batch.",
        benchmark="training_speed",
        libraries=("torch", "numba"),
    ),
    "feedback": Question(
        title="How fast is label feedback?",
        about="""The paper's network (embeddings of 200, 100 hidden units), on a corpus drawn at random with
        the sizes of ATIS: 893 sentences, 9,222 tokens, 127 labels. Each decision reads those before it. One
        thread's own time.""",
        benchmark="feedback",
        libraries=("torch",),
    ),
    "chain": Question(
        title="How fast is a CRF?",
        about="""45 tags, 32 sentences, float32, beside pytorch-crf on the same scores, with equal losses,
        gradients and taggings: medians of 100 rounds in turns, one thread's own time.""",
        benchmark="chain",
        libraries=("torch", "pytorch-crf"),
    ),
    "words": Question(
        title="What does a large table of words cost?",
        about="""40,000 words of 100 numbers, 3 lanes, 900 tokens each: looked up, learnt from and updated, in
        one thread's own time. `lazy_adam` moves only the rows of the batch, as do SGD and AdaGrad where that
        changes nothing.""",
        benchmark="updates",
        libraries=("torch",),
    ),
    "bfloat16": Question(
        title="What does bfloat16 save?",
        about="""An update of `wu2017/default` (seven layers of 2 x 465, sentences of 25 words, 1,200 tags),
        one thread's own time: medians of 5 in turns. A CPU without products in bfloat16 saves nothing.""",
        benchmark="updates",
        libraries=("torch", "numba"),
    ),
    "checks": Question(
        title="What does it cost to check a stored corpus?",
        about="""A process that opens a stored corpus checks once that every number is in its range; beside an
        epoch of training on `pmb-ccg-en` (50,408 tokens) by the network above, its evaluation on dev
        included.""",
        benchmark="range_checks",
        libraries=("torch", "numpy", "pyarrow"),
    ),
    "trial": Question(
        title="What does a trial cost from end to end?",
        about="""Trials that train nothing, at most 3 epochs each, on Ray: 100 under ASHA, proposed by TPE, in
        the ledger (`fsync`) and in MLflow (SQLite). Beside them 12 of plain Ray Tune, whose actors import
        torch, with `MLflowLoggerCallback`.""",
        benchmark="overhead",
        libraries=("ray", "mlflow"),
    ),
    "short trials": Question(
        title="How long do 200 short trials take?",
        about="""A function that sleeps 50 ms and returns its score, on two cores: from the call that starts
        the search to its return, and what a trial has beyond its share of the sleep. Ours are recorded in the
        ledger and in MLflow, with a report at the end; the start of Ray counts for us as for Ray Tune.""",
        benchmark="short_trials",
        libraries=("ray", "optuna", "mlflow"),
    ),
    "quickstart": Question(
        title="How long does the quickstart take?",
        about="""`skipstack search quickstart`, 16 trials of 2 seeds, from Enter. A tenth of it is what
        [Ray starts besides](decisions/studies.md#a-guest-in-the-users-process).""",
        benchmark="quickstart",
        libraries=("ray", "torch", "mlflow"),
    ),
    "rivals": Question(
        title="How long does the quickstart take beside plain scripts?",
        about="""From Enter to the prompt, beside the same trials in a plain Ray Tune script and in a plain
        Optuna script in one process, both with our network, in one run.""",
        benchmark="rivals",
        libraries=("ray", "optuna", "torch", "mlflow"),
    ),
    "scale": Question(
        title="How long do many trials or many workers take?",
        about="""The rows of Ray Tune's own page on scalability, on one machine, and 500 workers under ASHA,
        each trial in the ledger and in MLflow. From 200 workers on they live in a few processes, and sleep.
        Ray's page has 715 s for 10,000 trials, and 2,281 s for 200 workers and 300 epochs, on machines of its
        own. `python -m tests.benchmarks.scale ROW FOLDER [SHARE]` runs one row, or a share of it.""",
        benchmark="scale",
        libraries=("ray", "mlflow"),
    ),
    "many trials": Question(
        title="How soon is a study of 2,000 trials resumed?",
        about="""A function that takes no time, on two cores; killed after 1,990 trials. On Ray a resume
        starts a cluster first, as a new study does.""",
        benchmark="many_trials",
        libraries=("ray", "mlflow"),
    ),
    "copying": Question(
        title="What does it cost that machines share no disk?",
        about="""A head without CPUs and three hosts, as namespaces of one machine, in turns: where all see
        the study's folder, and where files are copied. Medians of three.""",
        benchmark="copying",
        libraries=("ray",),
    ),
    "next point": Question(
        title="How long does the next point take?",
        about="""`flagship`, free and under three constraints, each on two axes, that keep 1 to 2 %; after so
        many trials at random points. Milliseconds of the processor: the median, and the longest of 15.""",
        benchmark="constraints",
        libraries=("optuna",),
    ),
    "many points": Question(
        title="How long does a Gaussian process take after many trials?",
        about="A point on `flagship` while 8 trials run. The process is conditioned on 100 trials at most.",
        benchmark="gaussian_process",
    ),
    "objectives": Question(
        title="What does a report cost with several objectives?",
        about="At a rung that 4,000 trials have reached, two objectives; the time of the processor.",
        benchmark="objectives",
    ),
    "ledger": Question(
        title="How soon is a long ledger read?",
        about="""10,000 trials of 3 to 9 reports, 2 seeds, 134,000 events, 27 MB. `resume` until the first new
        trial, in a process that has Ray and MLflow loaded; seconds are the processor's.""",
        benchmark="ledger",
    ),
    "report": Question(
        title="How long does a report take?",
        about="""10,000 trials of 30 epochs, nothing stopped, 2 seeds, 630,000 events, 141 MB: a process of
        its own, its start included. Frames are kept once made.""",
        benchmark="frames",
        libraries=("pandas", "pyarrow", "pydantic"),
    ),
    "tracking server": Question(
        title="Does one MLflow server slow several studies down?",
        about="""Four studies at once, 40 trials of epochs that sleep 0.25 s, in turns with a store each and
        with one `mlflow server` for all: from the first proposal to the end, medians of three rounds.""",
        benchmark="tracking_server",
        libraries=("mlflow",),
    ),
    "dashboard": Question(
        title="How soon is the dashboard there?",
        about="""In Chromium with an empty cache, from the address to the first chart of a study that answers
        the mouse, by turns with Optuna's dashboard of the same study: medians of three rounds. A server that was
        just started is timed from its command.""",
        benchmark="dashboard",
        libraries=("starlette",),
    ),
}
