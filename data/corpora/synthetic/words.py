"""The words of the grammar corpus and of the agreement corpus (``grammar.py``, ``agreement.py``), by word class."""

DETERMINERS = ("the", "some", "no", "my", "that")
NOUNS = ("river", "dog", "tree", "boy", "horse", "tower", "garden", "letter", "teacher", "king")
NOUNS_OR_VERBS = ("guard", "judge", "plant", "name", "question", "face")
ADJECTIVES = ("tall", "green", "quiet", "narrow", "famous", "heavy")
ADJECTIVES_OR_NOUNS = ("old", "young", "rich", "poor")
VERBS_IN_ED = ("chased", "followed", "visited", "painted", "helped", "called", "answered", "carried")
VERBS_WITHOUT_ENDING = ("cut", "hit", "hurt", "shut")
ADVERBS = ("slowly", "quickly", "gladly", "calmly", "rarely")
PREPOSITIONS = ("near", "behind", "with", "under", "beside")
MARKS_OR_PREPOSITIONS = ("before", "after", "since")
SHIFT = "suppose"
TIMES = {"PAST": "yesterday", "PRESENT": "now"}
AUXILIARIES = {"PARTICIPLE": "has", "BASE": "will"}
"""The auxiliaries, by the reading that each gives to its verb."""

PREFIXES = ("re", "un", "out", "over", "sub", "mis")
NAME_STARTS = ("Ma", "Lo", "Ti", "Be", "Ka", "So", "Ne", "Vi", "Ra", "Du")
NAME_ENDS = ("ra", "lo", "mi", "ta", "nek", "dil", "son", "bert", "vin", "gard")
