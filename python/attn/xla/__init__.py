"""The custom call of XLA that attn.jax is made of."""
