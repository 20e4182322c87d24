"""Studies, one file each: ``python -m experiments list``, ``python -m experiments run NAME [--smoke]``.

They use the public names of `margin` only. Real tables are taken from the folder that the variable MARGIN_DATA names;
an experiment that needs one and does not find it says so and uses a generated table.
"""
