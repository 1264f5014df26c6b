# SPDX-License-Identifier: MIT
#
# Encodings compared with libpfm4's (Debian's libpfm4-dev), which is linked as it is.
# Included by the Makefile.

ORACLE_SOURCES := $(sort $(wildcard tests/oracle/*.c))
HAVE_LIBPFM4 := $(wildcard /usr/include/perfmon/pfmlib.h)

build/gcc-64/tests/oracle/oracle: $(ORACLE_SOURCES:%.c=build/gcc-64/%.o) build/gcc-64/libupmu.a
	$(QUIET)$(gcc-64_CC) -no-pie -o $@ $^ -lpfm -lcmocka

PROGRAMS += $(if $(HAVE_LIBPFM4),build/gcc-64/tests/oracle/oracle)
.PHONY: test-oracle
test-oracle: $(if $(HAVE_LIBPFM4),build/gcc-64/tests/oracle/oracle)
	@$(PYTHON) tests/run_layer.py oracle $(if $(HAVE_LIBPFM4),,--skipped "all of it: libpfm4-dev is not installed") $^
