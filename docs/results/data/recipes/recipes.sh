skipstack search wu2017/recipes --engine serial --corpus pmb-ccg-en --trials 13 --out recipes
