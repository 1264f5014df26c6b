# SPDX-License-Identifier: MIT
#
# Encodings compared with libpfm4's (Debian's libpfm4-dev), which is linked as it is.
# Included by the Makefile.

ORACLES := oracle oracle_units
HAVE_LIBPFM4 := $(wildcard /usr/include/perfmon/pfmlib.h)

$(ORACLES:%=build/gcc-64/tests/oracle/%): build/gcc-64/tests/oracle/%: \
		build/gcc-64/tests/oracle/%.o build/gcc-64/tests/oracle/exceptions.o build/gcc-64/libupmu.a
	$(QUIET)$(gcc-64_CC) -no-pie -o $@ $^ -lpfm -lcmocka

ORACLE_PROGRAMS := $(if $(HAVE_LIBPFM4),$(ORACLES:%=build/gcc-64/tests/oracle/%))
PROGRAMS += $(ORACLE_PROGRAMS)
.PHONY: test-oracle
test-oracle: $(ORACLE_PROGRAMS)
	@$(PYTHON) tests/run_layer.py oracle $(if $(HAVE_LIBPFM4),,--skipped "all of it: libpfm4-dev is not installed") $^
