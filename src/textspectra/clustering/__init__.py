"""Which row is in which of k groups: Lloyd's passes and Ward's merge tree."""
