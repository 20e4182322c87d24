"""What is written on the command line, as objects of the library; and its messages, back."""
