skipstack search dinarelli2016/atis-classes --seeds 5 --corpus atis --set axes.model.stack.feedback=null --out classes
