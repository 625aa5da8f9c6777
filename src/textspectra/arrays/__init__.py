"""How rows are read and drawn, wherever they are: in memory, in a memory map, on Dask."""
