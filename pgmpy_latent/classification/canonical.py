"""The canonical form of a latent classification model, one of many equal ones."""

from __future__ import annotations

import numpy as np

from pgmpy_latent.classification.model import Parameters


def canonical(model: Parameters, class_shares: np.ndarray, edges: np.ndarray, *, shift: bool):
    """Return an equal model whose latents have mean zero and variance one over all classes, the weightiest first.

    Parameters
    ----------
    model : Parameters
        One model.
    class_shares : array, shape (classes,)
    edges : bool array, shape (1, components, attributes, latents)
    shift : bool
        Whether the latents' means may move into the offsets.

    Returns
    -------
    model : Parameters
        The equal model.
    edges : bool array
        In the new order.
    """
    means, variances, loadings, offsets = model.means[0], model.variances[0], model.loadings[0], model.offsets[0]
    centre = class_shares @ means
    spread = np.sqrt(class_shares @ (variances + np.square(means - centre)))
    if shift:
        offsets = offsets + loadings @ centre
        means = means - centre
    loadings = loadings * spread
    component_shares = class_shares @ np.exp(model.log_weights[0])
    weight = np.einsum("k,kiq->q", component_shares, np.square(loadings))
    order = np.argsort(-weight, kind="stable")
    balance = np.einsum("k,kiq->q", component_shares, loadings)
    sign = np.where(balance < 0, -1.0, 1.0)
    means, variances, loadings = sign * means / spread, variances / spread**2, loadings * sign
    new = Parameters(
        model.log_weights,
        means[None][..., order],
        variances[None][..., order],
        loadings[None][..., order],
        offsets[None],
        model.noise,
    )
    return new, edges[..., order]
