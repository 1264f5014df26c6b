# What tests/foreign/test_demos.py runs; '!' marks what has to be refused.
info
list
stat -n 1000 -e instructions,cycles spin
stat -n 101000 -e instructions,cycles spin
stat -n 1000 -e instructions,cycles memcpy
stat -n 101000 -e instructions,cycles memcpy
!stat -e branch-misses spin
record -e cycles -c 20000 -o cycles.txt spin
record -e instructions -c 20000 -o counted.txt spin
top -r 1 branches
selftest
page
info --sim skl
