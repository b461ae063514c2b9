"""A latent classification model as pgmpy objects: a graph, and a Gaussian network for each class and component."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from pgmpy_latent.model.pgmpy_api import DAG, LinearGaussianBayesianNetwork, LinearGaussianCPD


def gaussian_network(
    attributes: Sequence[Hashable],
    latents: Sequence[Hashable],
    means: np.ndarray,
    variances: np.ndarray,
    loadings: np.ndarray,
    offsets: np.ndarray,
    noise: np.ndarray,
    edges: np.ndarray,
) -> LinearGaussianBayesianNetwork:
    """Return the Gaussians of one class and component: latents above, attributes below.

    Parameters
    ----------
    attributes, latents : sequences of names
    means, variances : arrays, shape (latents,)
    loadings : array, shape (attributes, latents)
    offsets, noise : arrays, shape (attributes,)
    edges : bool array, shape (attributes, latents)
    """
    parents = [[latents[at] for at in np.flatnonzero(row).tolist()] for row in edges]
    links = [(parent, name) for name, above in zip(attributes, parents, strict=True) for parent in above]
    network = LinearGaussianBayesianNetwork()
    network.add_nodes_from([*latents, *attributes])  # also those without an edge
    network.add_edges_from(links)
    cpds = [
        LinearGaussianCPD(name, [float(mean)], float(np.sqrt(variance)))
        for name, mean, variance in zip(latents, means, variances, strict=True)
    ]
    for at, (name, above) in enumerate(zip(attributes, parents, strict=True)):
        slopes = [float(slope) for slope in loadings[at][edges[at]]]
        cpds.append(LinearGaussianCPD(name, [float(offsets[at]), *slopes], float(np.sqrt(noise[at])), above))
    network.add_cpds(*cpds)
    network.latents = set(latents)
    return network


def structure(
    attributes: Sequence[Hashable],
    latents: Sequence[Hashable],
    edges: np.ndarray,
    label: Hashable,
    mixture: Hashable | None,
) -> DAG:
    """Return the whole structure: the class above latents and mixture, both of these above the attributes.

    Parameters
    ----------
    attributes, latents : sequences of names
    edges : bool array, shape (attributes, latents)
    label : name
        Of the class.
    mixture : name or None
        Of the mixture variable, if there is one.
    """
    links = [(label, latent) for latent in latents]
    links += [(latents[j], attributes[i]) for i, j in np.argwhere(edges)]
    if mixture is not None:
        links += [(label, mixture), *((mixture, attribute) for attribute in attributes)]
    graph = DAG(links, latents={*latents, *([] if mixture is None else [mixture])})
    graph.add_nodes_from(attributes)
    return graph
