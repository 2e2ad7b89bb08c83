"""Proposals from the space of all families of networks can be built and trained."""

from collections import Counter

import numpy as np
import pytest
import torch

from skipstack.data.corpora.synthetic.grammar import GrammarCorpus
from skipstack.data.store.batches import training_batches
from skipstack.data.store.prepared import prepare
from skipstack.data.store.stored import StoredCorpus, open_store
from skipstack.data.store.writing import store
from skipstack.models.configs.inputs import LONGEST_AFFIX
from skipstack.models.layers.lanes import Lane
from skipstack.models.training.loop import Training
from skipstack.search.strategy.proposers.proposer import Proposer, Random
from skipstack.search.strategy.proposers.tpe import Tpe
from skipstack.search.study.preparation import needs
from skipstack.search.study.study_files.study_file import load_study
from skipstack.spaces.space import Point, Space

STUDY, _ = load_study("flagship")
SPACE = Space(STUDY.space)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> StoredCorpus:
    folder = tmp_path_factory.mktemp("corpus")
    return open_store(store(GrammarCorpus(train=40, dev=5, test=5), root=folder, data_dir=None, folder=folder))


def trains(space: Space, point: Point, corpus: StoredCorpus, seed: int) -> None:
    """Check that one training step of a config of full size gives finite weights."""
    config = space.config(point)
    run = Training(
        model=config.model,
        training=config.training.model_copy(update={"batch_size": 4}),
        corpus=prepare(corpus, config.data, LONGEST_AFFIX),
        lanes=[Lane(seed=seed)],
        order_seed=0,
        device=torch.device("cpu"),
    )
    run.model.train()
    batch = next(training_batches(corpus.splits["train"], batch_size=4, order_seed=0, lane_seeds=[seed], epoch=0))
    before = {name: weight.clone() for name, weight in run.model.state_dict().items()}
    loss, _ = run.step(batch)
    after = run.model.state_dict()
    assert loss.isfinite().all()
    assert all(weight.isfinite().all() for weight in after.values())
    assert any(not torch.equal(before[name], after[name]) for name in before)


def walk(proposer: Proposer, count: int, corpus: StoredCorpus) -> Counter[str]:
    """Ask for a trial, train it for a step and report a made-up score, ``count`` times. Returns the number of trials by
    family.
    """
    random, families = np.random.default_rng(1), Counter[str]()
    for number in range(count):
        point = proposer.ask(number)
        assert point is not None
        proposer.proposed(number, point)
        trains(SPACE, point, corpus, number)
        stack = SPACE.config(point).model.stack
        families[stack.kind if stack.kind == "feedback" or stack.skip is None else stack.skip.kind] += 1
        proposer.ended(number, "completed", ((1, float(random.random())),))
    return families


def test_the_space_holds_every_family_and_its_base(corpus: StoredCorpus) -> None:
    assert SPACE.contains(STUDY.space.base)
    assert len(needs(STUDY.space)) == 1
    families = walk(Random(SPACE, seed=3), 12, corpus)
    assert families["recurrent"]


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("proposer", [Random, Tpe])
def test_five_hundred_proposals_build_and_train_a_step(proposer: type[Random | Tpe], corpus: StoredCorpus) -> None:
    families = walk(proposer(SPACE, seed=5), 500, corpus)
    assert set(families) == {"recurrent", "feedback", "fixed", "attention", "dynamic"}
    assert min(families.values()) > 5
