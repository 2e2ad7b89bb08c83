"""Texts without secrets: addresses, arguments, headers, variables of the environment."""

import pytest

from skipstack.data.basis.errors import one_line
from skipstack.data.basis.redaction import hide, redacted, without_secrets


@pytest.mark.parametrize(
    ("uri", "shown"),
    [
        ("sqlite:////home/ann@work/mlflow.db", "sqlite:////home/ann@work/mlflow.db"),
        ("http://mlflow:5000", "http://mlflow:5000"),
        ("https://tok3n@mlflow/path", "https://***@mlflow/path"),
        ("postgresql://ann:p%40ss@db/runs?sslpassword=x", "postgresql://***@db/runs?***"),
        ("mysql://ann:pa/ss@db/runs", "mysql://***@db/runs"),
    ],
)
def test_an_address_that_was_told_is_shown_without_its_secrets(uri: str, shown: str) -> None:
    hide(uri)
    assert redacted(uri) == shown
    assert redacted(f"cannot reach {uri}.") == f"cannot reach {shown}."


def test_a_password_that_was_told_is_hidden_wherever_it_stands_as_typed_and_decoded() -> None:
    hide("postgresql://ann:b%40ttery@db/runs")
    assert redacted("password b@ttery refused for b%40ttery") == "password *** refused for ***"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("no host at ray://u:pw@head:10001", "no host at ray://***@head:10001"),
        ("no study at s3:/u:pw@bucket/study", "no study at s3:/***@bucket/study"),
        ("GET /?access_token=abc&page=2", "GET /?access_token=***&page=2"),
        ("sent Authorization: Bearer abc.def-123", "sent Authorization: Bearer ***"),
        ("sent Authorization: Basic YW5uOnB3", "sent Authorization: Basic ***"),
        ("GET /?token=12345678&page=2", "GET /?token=***&page=2"),
        ("--db.password=0123 API_KEY=77", "--db.password=*** API_KEY=***"),
        ("auth_token_v2=abc-1.5", "auth_token_v2=***"),
        ("auth_token_v2=1.5abc", "auth_token_v2=***"),
        ("secret_tokens=abc token_secret=12", "secret_tokens=*** token_secret=***"),
        ("auth_token_v2=15,abc", "auth_token_v2=***"),
        ("max_tokens=512 with token_dropout=0.1, 2 lines", "max_tokens=512 with token_dropout=0.1, 2 lines"),
        ("token_size=-1e-3; token_share=.5", "token_size=-1e-3; token_share=.5"),
        ("f(token_dropout=0.1)", "f(token_dropout=0.1)"),
        ("--set data.corpus.tokens=tokens", "--set data.corpus.tokens=tokens"),
        ("mail ann@work, see http://a/b", "mail ann@work, see http://a/b"),
        ("the basic idea of 3 words", "the basic idea of 3 words"),
    ],
)
def test_an_address_that_nobody_told_is_known_by_its_form(text: str, shown: str) -> None:
    assert redacted(text) == shown
    assert redacted(shown) == shown


def test_what_the_environment_calls_secret_is_hidden_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    hidden = ("MLFLOW_TRACKING_TOKEN", "AWS_SECRET_ACCESS_KEY", "PGPASSWORD", "MYSQL_PWD", "HF_TOKEN")
    for number, name in enumerate(hidden):
        monkeypatch.setenv(name, f"very-private-{number}")
    monkeypatch.setenv("TOKENIZERS_PARALLELISM", "perfectly-public")
    monkeypatch.setenv("RAY_AUTH_TOKEN_PATH", "/home/ann/token")
    monkeypatch.setenv("GITHUB_TOKEN", "true")
    text = " ".join(f"very-private-{number}" for number in range(5)) + " perfectly-public /home/ann/token true"
    assert redacted(text) == "*** *** *** *** *** perfectly-public /home/ann/token true"


def test_an_error_of_someone_elses_is_told_without_them() -> None:
    error = RuntimeError("connection to\nhttps://ann:pw@host failed")
    assert one_line(error) == "RuntimeError: connection to https://***@host failed"


@pytest.mark.parametrize(
    ("address", "written"),
    [
        ("http://ann:p4ssword@host:5000/mlflow?key=v4lue", "http://host:5000/mlflow"),
        ("https://host/of/ann@team", "https://***@team"),
        ("postgresql://ann:p4ss/w0rd@host:5432/runs?sslmode=require", "postgresql://host:5432/runs"),
        ("sqlite:////home/ann@work/runs.db", "sqlite:////home/ann@work/runs.db"),
        ("http://127.0.0.1:5000", "http://127.0.0.1:5000"),
    ],
)
def test_what_is_written_down_of_an_address_has_no_secrets(address: str, written: str) -> None:
    assert without_secrets(address) == written
