"""The exact laws of the gate's answers, and tests of many draws against them."""
