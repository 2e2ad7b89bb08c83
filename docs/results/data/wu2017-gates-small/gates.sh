skipstack search wu2017/gates --scale small --seeds 5 --corpus pmb-ccg-en --out gates
