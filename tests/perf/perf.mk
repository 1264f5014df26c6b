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

# The perf of Debian 12's backports, of a later Linux, by lists of packages of its own: the system keeps its perf.
PERF_NEWER := build/perf-newer
PERF_NEWER_APT := -o Dir::Etc::SourceList="$$PWD/sources.list" -o Dir::Etc::SourceParts=/dev/null \
	-o Dir::State::Lists="$$PWD/lists" -o Dir::Cache="$$PWD"
.PHONY: deps-perf-newer
deps-perf-newer: deps-perf
	$(APT_INSTALL) libtraceevent1
	mkdir -p $(PERF_NEWER)/lists/partial
	site=$$(apt-get indextargets --format '$$(SITE)' 'Codename: bookworm' | head -n 1) && \
		[ -n "$$site" ] || { echo 'apt knows no list of Debian 12 (bookworm)'; exit 1; } && \
		echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $$site bookworm-backports main" \
			> $(PERF_NEWER)/sources.list
	cd $(PERF_NEWER) && apt-get $(PERF_NEWER_APT) update && rm -f *.deb && \
		apt-get $(PERF_NEWER_APT) download -t bookworm-backports linux-perf && \
		dpkg --fsys-tarfile linux-perf_*.deb | tar -x ./usr/bin/perf

# The demands of perf on perf_event_open are recorded anew (tests/perf/perf_calls.py), and those of the later perf where it is.
.PHONY: perf-calls
perf-calls: $(PERF_PROGRAMS)
	$(PYTHON) tests/perf/perf_calls.py
	[ ! -x $(PERF_NEWER)/usr/bin/perf ] || PATH="$$PWD/$(PERF_NEWER)/usr/bin:$$PATH" $(PYTHON) tests/perf/perf_calls.py
