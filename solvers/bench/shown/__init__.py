"""What people look at: profiles, summaries, pictures, tables and a page, from the rows alone."""
