# What `make demo` runs.
info
stat -r 5 mix
stat -e instructions,cycles,branches,branch-misses branches
record -e cycles -c 10000 -o samples.txt mix
top -r 2 mix
place instructions cycles branches branch-misses
encode branch-misses
uncore
selftest
