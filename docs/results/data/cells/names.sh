skipstack search cells --engine serial --corpus wnut17 --out names
