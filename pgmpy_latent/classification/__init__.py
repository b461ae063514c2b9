"""A classifier for continuous attributes: naive Bayes over hidden Gaussians and a mixture of factor analysers."""
