"""Adversities and measurements that a course adds to its rounds: one file each."""
