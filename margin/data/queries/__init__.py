"""What the text and the plan of a query tell before it is run."""
