"""How it is seen: the processes that examine a candidate. One room for each process."""
