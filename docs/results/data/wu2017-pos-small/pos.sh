skipstack search wu2017/pos --engine serial --scale small --seeds 5 --corpus wsj-sample --out pos
