skipstack search wu2017/topologies --engine serial --scale small --seeds 5 --corpus pmb-ccg-en --epochs 4 --out topologies
