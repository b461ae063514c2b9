"""The search over latent trees."""
