"""How large a difference is beside what another seed alone would change."""

from collections.abc import Sequence


def effect_size(ours: Sequence[float], theirs: Sequence[float]) -> float | None:
    """Hedges' g: the difference of two networks in standard deviations of one network's score over seeds.

        g = (1 - 3 / (4 n - 9)) (mean of ours - mean of theirs) / sqrt((v_ours + v_theirs) / 2)

    for as many seeds of both, n in all; v: the sample variance over the seeds. The first factor takes away what few
    seeds flatter (Hedges 1981, in the approximation that statsmodels has). At 1 the better network wins against the
    other one, seed against seed, in three of four pairs. None for one seed, and where no seed changed anything.
    """
    import numpy as np
    from statsmodels.stats.meta_analysis import effectsize_smd

    if min(len(ours), len(theirs)) < 2:
        return None
    deviations = [float(np.std(scores, ddof=1)) for scores in (ours, theirs)]
    if not any(deviations):
        return None
    (one, other), means = deviations, (np.mean(ours), np.mean(theirs))
    return float(effectsize_smd(means[0], one, len(ours), means[1], other, len(theirs))[0])
