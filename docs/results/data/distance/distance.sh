skipstack search distance --engine serial --out distance
