# SPDX-License-Identifier: MIT
#
# upmu's own build: libraries, host tool, tests, figures.  Embedders include
# upmu.mk instead.  Everything is written below build/; nothing needs a network
# but `make deps`.  `make help` lists the targets.

SHELL := $(or $(wildcard /bin/bash),/bin/sh)
.SUFFIXES:
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules

ifeq ($(origin CC),default)
CC := gcc
endif
CLANG ?= clang
PYTHON ?= python3
JOBS ?= 2
COMMA := ,

include upmu.mk

.PHONY: all
all:

# ---- Tables ----

# Rows NAME, KEY, VALUE of these files are variables NAME_KEY, which are expanded where they are used.
TABLES := tools/builds.tsv tools/packages.tsv tests/layers.tsv tests/foreign/machines.tsv efi-demo/machines.tsv
ROWS := $(shell sed -n '/^[[:alnum:]]/{s/[[:blank:]]\{1,\}/_/;s/[[:blank:]]\{1,\}/ += /;s/ /~/g;p;}' $(wildcard $(TABLES)) </dev/null)
$(foreach row,$(ROWS),$(eval $(subst ~, ,$(row))))

# What of the needs of $(1) is not there: programs by name, files by path.  MISSING: of several, as NAME:NEED; THERE: of these names
# those that lack nothing.
HAS = $(if $(findstring /,$(1)),$(wildcard $(1)),$(shell command -v $(1)))
LACKS = $(strip $(foreach need,$($(1)_NEEDS),$(if $(call HAS,$(need)),,$(need))))
MISSING = $(strip $(foreach name,$(1),$(addprefix $(name):,$(call LACKS,$(2)$(name)))))
THERE = $(filter-out $(foreach lack,$(2),$(firstword $(subst :, ,$(lack)))),$(1))
# Ends a recipe that lacks something.  (1: what, 2: the target that installs it)
NEED = $(if $(1),echo "$@: not installed: $(1); 'make $(2)' installs it"; exit 1;)

# ---- Sources: found, not registered ----

