skipstack search wu2017/depth --scale small --seeds 5 --corpus pmb-ccg-en --out depth
