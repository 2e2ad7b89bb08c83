skipstack search collins/classifier --scale small --seeds 5 --corpus imdb --out classifier
