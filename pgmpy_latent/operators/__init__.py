"""Pure operators on trees: a tree goes in, a new tree comes out; no data, no fitting."""

from pgmpy_latent.operators.canonical import canonical_tree
from pgmpy_latent.operators.nodes import (
    contract_edge,
    cut_edge,
    delete_node,
    introduce_node,
    link_nodes,
    relocate_node,
)
from pgmpy_latent.operators.pruning import prune_states
from pgmpy_latent.operators.regularity import (
    bound_from_cards,
    equivalent,
    irregular_nodes,
    is_regular,
    make_regular,
    marginally_equivalent,
    regular_bound,
)
from pgmpy_latent.operators.root import root_walk
from pgmpy_latent.operators.states import (
    can_split,
    canonical_states,
    introduce_state,
    marginals,
    merge_states,
    neighbour_rows,
    permute_states,
    random_direction,
    remove_state,
    split_state,
    thesis_direction,
)

__all__ = [
    "bound_from_cards",
    "can_split",
    "canonical_states",
    "canonical_tree",
    "contract_edge",
    "cut_edge",
    "delete_node",
    "equivalent",
    "introduce_node",
    "introduce_state",
    "irregular_nodes",
    "is_regular",
    "link_nodes",
    "make_regular",
    "marginally_equivalent",
    "marginals",
    "merge_states",
    "neighbour_rows",
    "permute_states",
    "prune_states",
    "random_direction",
    "regular_bound",
    "relocate_node",
    "remove_state",
    "root_walk",
    "split_state",
    "thesis_direction",
]
