"""Tables of texts: files and data frames, read and written."""
