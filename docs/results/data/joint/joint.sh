skipstack search joint --scale small --corpus pmb-ccg-en --epochs 3 --trials 18 --set model.stack.dropout=0.25 --set training.optimiser.learning_rate=0.02 --out joint
skipstack ablate joint --seeds 3
