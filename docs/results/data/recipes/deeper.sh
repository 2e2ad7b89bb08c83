skipstack search wu2017/recipes --corpus pmb-ccg-en --set 'axes.model.stack.depth={choice: [13, 3, 9]}' --set 'axes.model.stack.composition={choice: [2, 0]}' --out deeper
