skipstack search wu2017/inputs --engine serial --scale small --seeds 5 --corpus pmb-ccg-en --out inputs
