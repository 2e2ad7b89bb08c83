skipstack search cells --engine serial --corpus atis --out slots
