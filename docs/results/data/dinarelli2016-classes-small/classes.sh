skipstack search dinarelli2016/atis-classes --engine serial --scale small --seeds 5 --corpus atis --out classes
