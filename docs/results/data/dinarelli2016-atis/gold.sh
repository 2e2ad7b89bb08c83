skipstack search dinarelli2016/atis --engine serial --seeds 5 --corpus atis --trials 1 --set model.stack.variant=j --set model.stack.feedback=gold --out gold
