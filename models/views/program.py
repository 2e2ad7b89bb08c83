"""Exports a network by ``torch.export`` as a program that runs without skipstack."""

import torch
from torch import Tensor, nn
from torch.export import Dim, ExportedProgram
from torch.nn import functional

from skipstack.data.store.features import LONGEST_SPELLING
from skipstack.models.configs.heads import BiaffineConfig
from skipstack.models.configs.inputs import EmbedderConfig
from skipstack.models.configs.model import ModelConfig
from skipstack.models.ground.scanning import scan
from skipstack.models.networks.model import Network, Tokens
from skipstack.models.parts.inputs.base import LexiconTensors

LONGEST = 4096
"""The maximum number of tokens of a text in programs for texts of any length."""

Inputs = dict[str, Tensor]
"""The inputs or outputs of a program by name. The inputs:

``forms_TB``: each token's form, as an index into the F forms; 0 at padding. ``lengths_B``: the number of tokens of each
text. ``word_F``, ``capital_F``, ``prefix_FA``, ``suffix_FA``, ``spelling_FC`` (C is 64), ``class_F``: the features of
each form (``data.store.features.Lexicon``); form 0 is the boundary."""


class Program(nn.Module):
    """A module that computes a network's decisions from plain tensors.

    Outputs: ``tags_UB``, the ids of labels; ``scores_UBK``, the scores of all labels, or in parsing of all possible
    heads of each word (``models.parts.heads.base.Head.opinion``); in parsing also ``heads_TB``, the heads. Padding has
    arbitrary values. If a chain cannot decide on a text, all its labels are -1 (``best_tagging``).
    """

    def __init__(self, network: Network) -> None:
        super().__init__()
        self.network = network

    def forward(
        self,
        forms_TB: Tensor,
        lengths_B: Tensor,
        word_F: Tensor,
        capital_F: Tensor,
        prefix_FA: Tensor,
        suffix_FA: Tensor,
        spelling_FC: Tensor,
        class_F: Tensor,
    ) -> Inputs:
        """Return the outputs by name. The arguments are described in ``Inputs``."""
        tokens = Tokens(forms_TB.unsqueeze(0), lengths_B.unsqueeze(0))
        known = LexiconTensors(word_F, capital_F, prefix_FA, suffix_FA, spelling_FC, class_F)
        features_RUBF, counts_RB = self.network.read(tokens, known)
        decoded = self.network.head.decode(features_RUBF, counts_RB)
        found = {"tags_UB": decoded.tags_RUB[0], "scores_UBK": self.network.head.opinion(features_RUBF, counts_RB)[0]}
        return found if decoded.heads_RTB is None else {**found, "heads_TB": decoded.heads_RTB[0]}


def inputs_of(tokens: Tokens, lexicon: LexiconTensors, length: int | None = None) -> Inputs:
    """Return the inputs of a program for ``tokens``, which must be the same in all lanes. Texts are padded to at least
    ``length`` tokens; None means 2, the minimum.
    """
    forms_TB = tokens.forms_RTB[0]
    behind = max(2 if length is None else length, len(forms_TB)) - len(forms_TB)
    spelling_FC = lexicon.spelling_FC
    return {
        "forms_TB": functional.pad(forms_TB, (0, 0, 0, behind)),
        "lengths_B": tokens.lengths_RB[0],
        "word_F": lexicon.word_F,
        "capital_F": lexicon.capital_F,
        "prefix_FA": lexicon.prefix_FA,
        "suffix_FA": lexicon.suffix_FA,
        "spelling_FC": functional.pad(spelling_FC, (0, LONGEST_SPELLING - spelling_FC.shape[1])),
        "class_F": lexicon.class_F,
    }


def why_not(config: ModelConfig) -> str | None:
    """Return the reason why a network with this config cannot be exported, or None if it can."""
    if isinstance(config.head, BiaffineConfig) and config.head.decoder == "tree":
        return "the best tree is computed outside of torch (allowed: model.head.decoder greedy, and all other heads)"
    if isinstance(config.embedder, EmbedderConfig) and config.embedder.vector_size:
        return "it reads a vector for each token, which a program is not given (allowed: model.embedder.vector_size 0)"
    return None


def takes_any_length(config: ModelConfig) -> bool:
    """Whether the exported program accepts texts of any length, with the loop over time exported as one operation.

    If not, loops are unrolled, and texts have a maximum length. This is the case for layers that skip back in time,
    label feedback, chains and users' own heads, and for all networks if torch has no ``scan``. It is also the case if
    the embedder loops over characters (``blstm``): torch 2.13 requires two exported loops to have the same length.
    """
    stack, embedder = config.stack, config.embedder
    if scan is None:
        return False
    spelling = embedder.spelling if isinstance(embedder, EmbedderConfig) else None
    if spelling is not None and spelling.kind == "blstm":
        return False
    return stack.kind == "recurrent" and stack.skip is None and config.head.kind in ("softmax", "biaffine")


@torch.no_grad()
def exported(network: Network, inputs: Inputs, *, any_length: bool) -> ExportedProgram:
    """Export a network in evaluation mode. Afterwards the parameters of ``network`` require no gradient.

    ``inputs``: an example of the program's inputs. ``any_length``: whether texts may have 2 to ``LONGEST`` tokens, or
    must be padded to the length of the example. The program accepts any number of texts, and at least two forms.
    """
    torch.compiler.reset()  # without this, earlier exports in this process would forbid the lengths that they had
    program = Program(network).eval().requires_grad_(False)  # in-place writes need tensors without gradients
    steps, texts, forms = Dim("T", min=2, max=LONGEST), Dim("B", min=1), Dim("F", min=2)
    dynamic = {name: {0: forms} for name in inputs if name not in ("forms_TB", "lengths_B")}
    dynamic |= {"forms_TB": {0: steps, 1: texts} if any_length else {1: texts}, "lengths_B": {0: texts}}
    return torch.export.export(program, (), inputs, dynamic_shapes=dynamic, strict=False)
