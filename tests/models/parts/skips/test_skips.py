"""Layers that skip against their twins, their gradients, and what their policies learn from."""

from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pytest
import torch
from pydantic import ValidationError
from torch import Tensor, nn

from skipstack.data.basis.seeding import derive
from skipstack.data.tasks.tasks import TASKS
from skipstack.models.configs.model import ModelConfig
from skipstack.models.configs.skips import AttentionSkipConfig, DynamicSkipConfig, FixedSkipConfig
from skipstack.models.kernels.skip_loop import SkipLoop
from skipstack.models.layers.lanes import Lane, Streams
from skipstack.models.layers.layer import Choices, LayerSizes
from skipstack.models.networks.build import Sizes, build
from skipstack.models.networks.model import Stacked, Tokens
from skipstack.models.parts.cells.lstm import LstmCell
from skipstack.models.parts.heads.base import Gold
from skipstack.models.parts.inputs.base import LexiconTensors
from skipstack.models.parts.skips.layers import AttentionSkipLstm, DynamicSkipLstm, FixedSkipLstm
from skipstack.models.parts.skips.policy import Policy
from skipstack.models.parts.skips.reinforce import DECAY, Made, Reinforce, Rewards
from tests.models.corpora import small_corpus
from tests.oracles import skips

LANES, DIRECTIONS, STEPS, TEXTS, BELOW, HIDDEN, REACH = 2, 2, 7, 3, 4, 5, 3
GROUPS = LANES * DIRECTIONS
SIZES = LayerSizes(lanes=LANES, directions=DIRECTIONS, below=BELOW, hidden=HIDDEN)
SHARES = (0.3, 0.8)
LANE = Lane(seed=0)
CPU = torch.device("cpu")
CORPUS = small_corpus()
LEXICON = LexiconTensors.on(CPU, CORPUS.lexicon)


