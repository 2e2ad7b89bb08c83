skipstack search quickstart --engine serial --corpus pmb-ccg-en --epochs 4 --set 'axes.model.stack.depth={choice: [1, 3]}' --set model.stack.composition=2 --set axes.model.stack.shortcut.gate=null --set 'axes.model.stack.hidden={choice: [24, 48]}' --set 'axes.model.stack.dropout={uniform: [0.0, 0.5]}' --out supertags
skipstack ablate supertags
skipstack ablate supertags --retune 20 --until-decided --at-most 20
