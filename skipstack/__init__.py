"""skipstack: searches architectures and hyperparameters of recurrent sequence models on a Ray cluster."""
