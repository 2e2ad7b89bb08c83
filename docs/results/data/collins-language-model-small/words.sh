skipstack search collins/language-model --scale small --seeds 3 --corpus ptb-lm --out words
