"""Binary latent forests."""
