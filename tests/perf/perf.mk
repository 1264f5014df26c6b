# SPDX-License-Identifier: MIT
#
# What `make test-perf` runs (tests/perf/test_*.py): abi/perf on the silicon model as the kernel of Debian's perf, two
# programs that it counts, programs on libpfm4 where that is installed, and what records a kernel's refusals.  Included by
# the Makefile.

PERF_PROGRAMS := $(addprefix build/gcc-64/tests/perf/,supervisor loop family calls record_errors \
	$(if $(wildcard /usr/include/perfmon/pfmlib_perf_event.h),pfm_programs))
build/gcc-64/tests/perf/supervisor: build/gcc-64/tests/perf/supervisor.o \
		$(patsubst %.c,build/gcc-64/%.o,$(sort $(wildcard abi/perf/*.c))) build/gcc-64/libsim.a build/gcc-64/libupmu.a
	$(QUIET)$(gcc-64_CC) -no-pie -o $@ $^
build/gcc-64/tests/perf/pfm_programs: build/gcc-64/tests/perf/pfm_programs.o build/gcc-64/tests/perf/pfm_work.o
	$(QUIET)$(gcc-64_CC) -no-pie -o $@ $^ -lpfm
build/gcc-64/tests/perf/record_errors: build/gcc-64/tests/perf/record_errors.o
	$(QUIET)$(gcc-64_CC) -no-pie -o $@ $^
build/gcc-64/tests/perf/loop build/gcc-64/tests/perf/family build/gcc-64/tests/perf/calls: %: %.o
	$(QUIET)$(gcc-64_CC) -nostdlib -static -no-pie -Wl,--eh-frame-hdr -o $@ $^
