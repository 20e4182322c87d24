"""What every study uses: measuring that can be resumed, pages, pictures, kept readings."""
