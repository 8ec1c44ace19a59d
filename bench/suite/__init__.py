"""The benchmark suite: cases, their data, rounds, tables and the chart.  bench/run.py is its command."""
