skipstack search gui2019/k-lambda --scale small --epochs 2 --seeds 3 --corpus ptb-lm --set model.embedder.word_size=64 --set model.stack.hidden=64 --out k_lambda
