"""Clusters for a given k: K-Means and Ward's tree, as functions."""
