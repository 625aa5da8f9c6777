"""What a cluster is about: languages, tokens, keywords, names."""
