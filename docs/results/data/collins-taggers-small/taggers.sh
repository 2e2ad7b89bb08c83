skipstack search collins/taggers --engine serial --scale small --seeds 5 --corpus pmb-ccg-en --out taggers
