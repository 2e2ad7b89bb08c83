skipstack search dinarelli2016/ftb --engine serial --scale small --seeds 5 --corpus ud-french-sequoia --set axes.model.stack.feedback=null --out french
