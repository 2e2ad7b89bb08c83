skipstack search chen2017/optimisers --engine serial --scale small --seeds 5 --corpus ud-chinese-simplified --set model.head.boundary_scores=true --out optimisers
