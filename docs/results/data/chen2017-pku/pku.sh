skipstack search chen2017/systems --scale small --epochs 4 --seeds 5 --corpus pku-199801 --set model.head.boundary_scores=true --out pku
