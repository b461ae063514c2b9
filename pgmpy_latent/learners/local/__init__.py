"""What several learners share: fits around one node, a pair or an edge."""
