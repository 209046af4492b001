"""Compiled numeric kernels: they know arrays and nothing else."""
