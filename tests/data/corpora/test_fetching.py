"""Corpora are fetched whole or not at all, from where their cards say, against a server on this machine."""

import errno
import hashlib
import io
import os
import random
from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from zipfile import ZipFile

import pytest

# The commands and study files bind the real table of corpora before a test puts another in its place.
import skipstack.dashboards.commands.corpora
import skipstack.data.corpora.downloads
import skipstack.data.corpora.named
import skipstack.search.study.study_files.settings
from skipstack.data.corpora import origins
from skipstack.data.corpora.cards import Card, FileCard, FileListCard, FilesCard
from skipstack.data.corpora.config import NamedCorpus
from skipstack.data.corpora.downloads import CHUNK, download
from skipstack.data.corpora.fetching import MIRROR, downloads
from skipstack.data.corpora.named import find_card, named_corpora
from skipstack.data.corpora.origins import Archive, Repository
from skipstack.data.formats.sentences import SPLITS
from tests.command_line import refusal, typed
from tests.data.corpora.serving import Server, serving
from tests.splits import read_splits

SIZE = 300_000
"""Bytes of each file: several times what is written at once."""


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def text(split: str) -> bytes:
    """Column files of ``pmb-ccg-en``'s format, another one for each split."""
    words = random.Random(split)
    lines = iter(lambda: "\t".join([f"w{words.random()}"] * 2 + ["_", "_", "NP", "_", "_"]), "")
    return "".join(f"{next(lines)}\n\n" for _ in range(SIZE // 60)).encode()


CONTENTS = {split: text(split) for split in SPLITS}


@pytest.fixture(scope="module")
def running() -> Iterator[Server]:
    with serving() as server:
        yield server


@pytest.fixture
def server(running: Server, monkeypatch: pytest.MonkeyPatch) -> Server:
    """The server as if nothing had happened, in the place of GitHub's."""
    monkeypatch.setattr(origins, "RAW", running.address)
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    running.files, running.breaks, running.ranges, running.asked = {}, [], True, []
    return running


def plant(monkeypatch: pytest.MonkeyPatch, name: str, **fields: object) -> Card:
    """The card ``name`` with other files, as if it were the only one."""
    files = {split: FileCard(name=f"{split}.conll", sha256=sha256(CONTENTS[split])) for split in SPLITS}
    card = find_card(name).model_copy(update={"files": files, **fields})
    monkeypatch.setattr(skipstack.data.corpora.named, "named_corpora", lambda: {name: card})
    return card


@pytest.fixture
def card(server: Server, monkeypatch: pytest.MonkeyPatch) -> Card:
    """A corpus with an open licence, whose files the server has."""
    planted = plant(monkeypatch, "pmb-ccg-en")
    assert isinstance(planted.origin, Repository)
    start = f"/RikVN/DRS_parsing/{planted.origin.commit}/parsing/layer_data/4.0.0/en/gold"
    server.files = {f"{start}/{split}.conll": content for split, content in CONTENTS.items()}
    return planted


def fetched(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


WHOLE = {f"{split}.conll": content for split, content in CONTENTS.items()}


def test_what_is_fetched_is_found_by_every_command_without_a_word_of_where(
    card: Card, server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SKIPSTACK_DATA_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    folder = tmp_path / "skipstack" / "corpora" / card.folder
    missing = f"got no folder {folder} (allowed: `skipstack data fetch pmb-ccg-en` first, or --data-dir DIR)"
    assert missing in refusal("data", "check", "pmb-ccg-en")
    answer = typed("data", "fetch", "pmb-ccg-en")
    assert (answer.code, answer.out) == (0, f"{folder}\n"), answer
    assert answer.error.startswith("pmb-ccg-en: RikVN/DRS_parsing at 190838f9adea, parsing/")
    assert "licence: MIT, as published with the extraction\n" in answer.error
    assert fetched(folder) == WHOLE
    assert server.asked == [(path, 0) for path in server.files]
    splits = read_splits(NamedCorpus(name="pmb-ccg-en"), data_dir=None, folder=tmp_path)
    assert {split: len(sentences) for split, sentences in splits.items()} == dict.fromkeys(SPLITS, SIZE // 60)
    assert typed("data", "check", "pmb-ccg-en").code == 0
    assert typed("data", "fetch", "pmb-ccg-en").code == 0
    assert len(server.asked) == 3, "what is there is not fetched again"


def fetch(folder: Path, *options: str) -> tuple[str, ...]:
    return ("data", "fetch", "pmb-ccg-en", "--data-dir", str(folder), *options)


@pytest.mark.parametrize("ranges", [True, False])
def test_a_download_that_breaks_off_goes_on(card: Card, server: Server, tmp_path: Path, ranges: bool) -> None:
    """At once as long as something comes, and else when the command is typed again."""
    server.ranges = ranges
    server.breaks = [6 * CHUNK, 3 * CHUNK, *([0] if ranges else [])]
    answer = typed(*fetch(tmp_path))
    here = 9 * CHUNK if ranges else 3 * CHUNK
    assert answer.code == 2
    assert f"train.conll: the connection failed (ChunkedEncodingError); {here:,} bytes are kept, and" in answer.error
    assert [path.suffix for path in (tmp_path / card.folder).iterdir()] == [".part"]
    assert typed(*fetch(tmp_path)).code == 0
    assert fetched(tmp_path / card.folder) == WHOLE
    first = [start for path, start in server.asked if path.endswith("train.conll")]
    assert first == ([0, 6 * CHUNK, here, here] if ranges else [0, 6 * CHUNK, here])


def test_two_fetches_at_once_download_a_file_once(card: Card, server: Server, tmp_path: Path) -> None:
    folder = tmp_path / card.folder
    (wanted, *_) = downloads(card, None)
    second: list[Thread] = []

    def watch(*_: object) -> None:
        if not second:
            second.append(Thread(target=download, args=(wanted, folder, lambda *_: None)))
            second[0].start()
            second[0].join(0.3)  # where nothing held it up, it would ask for the file meanwhile

    download(wanted, folder, watch)
    second[0].join()
    assert [start for _, start in server.asked] == [0]
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == {"train.conll": CONTENTS["train"]}


def test_a_file_that_is_complete_but_for_its_name_is_taken(card: Card, server: Server, tmp_path: Path) -> None:
    folder = tmp_path / card.folder
    folder.mkdir()
    (folder / f".train.conll.{sha256(CONTENTS['train'])[:12]}.part").write_bytes(CONTENTS["train"])
    assert typed(*fetch(tmp_path)).code == 0
    assert fetched(folder) == WHOLE
    assert server.asked[0][1] == len(CONTENTS["train"])


def test_another_file_than_the_one_on_the_card_is_not_kept(card: Card, server: Server, tmp_path: Path) -> None:
    path = next(path for path in server.files if path.endswith("dev.conll"))
    server.files[path] = server.files[path][::-1]
    folder = tmp_path / card.folder
    folder.mkdir()
    (folder / "dev.conll").write_bytes(b"damaged")
    said = typed(*fetch(tmp_path)).error.splitlines()[-1]
    digest = sha256(CONTENTS["dev"])[:12]
    assert (
        said
        == f"skipstack: {server.address}{path}: gives another file than dev.conll of sha256 {digest}; it was not kept"
    )
    assert fetched(folder) == {"train.conll": CONTENTS["train"], "dev.conll": b"damaged"}
    server.files[path] = CONTENTS["dev"]
    assert typed(*fetch(tmp_path)).code == 0
    assert fetched(folder) == WHOLE


def test_a_file_that_the_server_lacks_is_told(card: Card, server: Server, tmp_path: Path) -> None:
    path = next(iter(server.files))
    del server.files[path]
    said = typed(*fetch(tmp_path)).error.splitlines()[-1]
    assert said == f"skipstack: {server.address}{path}: got 404 Not Found (allowed: an address that has train.conll)"
    assert fetched(tmp_path / card.folder) == {}


def test_a_mirror_is_a_data_directory_that_a_server_shows(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may have what skipstack does not fetch from elsewhere. The train of this corpus is two files."""
    single = {split: FileCard(name=f"{split}.conll", sha256=sha256(CONTENTS[split])) for split in SPLITS}
    listed = {"train": FileListCard(files=(single["train"], single["dev"])), "test": single["test"]}
    card = plant(monkeypatch, "atis", files=listed)
    server.files = {f"/our/corpora/{card.folder}/{name}": content for name, content in WHOLE.items()}
    monkeypatch.setenv(MIRROR, f"{server.address}/our/corpora/")
    command = ("data", "fetch", "atis", "--data-dir", tmp_path)
    assert "its licence is not open: none stated with these files; ATIS is LDC data" in refusal(*command)
    assert typed(*command, "--accept-licence").code == 0
    assert fetched(tmp_path / card.folder) == WHOLE
    monkeypatch.setenv(MIRROR, "/our/corpora")
    assert "SKIPSTACK_DATA_MIRROR: got '/our/corpora' (allowed: an address, http" in refusal(*command)


def test_a_licence_that_is_not_open_is_accepted_first(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packed = io.BytesIO()
    with ZipFile(packed, "w") as opened:
        for name, content in {**WHOLE, "README": b"for research"}.items():
            opened.writestr(f"treebank/{name}", content)
    content = packed.getvalue()
    origin = find_card("wsj-sample").origin
    assert isinstance(origin, Repository)
    joint = sha256("".join(f"{sha256(CONTENTS[split])}  {split}.conll\n" for split in ("train",)).encode())
    files = {
        "train": FilesCard(name="train.conll", first=1, last=1, sha256=joint),
        **{split: FileCard(name=f"{split}.conll", sha256=sha256(CONTENTS[split])) for split in ("dev", "test")},
    }
    archived = origin.model_copy(update={"archive": Archive(name="sample.zip", sha256=sha256(content))})
    card = plant(monkeypatch, "wsj-sample", files=files, origin=archived)
    server.files = {f"/nltk/nltk_data/{origin.commit}/packages/corpora/sample.zip": content}
    command = ("data", "fetch", "wsj-sample", "--data-dir", tmp_path)
    assert refusal(*command) == (
        "skipstack: wsj-sample: its licence is not open: non-commercial use only, (C) LDC 1995 "
        "(allowed: --accept-licence, if you may)\n"
    )
    assert server.asked == []
    assert list(tmp_path.iterdir()) == []
    assert typed(*command, "--accept-licence").code == 0
    assert fetched(tmp_path / card.folder) == {**WHOLE, "sample.zip": content}


@pytest.mark.parametrize("name", ["wsj", "ccgbank", "atis", "conll2003", "ptb-lm", "imdb"])
def test_what_may_not_be_fetched_says_in_one_line_who_has_it(name: str, tmp_path: Path) -> None:
    said = refusal("data", "fetch", name, "--accept-licence", "--data-dir", tmp_path)
    card = named_corpora()[name]
    assert said == (
        f"skipstack: {name} cannot be fetched: {card.obtain} "
        f"(allowed: its files in {card.folder}/ of the data directory)\n"
    )
    assert any(where in said for where in ("catalog.ldc.upenn.edu", "trec.nist.gov", "ai.stanford.edu"))
    assert f"({card.obtain}; allowed: --data-dir DIR, where DIR" in refusal("data", "check", name)


def test_a_folder_that_may_not_be_made_is_told_with_the_reason(
    card: Card, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: str, **_: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", path)

    monkeypatch.setattr(os, "makedirs", refuse)
    answer = typed(*fetch(tmp_path))
    assert answer.error.endswith(f"{tmp_path / card.folder}: cannot be written (Permission denied)\n")


def test_a_lock_that_another_user_left_is_named(card: Card, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(lock: Path) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", str(lock))

    monkeypatch.setattr(skipstack.data.corpora.downloads, "alone", refuse)
    answer = typed(*fetch(tmp_path))
    assert answer.error.endswith(".lock: cannot be written (Permission denied)\n")
    assert f"{tmp_path / card.folder}/.train.conll." in answer.error
