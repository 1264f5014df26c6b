# What `make demo-efi-arm` runs.
info
list
stat -r 5 mix
stat -e instructions,cycles spin
record -e cycles -c 20000 -o samples.txt mix
top -r 2 mix
selftest
