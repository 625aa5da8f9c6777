"""What a group is about: words, keywords, names."""
