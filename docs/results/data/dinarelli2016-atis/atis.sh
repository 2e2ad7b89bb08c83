skipstack search dinarelli2016/atis --engine serial --seeds 5 --corpus atis --out atis
