# What `make test-demo` runs; '!' marks what has to be refused.
help
pmus
info
list MEM_LOAD*
encode branch-misses
encode --json --placed instructions,cycles
encode "r01c2:u" cycles,counter=2
place instructions cycles branches
!place instructions,counter=0 cycles,counter=0
!encode no-such-event
!nonsense
!rdpmc 99
wrmsr list branches
stat -r 3 --json -e instructions,cycles spin
stat -n 1000 -e instructions,branches spin
stat mix
record -c 5000 -o samples.txt mix
top -r 2 branches
rdpmc 0x40000001
info --sim core2
stat --sim core2 -e instructions,cycles memset
uncore
selftest
