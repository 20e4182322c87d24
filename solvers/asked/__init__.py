"""Tables without negative counts, nearest in the metric of the queries that are asked."""
