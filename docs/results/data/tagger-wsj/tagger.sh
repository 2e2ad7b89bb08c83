skipstack search tagger --seeds 3 --trials 8 --corpus wsj-sample --out tagger
skipstack extend tagger --trials 16
skipstack ablate tagger --whole
