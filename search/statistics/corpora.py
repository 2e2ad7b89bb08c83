"""One effect measured on several corpora: its mean over corpora like these."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from skipstack.search.statistics.chance import Part
from skipstack.search.statistics.estimates import Estimate, with_interval

ONE_CORPUS = "one corpus does not show how far corpora lie apart"


def mean_over_corpora(estimates: Sequence[Estimate]) -> Estimate:
    """The mean effect, whose true size may be another one on each corpus (a random-effects meta-analysis).

        mean = sum_k w_k d_k / sum_k w_k,    w_k = 1 / (v_k + tau^2)

    d_k and v_k: the effect on corpus k and its squared error; tau^2: how far true effects lie apart, by Paule and
    Mandel. The interval is that of Hartung, Knapp, Sidik and Jonkman, t with one degree of freedom less than there are
    corpora, but no narrower than v_k and tau^2 alone would have it (Röver, Knapp and Friede 2015). Effects without an
    interval are left out.
    """
    from statsmodels.stats.meta_analysis import combine_effects

    known = [each for each in estimates if each.error is not None]
    plain = Estimate(
        value=float(np.mean([each.value for each in known or estimates])),
        seeds=min(each.seeds for each in known or estimates),
        corpora=len(known),
        why=ONE_CORPUS,
    )
    if len(known) < 2:
        return plain
    values, errors = np.array([[each.value, each.error] for each in known], dtype=np.float64).T
    combined = combine_effects(values, errors**2, method_re="iterated", use_t=True)
    variance = max(combined.var_hksj_re, combined.var_eff_w_re)
    parts = [Part(np.asarray(variance), len(known) - 1)]
    return with_interval(replace(plain, value=float(combined.mean_effect_re)), parts)
