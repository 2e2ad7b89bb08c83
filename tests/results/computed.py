"""Figures that no study has, since they are properties of corpora that the project generates."""

from typing import Any

from skipstack.data.corpora.synthetic import numbers
from skipstack.data.corpora.synthetic.numbers import NumbersCorpus
from tests.results.figures import Figure


def best_constant_place(corpus: NumbersCorpus, **changes: Any) -> Figure:
    """How many percent of the test texts' labels stand at the one place that is best always answered."""
    asked = corpus.model_copy(update=changes)
    rule = {"length": asked.length, "jumps": asked.jumps, "counted_from": asked.counted_from}
    texts = numbers.sentences(asked.seed, "test", asked.test, **rule)
    right = [sum(text.words[place] == text.tags[0] for text in texts) for place in range(corpus.length)]
    share = 100 * max(right) / len(texts)
    return Figure(share, f"{share:.2f}")
