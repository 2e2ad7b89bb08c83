skipstack search dinarelli2016/atis --engine serial --seeds 5 --corpus atis --set axes.model.stack.feedback=null --out atis