def random(*shape: int, seed: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def filled(module: nn.Module) -> Any:
    for name, parameter in module.named_parameters():
        parameter.data = random(*parameter.shape, seed=derive(5, name) % 2**31)
    return module.double()


def of_group(module: nn.Module, group: int) -> dict[str, Any]:
    return {name: p.detach().flatten(0, 1)[group].numpy() for name, p in module.named_parameters(recurse=False)}


def dynamic(**changed: Any) -> DynamicSkipLstm:
    config = DynamicSkipConfig(reach=REACH, policy_hidden=6, **changed)
    layer: DynamicSkipLstm = filled(DynamicSkipLstm(SIZES, config, SHARES, Streams(range(LANES), "skips", CPU)))
    return layer


def close(ours_GTBH: Tensor, twin: Callable[[int, list[Any]], list[Any]], x_GTBI: Tensor) -> None:
    for group, text in product(range(GROUPS), range(TEXTS)):
        expected = np.stack(twin(group, list(x_GTBI[group, :, text].numpy())))
        assert np.abs(ours_GTBH[group, :, text].detach().numpy() - expected).max() < 1e-10


def of_sentences(reward_RB: Tensor) -> Rewards:
    """Rewards of sentences of one decision each."""
    return Rewards(reward_RB.unsqueeze(1), torch.ones_like(reward_RB).unsqueeze(1))


def made_by(choices: Choices | None) -> list[Made]:
    assert choices is not None
    return [Made(choices, seen_before=False)]


@pytest.mark.parametrize("share", [1.0, 0.3, 0.0])
def test_a_fixed_skip_reads_the_state_k_steps_back_and_for_the_rest_the_previous_one(share: float) -> None:
    layer = filled(FixedSkipLstm(SIZES, FixedSkipConfig(reach=REACH, previous_share=1 - share)))
    x = random(GROUPS, STEPS, TEXTS, BELOW, seed=1)

    def mix(_: int, latest: list[skips.State]) -> skips.State:
        return skips.mean([1 - share, share], [latest[0], latest[-1]])

    close(layer.run(x).output_GTBF, lambda group, xs: skips.skipping(of_group(layer.cell, group), xs, REACH, mix), x)


def likelihoods(addressing: str, policy: skips.Weights, step: int, x: Any, h: Any) -> Any:
    if addressing == "place":
        return skips.place_distribution(policy, step, x, h, REACH)
    return skips.distribution(policy, x, h)


@pytest.mark.parametrize("addressing", ["distance", "place"])
def test_attention_reads_the_mean_of_the_last_states(addressing: Any) -> None:
    config = AttentionSkipConfig(reach=REACH, policy_hidden=6, addressing=addressing)
    layer = filled(AttentionSkipLstm(SIZES, config))
    x = random(GROUPS, STEPS, TEXTS, BELOW, seed=2)

    def twin(group: int, xs: list[Any]) -> list[Any]:
        policy = of_group(layer.policy, group)

        def mix(step: int, latest: list[skips.State]) -> skips.State:
            return skips.mean(likelihoods(addressing, policy, step, xs[step], latest[0][0]), latest)

        return skips.skipping(of_group(layer.cell, group), xs, REACH, mix)

    close(layer.run(x).output_GTBF, twin, x)


@pytest.mark.parametrize("addressing", ["distance", "place"])
def test_without_training_the_likeliest_state_is_mixed_with_the_previous_one(addressing: str) -> None:
    layer = dynamic(addressing=addressing).eval()
    x = random(GROUPS, STEPS, TEXTS, BELOW, seed=3)
    taken = set()

    def twin(group: int, xs: list[Any]) -> list[Any]:
        policy, share = of_group(layer.policy, group), SHARES[group // DIRECTIONS]

        def mix(step: int, latest: list[skips.State]) -> skips.State:
            action = int(likelihoods(addressing, policy, step, xs[step], latest[0][0]).argmax())
            taken.add(action)
            return skips.mean([share, 1 - share], [latest[action], latest[0]])

        return skips.skipping(of_group(layer.cell, group), xs, REACH, mix)

    unrolled = layer.run(x)
    close(unrolled.output_GTBF, twin, x)
    assert unrolled.choices is not None
    assert taken == set(range(REACH)) == set(unrolled.choices.back_GTB.flatten().tolist())
    given = unrolled.choices.log_probabilities().argmax(dim=-1)
    assert torch.equal(given, unrolled.choices.back_GTB)


def test_a_policy_that_stays_with_the_previous_state_is_the_lstm() -> None:
    layer = dynamic().eval()
    layer.policy.bias_output.data[..., 0] = 1e6
    x = random(GROUPS, STEPS, TEXTS, BELOW, seed=4)
    assert (layer.run(x).output_GTBF - layer.cell.run(x).output_GTBF).abs().max() < 1e-12


@pytest.mark.slow
def test_the_loops_gradients_equal_central_differences() -> None:
    pre, weight = random(2, 4, 2, 12, seed=5), random(2, 3, 12, seed=6)
    start, back = random(REACH, 2, 2, 6, seed=7), torch.randint(0, REACH, (4, 2, 2))
    inputs = [each.requires_grad_() for each in (pre, weight, start)]
    share = torch.tensor([0.4, 1.0], dtype=torch.float64)
    assert torch.autograd.gradcheck(
        lambda *given: SkipLoop.apply(*given, share, lambda step, _: back[step])[0],  # type: ignore[no-untyped-call]
        inputs,
    )


def test_choices_are_drawn_from_the_policys_distribution() -> None:
    sizes = LayerSizes(lanes=1, directions=1, below=2, hidden=3)
    layer = filled(DynamicSkipLstm(sizes, DynamicSkipConfig(reach=4, policy_hidden=3), [0.5], Streams([1], "s", CPU)))
    choices = layer.train().run(random(1, 1, 1, 2, seed=8).expand(-1, -1, 40_000, -1)).choices
    frequency = choices.back_GTB.flatten().bincount(minlength=4) / 40_000
    expected = choices.log_probabilities()[0, 0, 0].exp().detach()
    assert expected.min() > 0.02
    assert (frequency - expected).abs().max() < 0.01  # more than three standard errors


def test_where_the_config_says_so_actions_are_drawn_at_test_too() -> None:
    x = random(GROUPS, STEPS, TEXTS, BELOW, seed=9)
    drawn, likeliest = dynamic(test_action="sample").eval(), dynamic().eval()
    assert not torch.equal(drawn.run(x).output_GTBF, drawn.run(x).output_GTBF)
    assert torch.equal(likeliest.run(x).output_GTBF, likeliest.run(x).output_GTBF)


def test_the_expected_gradient_is_the_gradient_of_the_expected_reward() -> None:
    """Every sequence of actions is taken once, weighed by its probability: no sampling, no tolerance but rounding."""
    sizes = LayerSizes(lanes=1, directions=1, below=2, hidden=2)
    cell, policy = filled(LstmCell(sizes)), filled(Policy(sizes, units=3, reach=REACH))
    x, readout = random(1, 4, 1, 2, seed=10), random(2, seed=11)
    reinforce = Reinforce(DynamicSkipConfig(reach=REACH, entropy_weight=0.0), [LANE]).double().eval()
    reinforce.average_R.fill_(0.7 * 0.01)  # a baseline of 0.7, which must change nothing
    reinforce.weight_R.fill_(0.01)
    share = torch.tensor([0.6], dtype=torch.float64)
    expected_reward, expected_objective = torch.zeros(()).double(), torch.zeros(()).double()
    for actions in product(range(REACH), repeat=4):
        back = torch.tensor(actions).view(4, 1, 1)
        with torch.no_grad():
            (pre,) = cell.project(x, None)
            start = torch.zeros(REACH, 1, 1, 4, dtype=torch.float64)
            states, _ = SkipLoop.apply(  # type: ignore[no-untyped-call]
                pre, cell.recurrent_weight(), start, share, lambda step, _, back=back: back[step]
            )
        before = states[REACH - 1 : -1, ..., :2].transpose(0, 1)
        reward = torch.tanh(states[-1, 0, 0, :2] @ readout)
        choices = Choices(back.transpose(0, 1), partial(policy.log_probabilities, x, before))
        steps = choices.log_probabilities()[0, torch.arange(4), 0, back.flatten()]
        expected_reward = expected_reward + steps.sum().exp() * reward
        objective = reinforce(made_by(choices), of_sentences(reward.view(1, 1)), torch.tensor([[4]]))
        expected_objective = expected_objective + steps.sum().exp().detach() * objective.sum()
    parameters = list(policy.parameters())
    exact = torch.autograd.grad(expected_reward, parameters)
    ours = torch.autograd.grad(expected_objective, parameters)
    assert max(gradient.abs().max() for gradient in exact) > 1e-3
    for one, other in zip(exact, ours, strict=True):
        assert (one - other).abs().max() < 1e-8


@pytest.mark.parametrize("reaches", ["policy", "network"])
def test_the_expected_step_is_the_gradient_of_the_expected_loss_as_far_as_the_config_says(reaches: Any) -> None:
    """Of all parameters, those of the cell and what is below included, where the network takes part."""
    sizes, steps = LayerSizes(lanes=1, directions=1, below=2, hidden=2), 4
    config = DynamicSkipConfig(reach=REACH, policy_hidden=3, entropy_weight=0, baseline="none", gradient=reaches)
    layer = filled(DynamicSkipLstm(sizes, config, [0.6], Streams([0], "skips", CPU)))
    reinforce = Reinforce(config, [LANE]).double()
    x, readout = random(1, steps, 1, 2, seed=10).requires_grad_(), random(2, seed=11)
    expected_loss, expected_step = torch.zeros(()).double(), torch.zeros(()).double()
    for actions in product(range(REACH), repeat=steps):
        back = torch.tensor(actions).view(steps, 1, 1)
        layer.policy.chooser = lambda below, noise, back=back: lambda step, before: back[step]
        taken = layer.run(x)
        loss = torch.nn.functional.softplus(taken.output_GTBF[0, -1, 0] @ readout)
        before = torch.cat([torch.zeros(1, 1, 1, 2), taken.output_GTBF[:, :-1]], dim=1)
        log_p = layer.policy.logits(x, before).log_softmax(dim=-1)[0, torch.arange(steps), 0, back.flatten()].sum()
        expected_loss = expected_loss + log_p.exp() * loss
        objective = reinforce(made_by(taken.choices), of_sentences(-loss.view(1, 1)), torch.tensor([[steps]]))
        expected_step = expected_step + log_p.exp().detach() * (loss - objective.sum())
    parameters = {**dict(layer.named_parameters()), "x": x}
    exact = torch.autograd.grad(expected_loss, list(parameters.values()), retain_graph=True)
    ours = torch.autograd.grad(expected_step, list(parameters.values()))
    for name, one, other in zip(parameters, exact, ours, strict=True):
        assert one.abs().max() > 1e-4, name
        assert ((one - other).abs().max() < 1e-8) == (reaches == "network" or "policy" in name), name


def test_entropy_is_summed_over_the_steps_of_a_text_and_weighed() -> None:
    layer = dynamic(entropy_weight=0.3).train()
    choices = layer.run(random(GROUPS, STEPS, TEXTS, BELOW, seed=12)).choices
    assert choices is not None
    lengths = torch.tensor([[7, 2, 4], [1, 5, 7]])
    reinforce = Reinforce(layer.config, [LANE] * LANES).double()
    nothing = torch.zeros(LANES, TEXTS, dtype=torch.float64)  # won, and nothing lost
    objective = reinforce(made_by(choices), of_sentences(nothing), lengths)
    p = choices.log_probabilities().exp().detach().numpy().reshape(LANES, DIRECTIONS, STEPS, TEXTS, REACH)
    entropy = -(p * np.log(p)).sum(axis=-1)
    for lane, text in product(range(LANES), range(TEXTS)):
        expected = 0.3 * entropy[lane, :, : lengths[lane, text], text].sum()
        assert abs(objective[lane, text].item() - expected) < 1e-10


def test_entropy_is_worth_less_with_every_epoch() -> None:
    layer = dynamic(entropy_weight=0.3, entropy_decay=0.5).train()
    choices = layer.run(random(GROUPS, STEPS, TEXTS, BELOW, seed=12)).choices
    assert choices is not None
    lengths, nothing = torch.full((LANES, TEXTS), STEPS), torch.zeros(LANES, TEXTS, dtype=torch.float64)
    reinforce, found = Reinforce(layer.config, [LANE] * LANES).double(), []
    for epoch in range(4):
        reinforce.begin(epoch)
        found.append(reinforce(made_by(choices), of_sentences(nothing), lengths).detach())
    assert found[0].abs().min() > 0.1
    for epoch, value in enumerate(found):
        assert torch.allclose(value, found[0] / 2**epoch, rtol=1e-12)


def test_the_moving_average_weighs_late_rewards_most_and_holds_each_against_those_before() -> None:
    reinforce = Reinforce(DynamicSkipConfig(reach=REACH), [LANE]).double()
    rewards = random(5, 1, 8, seed=13)
    seen: list[float] = []
    for reward in rewards:
        weights = DECAY ** np.arange(len(seen))[::-1]
        expected = float((weights * seen).sum() / weights.sum()) if seen else 0.0
        assert abs(reinforce._baseline().item() - expected) < 1e-12
        reinforce([], of_sentences(reward), torch.ones(1, 8))
        reinforce.eval()([], of_sentences(reward + 1), torch.ones(1, 8))  # where nothing is learnt, nothing is taken in
        reinforce.train()
        seen.append(reward.mean().item())


def test_without_a_baseline_rewards_are_held_against_nothing() -> None:
    reinforce = Reinforce(DynamicSkipConfig(reach=REACH, baseline="none"), [LANE]).double()
    for reward in random(3, 1, 8, seed=13):
        reinforce([], of_sentences(reward), torch.ones(1, 8))
    assert reinforce._baseline().item() == 0


def test_long_sentences_are_held_against_long_ones() -> None:
    """Each of their tags earned as much as each of the others': there is nothing to learn from either."""
    layer, lengths = dynamic(entropy_weight=0).train(), torch.tensor([[7, 2, 4], [1, 5, 7]])
    inside = (torch.arange(STEPS).view(1, -1, 1) < lengths.unsqueeze(1)).double()
    reinforce, rewards = Reinforce(layer.config, [LANE] * LANES).double(), Rewards(-0.8 * inside, inside)
    learnt = []
    for given in (rewards, rewards, rewards.whole()):
        layer.zero_grad()
        made = made_by(layer.run(random(GROUPS, STEPS, TEXTS, BELOW, seed=12)).choices)
        reinforce(made, given, lengths).sum().backward()
        learnt.append(max(float(each.grad.abs().max()) for each in layer.policy.parameters()))
    assert learnt[0] > 0.1
    assert max(learnt[1:]) < 1e-12


@pytest.mark.parametrize(("seen_before", "to_go"), [(False, True), (True, True), (False, False)])
def test_a_step_is_credited_with_the_tags_from_there_on_in_its_directions_order_or_with_all(
    seen_before: bool, to_go: bool
) -> None:
    layer, lengths = dynamic(entropy_weight=0, reward_to_go=to_go).eval(), torch.tensor([[7, 2, 4], [1, 5, 7]])
    choices = layer.run(random(GROUPS, STEPS, TEXTS, BELOW, seed=12)).choices
    assert choices is not None
    log_p = choices.log_probabilities().detach().requires_grad_()
    made = Made(Choices(choices.back_GTB, lambda: log_p), seen_before=seen_before)
    inside = (torch.arange(STEPS).view(1, -1, 1) < lengths.unsqueeze(1)).double()
    earned = random(LANES, STEPS, TEXTS, seed=15) * inside
    Reinforce(layer.config, [LANE] * LANES).double()([made], Rewards(earned, inside), lengths).sum().backward()
    assert log_p.grad is not None
    credit = log_p.grad.gather(-1, choices.back_GTB.unsqueeze(-1)).view(LANES, DIRECTIONS, STEPS, TEXTS)
    for lane, direction, text in product(range(LANES), range(DIRECTIONS), range(TEXTS)):
        own = list(earned[lane, : lengths[lane, text], text].numpy())[:: -1 if direction else 1]
        expected = [sum(own[step:]) if to_go and not seen_before else sum(own) for step in range(len(own))]
        assert np.abs(credit[lane, direction, : len(own), text].numpy() - expected).max() < 1e-12
        assert not credit[lane, direction, len(own) :, text].any()


NETWORK = {
    "embedder": {"word_size": 6, "capital_size": 0, "affix_characters": 0, "window": 0, "dropout": 0.0},
    "stack": {"depth": 1, "hidden": 5, "dropout": 0.0, "skip": {"kind": "dynamic", "reach": 3, "policy_hidden": 4}},
    "initial_scale": 1.0,
}


def test_a_policy_may_start_as_nearly_that_of_an_lstm() -> None:
    stack = NETWORK["stack"] | {"skip": NETWORK["stack"]["skip"] | {"previous_bias": 3.0}}
    model, _, _ = tagger(NETWORK | {"stack": stack}, Lane(seed=0))
    even, _, _ = tagger(NETWORK, Lane(seed=0))
    ours, theirs = (m.stack.layers[0].policy for m in (model, even))
    assert torch.equal(ours.bias_output - theirs.bias_output, torch.tensor([3.0, 0, 0]).double().expand(1, 2, 3))
    assert torch.equal(ours.output, theirs.output)


def tagger(config: dict[str, Any], *lanes: Lane, task: Any = "tagging") -> tuple[Stacked, Tokens, Gold]:
    sizes = Sizes.of(CORPUS.vocabulary, CORPUS.stored.tags, task=TASKS[task])
    model, _ = build(ModelConfig.model_validate(config), sizes=sizes, lanes=lanes, dtype=torch.float64, device=CPU)
    assert isinstance(model, Stacked)
    generator = torch.Generator().manual_seed(14)
    forms = torch.randint(1, len(CORPUS.stored.forms), (1, 6, 4), generator=generator).expand(len(lanes), -1, -1)
    lengths = torch.tensor([[6, 3, 1, 5]]).expand(len(lanes), -1)
    shape = (1, 6 if task == "tagging" else 1, 4)
    tags = torch.randint(0, sizes.tags, shape, generator=generator).expand(len(lanes), -1, -1)
    if task == "tagging":
        tags = tags.where(torch.arange(6).view(1, -1, 1) < lengths.unsqueeze(1), -1)
    return model, Tokens(forms, lengths), Gold(tags)


@pytest.mark.first(3)
@pytest.mark.parametrize(
    ("stack", "head", "length"),
    [
        ({}, "softmax", 3),
        ({}, "crf", 2),
        ({"depth": 2, "composition": [0, 0], "directions": "forward"}, "softmax", 2),
        ({"depth": 2, "composition": [0, 1], "join": "each_layer"}, "softmax", 2),
    ],
    ids=["each direction by itself", "a head that decides at once", "two layers", "directions that meet"],
)
@pytest.mark.parametrize("as_printed", [False, True], ids=["to go, less a baseline", "gui2019 eq. 5"])
def test_a_step_is_credited_with_all_that_it_changes(
    stack: dict[str, Any], head: str, length: int, as_printed: bool
) -> None:
    """Every sequence of choices once, by its probability: the expected step is the gradient of the expected loss.

    So what a choice has an influence on is never left out, and what is left out, or held against it, is 0 on average.
    """
    skip = {"kind": "dynamic", "reach": 2, "policy_hidden": 3, "entropy_weight": 0, "gradient": "network"}
    if as_printed:
        skip |= {"baseline": "none", "reward_to_go": False}
    config = {**NETWORK, "stack": {**NETWORK["stack"], "hidden": 2, **stack, "skip": skip}, "head": {"kind": head}}
    model, _, _ = tagger(config, Lane(seed=6))
    filled(model).eval()
    assert model.reinforce is not None
    if not as_printed:
        model.reinforce.average_R.fill_(-0.7)
        model.reinforce.weight_R.fill_(1.0)
    choosing = [layer for layer in model.stack.cells if isinstance(layer, DynamicSkipLstm)]
    tokens = Tokens(torch.arange(1, length + 2).view(1, -1, 1), torch.tensor([[length]]))
    gold = Gold(torch.tensor([*range(length), -1]).view(1, -1, 1))
    directions = model.stack.directions
    expected_loss, expected_step = torch.zeros(()).double(), torch.zeros(()).double()
    for actions in product(range(2), repeat=directions * length * len(choosing)):
        chosen = torch.tensor(actions).view(len(choosing), length, directions, 1)
        for layer, own in zip(choosing, chosen, strict=True):
            back = torch.cat([own, torch.zeros_like(own[:1])])  # at padding, which nothing reads
            layer.policy.chooser = lambda below, noise, back=back: lambda step, before: back[step]
        passed: list[Any] = []
        loss = model.head.loss(model.read(tokens, LEXICON, passed)[0], gold, tokens.lengths_RB).sum()
        log_p = torch.zeros(()).double()
        for each, own in zip(passed, chosen, strict=False):
            log_GTBJ = each.unrolled.choices.log_probabilities()[:, :length]
            log_p = log_p + log_GTBJ.gather(-1, own.transpose(0, 1).unsqueeze(-1)).sum()
        expected_loss = expected_loss + log_p.exp() * loss
        expected_step = expected_step + log_p.exp().detach() * model.loss(tokens, gold, LEXICON).sum()
    parameters = dict(model.named_parameters())
    exact = torch.autograd.grad(expected_loss, list(parameters.values()), materialize_grads=True)
    ours = torch.autograd.grad(expected_step, list(parameters.values()), materialize_grads=True)
    assert max(each.abs().max() for name, each in zip(parameters, exact, strict=True) if "policy" in name) > 1e-3
    for name, one, other in zip(parameters, exact, ours, strict=True):
        assert (one - other).abs().max() < 1e-10, name


@pytest.mark.parametrize("task", ["tagging", "classification"])
@pytest.mark.parametrize("reward", ["log_likelihood", "correct"])
def test_a_lane_with_its_own_lambda_equals_the_lane_alone(reward: str, task: str) -> None:
    config = {**NETWORK, "stack": {**NETWORK["stack"], "skip": {**NETWORK["stack"]["skip"], "reward": reward}}}
    lanes = [Lane(seed=1, skip_share=0.2), Lane(seed=2, skip_share=1.0)]
    both, tokens, gold = tagger(config, *lanes, task=task)
    losses = [both.loss(tokens, gold, LEXICON) for _ in range(2)]
    sum(loss.sum() for loss in losses).backward()
    for number, lane in enumerate(lanes):
        solo, own, right = tagger(config, lane, task=task)
        alone = [solo.loss(own, right, LEXICON) for _ in range(2)]
        sum(loss.sum() for loss in alone).backward()
        for one, other in zip(losses, alone, strict=True):
            assert (one[number] - other[0]).abs().max() < 1e-10
        for (name, mine), theirs in zip(both.named_parameters(), solo.parameters(), strict=True):
            assert (mine.grad[number] - theirs.grad[0]).abs().max() < 1e-10, name


def test_the_loss_is_the_heads_and_only_the_policy_learns_from_the_reward() -> None:
    model, tokens, gold = tagger(NETWORK, Lane(seed=3))
    state = model.stack.dropout.streams.get_state()
    loss = model.loss(tokens, gold, LEXICON)
    loss.sum().backward()
    learnt = {name: parameter.grad for name, parameter in model.named_parameters()}
    model.zero_grad()
    model.stack.dropout.streams.set_state(state)
    reinforce, model.reinforce = model.reinforce, None
    plain = model.loss(tokens, gold, LEXICON)
    plain.sum().backward()
    assert torch.equal(loss, plain)
    assert reinforce is not None
    for name, parameter in model.named_parameters():
        if "policy" in name:
            assert parameter.grad is None
            assert learnt[name].abs().max() > 0, name
        else:
            assert torch.equal(parameter.grad, learnt[name]), name


def test_the_top_layer_alone_may_skip_and_forget_gates_may_start_open() -> None:
    stack = {**NETWORK["stack"], "depth": 2, "composition": [0, 0], "skipping": "top", "forget_bias": 1.5}
    model, _, _ = tagger({**NETWORK, "stack": stack}, Lane(seed=4))
    lower, upper = model.stack.cells
    assert isinstance(lower, LstmCell)
    assert isinstance(upper, DynamicSkipLstm)
    for cell in (lower, upper.cell):
        gates = cell.bias.view(2, 4, 5)
        assert (gates[:, 1] == 1.5).all()
        assert not gates[:, [0, 2, 3]].any()


@pytest.mark.parametrize(("head", "parts"), [("softmax", 6), ("crf", 1)])
@pytest.mark.parametrize("reward", ["log_likelihood", "correct"])
def test_tags_earn_their_own_part_of_the_reward_and_sentences_all_of_it(reward: str, head: str, parts: int) -> None:
    stack = {**NETWORK["stack"], "skip": {**NETWORK["stack"]["skip"], "reward": reward}}
    model, tokens, gold = tagger({**NETWORK, "stack": stack, "head": {"kind": head}}, Lane(seed=3), Lane(seed=4))
    features, counts = model.eval().read(tokens, LEXICON)
    losses = model.head.losses(features, gold, counts)
    rewards = model._rewards(features, gold, counts, losses)
    inside = torch.arange(6).view(1, -1, 1) < counts.unsqueeze(1)
    right = (model.decode(tokens, LEXICON).tags_RUB == gold.tags_RUB) & inside
    if reward == "log_likelihood":
        expected, counted = -model.head.loss(features, gold, counts), counts.double()
    else:
        expected, counted = 2 * right.sum(dim=1) / counts.double() - 1, torch.ones(2, 4).double()
    assert rewards.earned_RUB.shape[1] == rewards.counts_RUB.shape[1] == parts
    assert (rewards.earned_RUB.sum(dim=1) - expected).abs().max() < 1e-12
    assert (rewards.counts_RUB.sum(dim=1) - counted).abs().max() < 1e-12
    if parts > 1:
        assert not rewards.earned_RUB[~inside].any()
        assert not rewards.counts_RUB[~inside].any()
        better = rewards.earned_RUB[right].min() > 0 if reward == "correct" else (rewards.earned_RUB <= 0).all()
        assert better


@pytest.mark.parametrize("head", ["softmax", "crf"])
def test_the_likelihoods_of_all_tags_that_a_text_may_have_add_up_to_one(head: str) -> None:
    stack = {**NETWORK["stack"], "skip": {**NETWORK["stack"]["skip"], "reward": "likelihood"}}
    model, tokens, gold = tagger({**NETWORK, "stack": stack, "head": {"kind": head}}, Lane(seed=3))
    features, counts = model.eval().read(tokens, LEXICON)
    text = int(counts[0].argmin())
    length, total = int(counts[0, text]), 0.0
    for tags in product(range(int(gold.tags_RUB.max()) + 1), repeat=length):
        tags_RUB = gold.tags_RUB.clone()
        tags_RUB[0, :length, text] = torch.tensor(tags)
        rewards = model._rewards(features, other := Gold(tags_RUB), counts, model.head.losses(features, other, counts))
        assert rewards.earned_RUB.shape == (1, 1, 4)
        assert (rewards.counts_RUB == 1).all()
        total += float(rewards.earned_RUB[0, 0, text])
    assert total == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("reward", ["log_likelihood", "likelihood", "correct"])
def test_a_text_of_which_nothing_is_left_teaches_nothing(reward: str) -> None:
    config = {**NETWORK, "stack": {**NETWORK["stack"], "skip": {**NETWORK["stack"]["skip"], "reward": reward}}}
    model, tokens, _ = tagger(config, Lane(seed=5))
    empty = Tokens(tokens.forms_RTB[:, :, :1], torch.tensor([[0]]))
    loss = model.loss(empty, Gold(torch.full((1, 6, 1), -1)), LEXICON)
    loss.sum().backward()
    assert loss.item() == 0
    for name, parameter in model.named_parameters():
        assert parameter.grad is None or not parameter.grad.any(), name


@pytest.mark.parametrize(("share", "allowed"), [(0, True), (0.5, True), (1, True), (-0.01, False), (1.01, False)])
def test_lambda_lies_between_0_and_1(share: float, allowed: bool) -> None:
    with nullcontext() if allowed else pytest.raises(ValidationError, match="share"):
        DynamicSkipConfig(share=share)


def test_all_but_the_last_of_layers_that_join_directions_are_credited_with_whole_sentences() -> None:
    skip = {"kind": "dynamic", "reach": 2, "policy_hidden": 3}
    stack = {**NETWORK["stack"], "depth": 3, "composition": [0, 0, 0], "join": "each_layer", "skip": skip}
    model, tokens, gold = tagger({**NETWORK, "stack": stack}, Lane(seed=6))
    whole: list[bool] = []

    assert model.reinforce is not None

    class Credit(Reinforce):
        def forward(self, made: list[Made], rewards: Rewards, lengths_RB: Tensor) -> Tensor:
            whole.extend(each.seen_before for each in made)
            return torch.zeros(lengths_RB.shape, dtype=torch.float64)

    model.reinforce = Credit(model.reinforce.config, [LANE])
    model.loss(tokens, gold, LEXICON)
    assert whole == [True, True, False]
