"""Sizes and times: counting, noise, accounting, designs, and reconstruction."""
