skipstack search gui2019/imdb --scale small --seeds 5 --corpus imdb --out imdb
