skipstack search wu2017/topologies --seeds 3 --corpus pmb-ccg-en --epochs 8 --set model.stack.hidden=64 --set model.initial_scale=1.0 --out topologies
