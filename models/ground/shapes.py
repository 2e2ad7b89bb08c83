"""The letters of array names, one meaning each in the whole folder: ``x_RTBH`` has the axes R, T, B and H.

What is read side by side:
R  lanes (``models/layers/lanes.py``)
D  directions of reading
G  groups: every lane in every direction, G = R * D
B  sentences, or texts

What is read one after another:
T  time: the tokens of the longest sentence
U  tags of a sentence: T, or 1 where a whole text has one
S  time with what stands before or around it: first states, the root of a tree, the margins of a window
W  places of a window, or of a context
J  earlier states that a step may read
C  characters

Numbers of a place:
I  what a step reads from below
H  hidden units
X  pre-activations
Y  a state [h; c], Y = 2H
F  features: what a layer puts out, and what a head reads
M  inner units: of a perceptron, or feature maps
E  a vector that is looked up: of a word, a character, a label, a place
K  tags, labels, relations
Q  what is fed back at a position
Z  what a position adds to those after it, Z = W * X
A  what an arc is scored from
L  what an arc's relation is scored from

Lists:
N  entries in any order
P  those that are picked
V  entries of a vocabulary
O  the others

1, 2 and 4 are axes of these lengths. A file states what its own letters mean beyond that. Arrays of a corpus keep the
letters that they have in ``data/``.
"""
