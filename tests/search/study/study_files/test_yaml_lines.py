import json

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from skipstack.data.basis.errors import UserError
from skipstack.search.study.study_files.yaml_lines import read_yaml, write_yaml

TEXT = """\
about: a study
base:
  model:
    stack: {depth: 3,
            hidden: 32}
axes:
  model.stack.depth:
    choice:
      - 1
      - 3
"""


def test_every_key_and_item_has_its_line() -> None:
    data, lines = read_yaml(TEXT, "a.yaml")
    assert data["axes"] == {"model.stack.depth": {"choice": [1, 3]}}
    assert lines["base", "model", "stack", "depth"] == 4
    assert lines["base", "model", "stack", "hidden"] == 5
    assert lines["axes", "model.stack.depth", "choice"] == 8
    assert lines["axes", "model.stack.depth", "choice", 1] == 10


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("none", "none"),
        ("no", "no"),
        ("off", "off"),
        ("on", "on"),
        ("y", "y"),
        ("true", True),
        ("False", False),
        ("null", None),
        ("~", None),
        ("", None),
        ("''", ""),
        ("'1'", "1"),
        ("1e-3", 0.001),
        ("1E5", 1e5),
        (".5", 0.5),
        ("5.", 5.0),
        ("-3", -3),
        ("012", 12),
        ("1:30", "1:30"),
        ("2024-01-02", "2024-01-02"),
        ("1_000", "1_000"),
        (".inf", ".inf"),
    ],
)
def test_scalars_are_what_they_look_like(text: str, value: object) -> None:
    got = read_yaml(f"key: {text}\n", "a.yaml")[0]["key"]
    assert got == value
    assert type(got) is type(value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: 1\nb: 2\na: 3\n", "a.yaml:3: key 'a' is given twice (first on line 1)"),
        ("a: 1\nb: [1,\nc", "a.yaml:3: broken YAML: expected ',' or ']', but the text ends"),
        ("a: 1\n\tb: 2", "a.yaml:2: broken YAML: got a tab (allowed: blanks to indent"),
        ("a: 1\nb:\n\t- 2", "a.yaml:3: broken YAML: got a tab (allowed: blanks to indent"),
        ("a: 1\nb: 'x\nc: 3\n", "a.yaml:2: broken YAML: a quote is opened here and never closed"),
        ("a: b: c\n", "a.yaml:1: broken YAML: got a ': ' too many (allowed: one in a line; quotes"),
        ("a:\n  b: 1\n  c\nd: 3\n", "a.yaml:4: broken YAML: got a line without a ': ' (allowed: a key and a value"),
        ("a: 1\nb: \x00", "a.yaml:2: broken YAML: character"),
        ("a: &x [1]\nb: *x", "a.yaml:2: broken YAML: an alias (*) is not allowed here"),
        ("a: &x [*x]", "a.yaml:1: broken YAML: an alias (*) is not allowed here"),
        ("a: !!python/object/apply:os.getcwd []\nb: !mine 3", "a.yaml:2: got '3' of !mine"),
        ("a: !!int x", "a.yaml:1: got 'x' of !!int"),
        ("a: 1e999", "a.yaml:1: got '1e999' (allowed: text, finite numbers"),
        ("1: a", "a.yaml:1: got a key that is not text"),
        ("a: 1\n[1]: 2", "a.yaml:2: got a key that is not text"),
        ("a: 1\n---\nb: 2", "a.yaml:2: broken YAML: a second document begins here (allowed: one)"),
        ("[" * 1500, "a.yaml: broken YAML: mappings and lists lie too deep in one another"),
        ("#" * 1_000_001, "a.yaml: got 1000001 characters (allowed: 1000000)"),
    ],
)
def test_what_cannot_be_read_is_told_with_its_line(text: str, message: str) -> None:
    with pytest.raises(UserError) as caught:
        read_yaml(text, "a.yaml")
    assert str(caught.value).startswith(message)
    assert len(str(caught.value).splitlines()) == 1


WORDS = st.text(st.characters(max_codepoint=0xFFFF, exclude_categories=["Cs"]), max_size=8)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | WORDS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(WORDS, inner, max_size=4),
    max_leaves=12,
)


@given(JSON)
def test_json_is_read_as_json(value: object) -> None:
    assert read_yaml(json.dumps(value), "a.yaml")[0] == value


@given(JSON)
@example(["1e3", "1_000", "12:30", "null", "True", "é\x85 x", "\ufeff", "a: b # c", ""])
def test_what_is_written_is_read_back_and_is_yaml_for_others(value: object) -> None:
    text = write_yaml({"key": value})
    assert read_yaml(text, "a.yaml")[0] == {"key": value}
    assert yaml.compose(text, Loader=yaml.SafeLoader) is not None


@given(JSON)
def test_what_another_writer_wrote_is_read_back(value: object) -> None:
    text = yaml.safe_dump(value, default_style='"', allow_unicode=False)
    assert read_yaml(text, "a.yaml")[0] == value
