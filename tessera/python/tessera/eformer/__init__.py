"""eformer's modules on tessera: a program changes its imports and nothing else."""
