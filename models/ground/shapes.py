"""The letters that end array names, one for each axis: ``x_RTBH`` has the axes R, T, B and H. Each letter has the same
meaning everywhere in ``models/``.

Axes computed in parallel:
R  lanes, each one seed's copy of the network (``models/layers/lanes.py``)
D  directions of reading
G  groups: every lane in every direction, G = R * D
B  sentences, or texts

Positions in a sequence:
T  time: the tokens of the longest sentence
U  tags of a sentence: T, or 1 where a whole text has one tag
S  T plus extra positions: states before the first step, the root of a tree, the margins of a window
W  positions of a window, or of a context of earlier positions
J  earlier states that a step may read
C  characters

Numbers at a position:
I  inputs of a step from the layer below
H  hidden units
X  pre-activations
Y  a state [h; c], Y = 2H
F  features: outputs of a layer, and inputs of a head
M  inner units: of a perceptron, or feature maps
E  entries of an embedding vector: of a word, a character, a label, a position
K  tags, labels, relations
Q  features that a position feeds back
Z  contributions of a position to the pre-activations of the W positions after it, Z = W * X
A  features from which an arc is scored
L  features from which an arc's relation is scored

Lists:
N  entries in any order
P  selected entries
V  entries of a vocabulary
O  other entries

1, 2 and 4 are axes of these lengths. A file that uses other letters, or another meaning, states it at its beginning.
Arrays of a corpus keep the letters that they have in ``data/``.
"""
