"""A study from Python: searched, looked at, exported, and its best model asked. Cells begin with `# %%`."""

# %% A preset, made small
import skipstack

study = skipstack.search(
    "quickstart",
    settings={"data.corpus.train": 60, "model.stack.hidden": 8},
    trials=4,
    epochs=2,
    out="runs/library",
    engine="serial",
)
print(study)

# %% What it found, as pandas frames
print(study.best(3)[["dev", "test", "model.stack.depth"]])
print(study.exploration()[["axis", "value", "dev", "effect"]])
print(study.curves().groupby(["trial", "epoch"])["train_loss"].mean())

# %% The best model, as files that load anywhere
bundle = study.export("library-best")
tagger = skipstack.load(bundle)
for sentence in tagger.predict([["the", "cats", "sleep"], ["she", "knows"]]):
    print(list(zip(sentence.words, sentence.tags, strict=True)))
