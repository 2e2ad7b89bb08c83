skipstack search gui2019/ner --scale small --seeds 5 --corpus conll2003 --out ner
