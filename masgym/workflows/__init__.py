"""Workflows: who speaks when, who sees what. One small file each."""
