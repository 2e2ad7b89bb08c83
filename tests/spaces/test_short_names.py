"""Short names of paths."""

from skipstack.spaces.short_names import names, names_by_path


def test_changes_have_the_shortest_names_that_tell_them_apart() -> None:
    assert names(["model.stack.depth", "model.head.kind"]) == ["depth", "head"]
    assert names(["model.embedder.dropout", "model.stack.dropout"]) == ["embedder.dropout", "stack.dropout"]
    assert names(["training.optimiser.kind", "training.optimiser.learning_rate"]) == ["optimiser", "learning_rate"]


def test_a_path_that_ends_another_one_stays_whole() -> None:
    assert names(["rate", "optimiser.rate"]) == ["rate", "optimiser.rate"]
    assert names(["head", "head.kind", "size"]) == ["head", "head.kind", "size"]
    assert names_by_path(["a.size", "a.size", "b.size"]) == {"a.size": "a.size", "b.size": "b.size"}
