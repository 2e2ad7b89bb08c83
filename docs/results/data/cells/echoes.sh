skipstack search cells --engine serial --set 'data.corpus={kind: echo, distance: 8}' --out echoes
