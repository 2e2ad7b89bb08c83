skipstack search gui2019/two-jumps --engine serial --epochs 10 --trials 4 --set model.stack.hidden=64 --set training.optimiser.learning_rate=0.003 --out window
