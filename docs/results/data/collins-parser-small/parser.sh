skipstack search collins/parser --scale small --epochs 4 --seeds 3 --corpus ud-english-ewt --out parser
