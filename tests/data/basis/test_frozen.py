"""One canonical text and one identity for equal configs."""

import json
import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from skipstack.data.basis.frozen import Frozen, canonical_json, identity
from skipstack.data.corpora.config import DataConfig, VocabularyConfig
from skipstack.data.corpora.synthetic.grammar import GrammarCorpus


class Inner(Frozen):
    rate: float = 0.1
    name: str = "a"


class Outer(Frozen):
    inner: Inner = Inner()
    count: int = 1
    rates: tuple[float, ...] = ()


outers = st.builds(
    Outer,
    inner=st.builds(Inner, rate=st.floats(allow_nan=False, allow_infinity=False), name=st.text(max_size=5)),
    count=st.integers(),
    rates=st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=3).map(tuple),
)
json_values: st.SearchStrategy[Any] = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(), st.text(max_size=4), st.floats(allow_nan=False, allow_infinity=False)
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=3), inner, max_size=3)),
    max_leaves=8,
)


def test_one_and_one_point_zero_are_the_same_learning_rate() -> None:
    assert identity(Inner(rate=1)) == identity(Inner(rate=1.0)) == identity(Inner.model_validate_json('{"rate": 1}'))
    assert identity(Inner(rate=1)) != identity(Inner(rate=1.5))


def test_minus_zero_is_zero_at_any_depth() -> None:
    assert identity(Outer(inner=Inner(rate=-0.0), rates=(1.0, -0.0))) == identity(
        Outer(inner=Inner(rate=0), rates=(1, 0))
    )
    assert "-" not in canonical_json({"a": [-0.0, {"b": -0.0}]})


def test_the_canonical_text_is_sorted_compact_and_ascii() -> None:
    assert canonical_json({"b": 1, "a": [True, None, "é"]}) == '{"a":[true,null,"\\u00e9"],"b":1}'


@given(json_values)
def test_the_order_of_keys_does_not_matter(value: Any) -> None:
    def turned(item: Any) -> Any:
        if isinstance(item, dict):
            return {key: turned(item[key]) for key in reversed(item)}
        return [turned(each) for each in item] if isinstance(item, list) else item

    assert canonical_json(turned(value)) == canonical_json(value)


@given(json_values)
def test_the_canonical_text_says_the_value(value: Any) -> None:
    assert json.loads(canonical_json(value)) == value


@given(outers)
def test_a_config_comes_back_from_its_text_with_its_identity(config: Outer) -> None:
    again = Outer.model_validate_json(canonical_json(config))
    assert again == config
    assert identity(again) == identity(config)


@given(outers, outers)
def test_configs_are_equal_exactly_where_their_identities_are(one: Outer, other: Outer) -> None:
    assert (one == other) == (identity(one) == identity(other))


def test_an_identity_never_changes() -> None:
    # Written down once: stored corpora and studies are found again by it.
    assert identity({"a": [1, 0.5, "x"]}) == "565c9508cad0d40c"


@pytest.mark.first(1)
@pytest.mark.parametrize("hash_seed", ["0", "12345"])
def test_another_process_finds_the_same_identity(hash_seed: str) -> None:
    config = DataConfig(corpus=GrammarCorpus(seed=3), vocabulary=VocabularyConfig(minimum_count=2))
    program = (
        "import sys; from skipstack.data.corpora.config import DataConfig;"
        "from skipstack.data.basis.frozen import identity;"
        "print(identity(DataConfig.model_validate_json(sys.argv[1])))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, config.model_dump_json()],
        cwd=Path(__file__).parents[3],
        env={**os.environ, "PYTHONHASHSEED": hash_seed},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == identity(config)


def test_a_config_cannot_be_changed() -> None:
    config = Inner()
    with pytest.raises(ValidationError, match="frozen"):
        config.rate = 0.2  # type: ignore[misc]
    assert config == Inner()


@pytest.mark.parametrize("given_keys", [{"rates": 0.1}, {"rate": 0.1, "": 1}])
def test_an_unknown_key_is_refused(given_keys: dict[str, object]) -> None:
    with pytest.raises(ValidationError, match="Extra inputs"):
        Inner.model_validate(given_keys)


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_no_number_is_nan_or_infinite(number: float) -> None:
    with pytest.raises(ValidationError, match="finite"):
        Inner(rate=number)
    with pytest.raises(ValueError, match="JSON compliant"):
        canonical_json({"rate": number})
