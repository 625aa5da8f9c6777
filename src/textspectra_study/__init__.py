"""The study: the paper's experiments on our data and models, compared with the numbers that the paper prints."""
