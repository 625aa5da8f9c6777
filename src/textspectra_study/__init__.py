"""The study: the paper's experiments on the data and models at hand, compared with what the paper printed."""
