skipstack search wu2017/compositions --scale small --seeds 5 --corpus pmb-ccg-en --out compositions
