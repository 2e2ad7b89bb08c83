"""The names that user code may import, for gates, cells, heads, embedders, formats, constraints, proposers and
schedulers of its own.

::

    # my_gates.py
    from typing import Literal

    from torch import Tensor, nn

    from skipstack.own import Frozen, LayerSizes, LogisticGate, Streams, project


    class HardGate(LogisticGate):
        '''g = min(1, max(0, (W below + b) / 6 + 1/2))'''

        class Config(Frozen):
            kind: Literal["hard"] = "hard"

        def __init__(self, config: Config, sizes: LayerSizes, streams: Streams) -> None:
            super().__init__(sizes)

        def values(self, below_GTBI: Tensor, skip_GTBH: Tensor) -> Tensor:
            return nn.functional.hardsigmoid(project(below_GTBI, self.weight, self.bias))

``skipstack check my_gates.py`` tries it, ``code: [my_gates.py]`` in a study file makes ``hard`` a gate like ours, and
``docs/guide/own-code.md`` explains both.

These names are stable: a name stays, with its meaning, for at least one minor version after ``CHANGELOG.md`` has
announced its removal. Any other name in the packages may move without notice.

The letters at the end of an array's name are its axes, in order:

| letter | axis |
|---|---|
| ``R`` | lanes: the seeds of a trial, trained side by side |
| ``D`` | directions of reading, 1 or 2 |
| ``G`` | groups: every lane in every direction, G = R * D |
| ``B`` | sentences of a batch, or texts |
| ``T`` | time: the tokens of the longest sentence |
| ``U`` | tags of a sentence: T, or 1 where a whole text has one tag |
| ``I`` | numbers that a step reads from below |
| ``H`` | hidden units |
| ``X`` | pre-activations |
| ``F`` | features, which a layer puts out and a head reads; of a lexicon: forms, the different words as written |
| ``K`` | tags |
| ``A`` | characters that are read at either end of a form |
| ``C`` | characters of the longest form |
| ``E`` | numbers of a vector that is looked up |
| ``V`` | rows of a table, or entries of a vocabulary |
| ``N`` | entries of a list, in any order |
| ``P`` | tokens, in any arrangement |

1 is an axis of length 1. A module is loaded only when one of its names is imported: a file that has only a format loads
no torch.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from skipstack.data.basis.arrays import Ids
    from skipstack.data.basis.errors import UserError
    from skipstack.data.basis.frozen import Frozen
    from skipstack.data.basis.user_code.files import constraint
    from skipstack.data.formats.files import SourceFile
    from skipstack.data.formats.format import TaskOfLayer, Unit
    from skipstack.data.formats.own import CorpusFiles, Example, OwnFormat
    from skipstack.data.formats.running_text import END
    from skipstack.data.formats.sentences import Sentence
    from skipstack.data.labels.schemes import Scheme
    from skipstack.data.labels.transitions import Transitions
    from skipstack.data.store.features import CAPITAL_CLASSES
    from skipstack.data.store.vocabulary import BOUNDARY, FIRST_KNOWN, UNKNOWN
    from skipstack.models.ground.parameters import (
        BIAS,
        FORM,
        RECURRENT,
        SCORE,
        TABLE,
        WEIGHT,
        Parameter,
        Role,
        parameter,
    )
    from skipstack.models.kernels.layers import Weights, project
    from skipstack.models.kernels.products import product
    from skipstack.models.layers.cell import Cell, HiddenState
    from skipstack.models.layers.lanes import Dropout, Lane, Streams
    from skipstack.models.layers.layer import Choices, Layer, LayerSizes, Unrolled
    from skipstack.models.layers.lookup import Distinct, DistinctForms, Lookup, Sought, distinct_forms
    from skipstack.models.parts.cells.gates import Gate, LinearGate, LogisticGate, OpenGate, VectorGate, sample
    from skipstack.models.parts.heads.base import UNSEEN, Decoded, Gold, Head, LinearHead, Places, log_loss, log_losses
    from skipstack.models.parts.heads.doubts import Doubts
    from skipstack.models.parts.heads.softmax import SoftmaxHead
    from skipstack.models.parts.inputs.base import Embedder, LexiconTensors
    from skipstack.search.strategy.proposers.own import OwnProposer, PastTrial, ranked
    from skipstack.search.strategy.proposers.proposer import Curve
    from skipstack.search.strategy.proposers.ranks import Rank
    from skipstack.search.strategy.schedulers.own import OwnScheduler
    from skipstack.spaces.blocks import Point
    from skipstack.spaces.space import Space

# For every component: the base of its Config, and the error (one line) for a mistake of the component's user.
__all__ = ["Frozen", "UserError"]

# Gates: the base classes, and the function that draws open or closed at random.
__all__ += ["Gate", "LinearGate", "LogisticGate", "OpenGate", "VectorGate", "sample"]

# Cells: the base classes, their sizes and weights, and their outputs.
__all__ += ["Cell", "Choices", "HiddenState", "Layer", "LayerSizes", "Unrolled", "Weights"]

# Heads: the base classes, their inputs, and their decisions.
__all__ += ["UNSEEN", "Decoded", "Doubts", "Gold", "Head", "LinearHead", "Places", "SoftmaxHead", "Transitions"]
__all__ += ["log_loss", "log_losses"]

# Embedders: the base class, the features of each form, tables of vectors, and reserved ids.
__all__ += ["BOUNDARY", "CAPITAL_CLASSES", "FIRST_KNOWN", "UNKNOWN"]
__all__ += ["Distinct", "DistinctForms", "Embedder", "Ids", "LexiconTensors", "Lookup", "Sought", "distinct_forms"]

# Parameters and their roles. A role decides how a parameter is initialised, and whether L2 counts it.
__all__ += ["BIAS", "FORM", "RECURRENT", "SCORE", "TABLE", "WEIGHT", "Parameter", "Role", "parameter"]

# Lanes and their random numbers, and products over lanes.
__all__ += ["Dropout", "Lane", "Streams", "product", "project"]

# File formats: the base classes, the files that they read, and the sentences that they return.
__all__ += ["END", "CorpusFiles", "Example", "OwnFormat", "Scheme", "Sentence", "SourceFile", "TaskOfLayer", "Unit"]

# Constraints: the decorator that marks a function as a constraint.
__all__ += ["constraint"]

# Proposers and schedulers: the base classes, and the classes that describe trials to them.
__all__ += ["Curve", "OwnProposer", "OwnScheduler", "PastTrial", "Point", "Rank", "Space", "ranked"]

_FROM = {
    "skipstack.data.basis.arrays": "Ids",
    "skipstack.data.basis.errors": "UserError",
    "skipstack.data.basis.frozen": "Frozen",
    "skipstack.data.basis.user_code.files": "constraint",
    "skipstack.data.formats.files": "SourceFile",
    "skipstack.data.formats.format": "TaskOfLayer Unit",
    "skipstack.data.formats.own": "CorpusFiles Example OwnFormat",
    "skipstack.data.formats.running_text": "END",
    "skipstack.data.formats.sentences": "Sentence",
    "skipstack.data.labels.schemes": "Scheme",
    "skipstack.data.labels.transitions": "Transitions",
    "skipstack.data.store.features": "CAPITAL_CLASSES",
    "skipstack.data.store.vocabulary": "BOUNDARY FIRST_KNOWN UNKNOWN",
    "skipstack.models.parts.cells.gates": "Gate LinearGate LogisticGate OpenGate VectorGate sample",
    "skipstack.models.parts.heads.doubts": "Doubts",
    "skipstack.models.parts.heads.base": "UNSEEN Decoded Gold Head LinearHead Places log_loss log_losses",
    "skipstack.models.parts.heads.softmax": "SoftmaxHead",
    "skipstack.models.parts.inputs.base": "Embedder LexiconTensors",
    "skipstack.models.layers.lookup": "Distinct DistinctForms Lookup Sought distinct_forms",
    "skipstack.models.layers.lanes": "Dropout Lane Streams",
    "skipstack.models.ground.parameters": "BIAS FORM RECURRENT SCORE TABLE WEIGHT Parameter Role parameter",
    "skipstack.models.kernels.products": "product",
    "skipstack.models.layers.cell": "Cell HiddenState",
    "skipstack.models.kernels.layers": "Weights project",
    "skipstack.models.layers.layer": "Choices Layer LayerSizes Unrolled",
    "skipstack.search.strategy.proposers.own": "OwnProposer PastTrial ranked",
    "skipstack.search.strategy.proposers.proposer": "Curve",
    "skipstack.search.strategy.proposers.ranks": "Rank",
    "skipstack.search.strategy.schedulers.own": "OwnScheduler",
    "skipstack.spaces.blocks": "Point",
    "skipstack.spaces.space": "Space",
}
"""The names in each module, separated by blanks."""

_MODULE_OF = {name: module for module, names in _FROM.items() for name in names.split()}

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        """Import a name from its module."""
        if name not in _MODULE_OF:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(_MODULE_OF[name]), name)

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
