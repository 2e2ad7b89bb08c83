skipstack search cells --engine serial --corpus pmb-ccg-en --out supertags