LIB_SOURCES := $(patsubst ./%,%,$(UPMU_SOURCES))
SIM_SOURCES := $(sort $(wildcard models/sim/*.c))
TOOL_SOURCES := $(sort $(wildcard tools/upmu_main.c $(patsubst %,tools/%/*.c,child cmd msr) port/linux/*.c))
CATALOG_SOURCES := $(wildcard events/*.tsv)

# ---- Flags ----

WARNINGS := -Wall -Wextra -Wpedantic -Wshadow -Wundef -Wconversion -Wsign-conversion -Wcast-qual \
	-Wstrict-prototypes -Wmissing-prototypes -Wvla -Werror
LIB_CFLAGS := $(UPMU_CFLAGS) -fno-pie -fno-pic -fno-stack-protector $(WARNINGS) -Iinclude -I.
# (lines, no variables: compiled and linked a tenth sooner)
HOST_CFLAGS := -std=gnu11 -g1 -fno-pie -Wall -Wextra -Wshadow -Werror -Iinclude -I. \
	-DUPMU_SOURCE_DIR='"$(CURDIR)"'

# What a build is: tools/builds.tsv.
BUILDS := gcc-64 gcc-32 clang-64 clang-32 os asan asan-32 fuzz installed tool coverage mutants host host-asan host-32 tsan
# (the quicker of binutils' linkers takes two thirds of the time, with the sanitizers' libraries half)
QUICK_LD := $(if $(shell command -v ld.gold),-fuse-ld=gold)

# Builds that the test programs are run in: by `make test` 64 bits as shipped; by `make test-sanitized`, which .ci/run runs
# too, one that is sanitized, of the other compiler and width where that can be had.  `make soak` runs SOAK_BUILDS.
# cmocka for 32 bits, where this machine executes such programs.
HAVE_CMOCKA_32 := $(if $(shell /lib/ld-linux.so.2 --version 2>/dev/null),$(wildcard /usr/lib/i386-linux-gnu/libcmocka.so))
TEST_BUILDS ?= gcc-64
SANITIZED_BUILD := $(if $(HAVE_CMOCKA_32),asan-32,asan)
SOAK_BUILDS := asan $(if $(HAVE_CMOCKA_32),asan-32 clang-32)

# ---- Libraries and objects ----

# Rebuilds archives when a source comes or goes.
build/sources.txt: FORCE
	@mkdir -p build
	@echo '$(LIB_SOURCES) $(SIM_SOURCES) $(TOOL_SOURCES)' | cmp -s - $@ || \
		echo '$(LIB_SOURCES) $(SIM_SOURCES) $(TOOL_SOURCES)' > $@
.PHONY: FORCE
FORCE:

# The library as one source, whose headers are read once: for builds whose single files are not asked for, and for tests that
# need other options than their build has.
build/library.c: build/sources.txt
	@printf '#include "%s"\n' $(LIB_SOURCES) > $@

# DRAFT=1 leaves out sources that do not compile yet, so that the rest can be tried.
DRAFTED = $(if $(DRAFT),|| { echo "DRAFT: left out $(1)"; $(CC) -x c -c -o $(2) /dev/null; touch -d 1990-01-01 $(2); })

# Objects that are looked at by value keep their assembly text, whose call frames and lines check_stack.py reads.
KEEP_TEXT := gcc-64 gcc-32 clang-64 clang-32 os
TEXT_FLAGS = -fasynchronous-unwind-tables -g1 $(if $($(1)_AS),-fno-addrsig)

# The flags of an object, by the folder of its source: tests (with those of the layer and of the program), other programs (the
# Linux port is no freestanding one), and what ships.  (1: the build, 2: the source, 3: the layer)
TEST_CFLAGS = $(HOST_CFLAGS) $($(3)_CFLAGS) $($(3)_$(1)) $($(notdir $(2))_CFLAGS) $(UPMU_DEFINES) \
	$(filter-out -Os,$($(1)_FLAGS)) $($(1)_TEST) $(or $($(notdir $(2))_LEVEL),$($(3)_LEVEL))
OBJECT_CFLAGS = $(if $(filter tests/%,$(2)),$(call TEST_CFLAGS,$(1),$(2),$(word 2,$(subst /, ,$(2)))),$(if $(filter \
	tools/% port/linux/%,$(2)),$(HOST_CFLAGS),$(LIB_CFLAGS) $(if $(filter $(INNER),$(2)),$($(1)_POINTS))) $($(1)_FLAGS))
INNER := core/% backends/% abi/%

# A file that holds the flags of objects, written when they change: the objects depend on it.  (1: the file, 2: the flags)
define KEEP_FLAGS
$(1): FORCE
	@mkdir -p $$(@D)
	@printf '%s\n' '$(subst ','\'',$(2))' | cmp -s - $$@ || printf '%s\n' '$(subst ','\'',$(2))' > $$@
endef

TABLE_FLAGS = $(foreach name,$(sort $(filter %_CFLAGS %_LEVEL %_$(1),$(subst ~, ,$(ROWS)))),$($(name)))

# The command shows all that the library can do: its objects are the same whatever is left out of others.
tool_WITHOUT := $(UPMU_DEFINES)

define BUILD_RULES
$(call KEEP_FLAGS,build/$(1)/flags,$(filter-out $($(1)_WITHOUT),$($(1)_CC) $(LIB_CFLAGS) $(HOST_CFLAGS) $(foreach \
	key,FLAGS TEST AS POINTS LINK ONE,$($(1)_$(key))) $(TABLE_FLAGS)))
build/$(1)/%.o: %.c build/$(1)/flags | build/library.c
	@mkdir -p $$(@D)
	$$(QUIET)$$($(1)_CC) $$(call OBJECT_CFLAGS,$(1),$$<) -MMD -MP $(if $(filter $(1),$(KEEP_TEXT)),$$(if $$(filter $(INNER),$$<), \
		-MF $$(@:.o=.d) -MT $$@ $(TEXT_FLAGS) -S -o $$(@:.o=.s) $$< && $$(or $$($(1)_AS),$$($(1)_CC) -c) -o $$@ $$(@:.o=.s),-c -o $$@ $$<), \
		-c -o $$@ $$<) $$(call DRAFTED,$$<,$$@)
build/$(1)/%.o: %.S build/$(1)/flags
	@mkdir -p $$(@D)
	$$(QUIET)$$($(1)_CC) -c -o $$@ $$<
build/$(1)/library.o: build/library.c build/$(1)/flags
	@mkdir -p $$(@D)
	$$(QUIET)$$($(1)_CC) $$(LIB_CFLAGS) $$($(1)_POINTS) $$(or $$($(1)_ONE),$$($(1)_FLAGS)) -MMD -MP -c -o $$@ $$<
build/$(1)/libupmu.a: $$(LIB_SOURCES:%.c=build/$(1)/%.o) build/sources.txt
build/$(1)/libsim.a: $$(SIM_SOURCES:%.c=build/$(1)/%.o) build/sources.txt
build/$(1)/libupmu.a build/$(1)/libsim.a:
	@rm -f $$@
	$$(QUIET)ar rcs $$@ $$(filter %.o,$$^)
endef
$(foreach build,$(BUILDS),$(eval $(call BUILD_RULES,$(build))))
build/tool/%.o: LIB_CFLAGS := $(filter-out $(tool_WITHOUT),$(LIB_CFLAGS))

QUIET := $(if $(V),,@)
-include $(shell find build -name '*.d' 2>/dev/null)

all: build/gcc-64/libupmu.a build/gcc-64/libsim.a $(if $(wildcard tools/upmu_main.c),build/upmu)

build/upmu: $(TOOL_SOURCES:%.c=build/tool/%.o) build/tool/libsim.a build/tool/libupmu.a
	$(QUIET)$(tool_CC) -no-pie -o $@ $^

# ---- PMCTools ----

# Everything on the command line anew; pmcstat under the names of its classes.
PMCSTAT_LINKS := $(addprefix build/,pmcstat pmcstat_p4 pmcstat_k7 pmcstat_k8 pmcstat_iaf pmcstat_iap)
.PHONY: tools pmcstat-links
tools: build/upmu pmcstat-links
pmcstat-links: build/upmu
	$(QUIET)for link in $(PMCSTAT_LINKS); do ln -sf upmu $$link; done

# ---- Programs of tests and figures ----
#
# A layer is a folder of tests; tests/layers.tsv has what it needs.

C_LAYERS := unit inject fuzz
LINKED := $(C_LAYERS) oracle host trap vm bench
ARCHIVES = $(if $(word 2,$(1)),-Wl$(COMMA)--start-group $(1) -Wl$(COMMA)--end-group,$(1))
define LAYER_PROGRAMS
$(foreach key,BUILDS IN PREFIX BESIDE ARCHIVES LD LIBS SKIPPED,$(eval $(1)_$(key) ?= $$(any_$(key))))
$(1)_TESTS := $$(sort $$(patsubst tests/$(1)/%.c,%,$$(wildcard $$(addsuffix $$($(1)_PREFIX)*.c,tests/$(1)/ tests/$(1)/*/))))
$(1)_HELPERS ?= $$(filter-out tests/$(1)/$$($(1)_PREFIX)%.c,$$(wildcard tests/$(1)/*.c)) $$($(1)_BESIDE)
endef
define LAYER_LINK
build/$(1)/tests/$(2)/%: build/$(1)/tests/$(2)/%.o $$(patsubst %,build/$(1)/%.o,$$(basename $$($(2)_HELPERS))) \
		$$($(2)_ARCHIVES:%=build/$(1)/%)
	$$(QUIET)$$($(1)_CC) -no-pie $$($(2)_LD) $$($(1)_LINK) -o $$@ $$(filter %.o,$$^) $$(call ARCHIVES,$$(filter %.a,$$^)) $$($(2)_LIBS)
endef
$(foreach layer,$(LINKED),$(eval $(call LAYER_PROGRAMS,$(layer))))
$(foreach layer,$(LINKED),$(foreach build,$($(layer)_BUILDS),$(eval $(call LAYER_LINK,$(build),$(layer)))))
.SECONDARY:
BENCH_PROGRAMS := $(bench_TESTS:%=build/gcc-64/tests/bench/%)

# Runs what is there of a layer.
RUN = $($(1)_ENV) $(PYTHON) tests/run_layer.py $(or $($(1)_NAME),$(1)) --jobs $(JOBS) $(if $(call LACKS,$(1)),--skipped \
	"all of it: without $(call LACKS,$(1)) (make $(or $($(1)_DEPS),deps))",$(if $($(1)_SKIPPED),--skipped "$($(1)_SKIPPED)") $($(1)_PROGRAMS))
define LAYER_RULES
$(1)_PROGRAMS ?= $$(foreach b,$$($(1)_IN),$$($(1)_TESTS:%=build/$$b/tests/$(1)/%)) $$(sort $$(wildcard tests/$(1)/test_*.py tests/$(1)/check_*.py))
.PHONY: test-$(1)
test-$(1): $$($(1)_FIRST) $$(if $$(call LACKS,$(1)),,$$($(1)_PROGRAMS))
	@$$(call RUN,$(1))
endef

# Fuzzing: test-fuzz runs the corpus and a seeded hundredth, soak all of it, fuzz
# searches with libFuzzer for FUZZ_SECONDS in each target.
FUZZ_SECONDS ?= 60
FUZZ_TARGETS := $(patsubst tests/fuzz/test_fuzz_%.c,%,$(wildcard tests/fuzz/test_fuzz_*.c))
# (the host of the tests asserts by cmocka, which libFuzzer's programs do not have; no target uses it)
build/fuzz/fuzz-%: build/fuzz/tests/fuzz/test_fuzz_%.o $(patsubst %.c,build/fuzz/%.o,$(filter-out tests/common/host.c,$(fuzz_HELPERS))) \
		build/fuzz/libsim.a build/fuzz/libupmu.a
	$(QUIET)$(fuzz_CC) -no-pie -fsanitize=fuzzer,address,undefined -o $@ $(filter %.o,$^) $(call ARCHIVES,$(filter %.a,$^))
.PHONY: fuzz soak
fuzz: $(FUZZ_TARGETS:%=build/fuzz/fuzz-%)
	@for target in $(FUZZ_TARGETS); do \
		mkdir -p build/fuzz/corpus/$$target && \
		echo "== fuzz $$target" && \
		build/fuzz/fuzz-$$target -max_total_time=$(FUZZ_SECONDS) -max_len=1024 -print_final_stats=1 \
			-artifact_prefix=build/fuzz/$$target- build/fuzz/corpus/$$target tests/fuzz/corpus/$$target || exit 1; \
	done
SOAK_FUZZ := $(FUZZ_TARGETS:%=build/asan/tests/fuzz/test_fuzz_%)
SOAK_INJECT := $(soak_INJECT:%=build/gcc-64/tests/inject/test_%)
SOAK_GUESTS := $(soak_GUESTS:%=build/gcc-64/tests/unit/ports/test_%)
# Steps of tests/soak.tsv: SOAK=core, or names of some.
SOAK ?=
soak:
	@env -u MAKEFLAGS MAKE="$(MAKE) --no-print-directory" PYTHON="$(PYTHON)" JOBS=$(JOBS) SOAK_BUILDS="$(SOAK_BUILDS)" \
		SOAK_FUZZ="$(SOAK_FUZZ)" SOAK_INJECT="$(SOAK_INJECT)" SOAK_GUESTS="$(SOAK_GUESTS)" SOAK_IMPORT=$(soak_IMPORT) \
		SOAK_CHECKS="$(soak_CHECKS:%=tests/build/check_%.py)" BENCH_PROGRAMS="$(BENCH_PROGRAMS)" \
		$(PYTHON) tests/soak.py "$(MAKE)" $(JOBS) $(SOAK)

include $(wildcard $(addsuffix .mk,tools/install tools/try efi-demo/demo examples/kernel/kernel examples/virt/virt \
	examples/sbi_firmware/sbi_firmware \
	examples/el2_hypervisor/el2 tests/mutants/mutants tests/host/host tests/perf/perf tests/judges/judges tests/foreign/foreign tests/foreign/hosts))

# Layers of `make test`, and those that run alone.
ALL_LAYERS := $(C_LAYERS) build rows oracle host model trap vm perf demo kernel bochs foreign
SINGLE := vm-guest edk2 zephyr rust judges foreign-machines foreign-units foreign-demos foreign-el2 foreign-hosts foreign-sbi host-sanitized host-threads
$(foreach layer,$(C_LAYERS) $(filter-out $(C_LAYERS) rows demo foreign,$(ALL_LAYERS)) $(SINGLE),$(eval $(call LAYER_RULES,$(layer))))

# What all layers run is made by one make; then nothing is compiled twice, and no processor waits.
.PHONY: test programs
programs: objects $(PROGRAMS) $(foreach layer,$(ALL_LAYERS),$($(layer)_FIRST) $(if $(call LACKS,$(layer)),,$($(layer)_PROGRAMS)))
test:
	+@$(PYTHON) tests/run_all.py "$(MAKE)" $(JOBS) $(ALL_LAYERS)

# The test programs once more, sanitized: half as long as `make test`, and not part of it.
.PHONY: test-sanitized
test-sanitized:
	+@TEST_BUILDS=$(SANITIZED_BUILD) $(PYTHON) tests/run_all.py --again "$(MAKE)" $(JOBS) $(C_LAYERS)

# The three commands of README.md on a bare Debian 12 (BARE_OPTIONS: --at, --keep, --limit; tests/bare/run.sh --help).
.PHONY: test-bare
test-bare:
	@tests/bare/run.sh $(BARE_OPTIONS)

# Lines and branches of the library that the layers unit, inject and fuzz reach: fails below the aims.  What stays out of reach
# and why stands in tests/coverage/unreached.tsv.
.PHONY: coverage
coverage: $(foreach layer,unit inject fuzz,$($(layer)_TESTS:%=build/coverage/tests/$(layer)/%))
	@find build/coverage -name '*.gcda' -delete
	@SHARE=more INJECT_STRIDE=11 FUZZ_RUNS=3000 $(PYTHON) tests/run_layer.py coverage --jobs $(JOBS) $^ || \
		echo "tests failed: what they reach is measured all the same"
	@$(PYTHON) tests/coverage/coverage.py --line 95 --branch 90 build/coverage

# File by file as they ship: each compiler and each width.  The other two pairs are made of one source, but for FUZZ_RUNS=soak.
SHIPPED := gcc-64 clang-32 $(if $(filter soak,$(FUZZ_RUNS)),gcc-32 clang-64)
IN_ONE := $(filter-out $(SHIPPED),gcc-32 clang-64)

# The objects that test-build looks at: made here, so that they are made once.
.PHONY: objects check soak-model
objects: $(foreach b,$(SHIPPED) os,build/$(b)/libupmu.a) $(IN_ONE:%=build/%/library.o) build/gcc-64/libsim.a build/upmu $(BENCH_PROGRAMS)

check soak-model:
	@$(call RUN,$@)

.PHONY: format
format:
	clang-format -i $(shell git ls-files '*.c' '*.h' | grep -v '^events/')

# ---- Figures ----

.PHONY: size bench readme prices
size: build/os/libupmu.a
	@$(PYTHON) tools/size.py --cc "$(CC)" --limits

bench: $(BENCH_PROGRAMS)
	@$(PYTHON) tools/bench.py
	@$(PYTHON) tests/bench/touched_lines.py

readme: build/os/libupmu.a $(BENCH_PROGRAMS)
	@$(PYTHON) tools/readme.py

prices: build/os/libupmu.a
	@CC="$(CC)" $(PYTHON) tools/prices.py

# What the comments of the public headers say, as pages; a warning is an error.
.PHONY: reference check-reference
reference:
	@mkdir -p build && rm -rf build/reference
	@doxygen docs/Doxyfile
	@echo "build/reference/html/index.html is the reference"
check-reference:
	@$(PYTHON) $(check-reference_PROGRAMS)

.PHONY: stack
stack:
	@FUZZ_RUNS=soak $(MAKE) --no-print-directory objects
	@FUZZ_RUNS=soak $(PYTHON) $(stack_PROGRAMS)

# ---- The rest ----

# (what abi/paravirt calls is in abi/guest)
.PHONY: vendor
vendor:
	@rm -rf build/vendor
	@mkdir -p build/vendor
	@cp -rp --parents LICENSE upmu.mk include core backends $(sort $(wildcard $(addprefix abi/,$(VENDOR_ABI) $(if $(filter paravirt,$(VENDOR_ABI)),guest)))) $(wildcard events port/template port/x86_native port/arm32_native port/arm64_native port/riscv_native port/riscv_sbi) \
		CMakeLists.txt meson.build meson_options.txt tools/sources.py \
		$(if $(filter 0,$(VENDOR_SIM)),,$(wildcard models/sim)) build/vendor
	@find build/vendor -name '*.tsv' -delete
	@cp -p tools/options.tsv build/vendor/tools
	@echo "build/vendor holds what an embedder needs: copy it into your tree and include upmu.mk"

# A package for EDK II (EDK2_OPTIONS="-DUPMU_THREADS=0": options of include/upmu/config.h).
.PHONY: edk2
edk2:
	@$(PYTHON) tools/edk2.py build/edk2 $(EDK2_OPTIONS)

.PHONY: pair
pair:
	@$(PYTHON) tools/pair.py build
	@echo "build/upmu_all.c and build/upmu_all.h are the whole library"

.PHONY: crates
crates:
	@$(PYTHON) tools/crates.py build/crates

# ---- What the targets need: tools/packages.tsv ----

SUDO := $(if $(filter 0,$(shell id -u)),,sudo)
APT_INSTALL = $(SUDO) env DEBIAN_FRONTEND=noninteractive apt-get install -y $($@_OPTIONS) --no-install-recommends

# A list of this architecture that cannot be had ends the target: a mirror may no longer have the packages of an old list.
APT_UPDATE = $(SUDO) apt-get -o APT::Architectures="$$(dpkg --print-architecture)" -o APT::Get::List-Cleanup=0 \
	-o APT::Update::Error-Mode=any -o Acquire::Retries=3 update || \
	{ echo 'make $@: apt has no new list of a source (see above): mend that source in /etc/apt.  DEPS_OLD_LISTS=1 takes the old lists.'; \
	[ -n '$(DEPS_OLD_LISTS)' ]; }

# The 32-bit cmocka is of another architecture, and a mirror may lag behind with its list or with its packages: without
# that library the tests run in 64 bits only, and say so.
.PHONY: deps deps-demo deps-edk2 deps-judges deps-perf deps-zephyr apt
apt:
	@command -v apt-get >/dev/null || { printf '%s\n' \
		'make deps installs packages of Debian 12, and this system has no apt-get.  Install these; only Debian was tried:' \
		'Debian: apt-get install $(deps_DEBIAN)' 'Fedora: dnf install $(deps_FEDORA)' 'Arch: pacman -S $(deps_ARCH)' \
		'macOS: brew install $(deps_MACOS)' '    (compiles the library, with CC=x86_64-elf-gcc; tests and demo need Linux)'; exit 1; }
deps-demo deps-edk2 deps-judges deps-perf deps-zephyr: apt
	$(APT_UPDATE)
	$(APT_INSTALL) $($@_DEBIAN)

deps: apt
	$(SUDO) dpkg --add-architecture i386
	$(APT_UPDATE)
	$(SUDO) apt-get update || echo "apt has no new list of i386; going on with what there is"
	$(APT_INSTALL) $($@_DEBIAN)
	$(APT_INSTALL) libcmocka-dev:i386 || \
		echo "SKIPPED: libcmocka-dev:i386 cannot be installed; tests will not run as 32-bit programs"

# (Debian's standard library of 32 bits cannot be installed beside that of 64 bits on every mirror: it is unpacked.)
.PHONY: deps-rust
deps-rust: apt
	$(APT_UPDATE)
	$(APT_INSTALL) $($@_DEBIAN)
	mkdir -p build/foreign/i386
	cd build/foreign/i386 && rm -f *.deb && apt-get download libstd-rust-dev:i386 && dpkg -x libstd-rust-dev_*.deb . || \
		echo "SKIPPED: libstd-rust-dev:i386 cannot be had; the crates will not run as 32-bit programs"

# What deps-foreign and deps-rust unpacked was installed, not made, and Linux takes minutes: only distclean removes them.
UNPACKED := build/foreign/usr build/foreign/arm64 build/foreign/i386 build/foreign/linux
.PHONY: clean distclean
clean:
	rm -rf $(filter-out build/foreign,$(wildcard build/* build/.[!.]*)) $(filter-out $(UNPACKED),$(wildcard build/foreign/*))
	@rmdir build/foreign build 2>/dev/null || true
distclean:
	rm -rf build

.PHONY: help
help:
	@sed 's/@LAYERS@/$(ALL_LAYERS)/' tools/help.txt
