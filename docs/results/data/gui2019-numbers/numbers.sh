skipstack search gui2019/numbers --epochs 4 --trials 4 --seeds 5 --set model.stack.hidden=64 --set axes.data.corpus=null --out numbers
