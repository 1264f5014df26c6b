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

include upmu.mk

.PHONY: all
all:

# ---- Sources: found, not registered ----

LIB_SOURCES := $(patsubst ./%,%,$(UPMU_SOURCES))
SIM_SOURCES := $(sort $(wildcard port/sim/*.c))
TOOL_SOURCES := $(sort $(wildcard tools/upmu_main.c $(patsubst %,tools/%/*.c,child cmd msr) port/linux/*.c))
CATALOG_SOURCES := $(wildcard events/*.tsv)

# ---- Flags ----

WARNINGS := -Wall -Wextra -Wpedantic -Wshadow -Wundef -Wconversion -Wsign-conversion -Wcast-qual \
	-Wstrict-prototypes -Wmissing-prototypes -Wvla -Werror
LIB_CFLAGS := $(UPMU_CFLAGS) -fno-pie -fno-pic -fno-stack-protector $(WARNINGS) -Iinclude -I.
# (lines, no variables: compiled and linked a tenth sooner)
HOST_CFLAGS := -std=gnu11 -g1 -fno-pie -Wall -Wextra -Wshadow -Werror -Iinclude -I. \
	-DUPMU_SOURCE_DIR='"$(CURDIR)"'

# A build is a compiler, a width and how it optimises.  Shipped objects are
# gcc-64, gcc-32, clang-64 and clang-32; `os` is measured; `asan` and `asan-32` watch; `installed` is for programs;
# `tool` is the command's, which knows the PMUs and the events of Arm and RISC-V, too.
BUILDS := gcc-64 gcc-32 clang-64 clang-32 os asan asan-32 fuzz installed tool
gcc-64_CC := $(CC) -m64
gcc-32_CC := $(CC) -m32
clang-64_CC := $(CLANG) -m64
clang-32_CC := $(CLANG) -m32
os_CC := $(CC) -m64
asan_CC := $(CC) -m64
asan-32_CC := $(CLANG) -m32
fuzz_CC := $(CLANG) -m64
installed_CC := $(CC)
tool_CC := $(CC) -m64
gcc-64_FLAGS := -O2
gcc-32_FLAGS := -O2
clang-64_FLAGS := -O2
clang-32_FLAGS := -O2
# (one source: -O1 is enough for gcc's warnings, and clang has none that need optimising)
gcc-32_ONE := -O1
clang-64_ONE := -O0
os_FLAGS := -Os
installed_FLAGS := -O2 -fPIC
tool_FLAGS := -O1 -DUPMU_BACKEND_ARM_PMUV3=1 -DUPMU_BACKEND_RISCV_HPM=1
asan_FLAGS := -O1 -g1 -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=all
asan_LINK := -fsanitize=address,undefined
# (the quicker of binutils' linkers takes two thirds of the time, with the sanitizers' libraries half)
QUICK_LD := $(if $(shell command -v ld.gold),-fuse-ld=gold)
# (__SANITIZE_ADDRESS__: what gcc tells the tests, which are shorter then)
# (what is left out doubles the code and its compilation; the build asan of `make soak` has it)
asan-32_FLAGS := -O1 -g1 -fno-omit-frame-pointer -fsanitize=address,undefined \
	-fno-sanitize=null,object-size,alignment,pointer-overflow -fno-sanitize-recover=all -D__SANITIZE_ADDRESS__=1
# (undefined behaviour is looked for in the library and the model; in the tests' own code by the build asan)
# (the kernel's asm/errno.h is of both widths, and clang -m32 does not look where Debian has it)
clang-32_TEST := -idirafter /usr/include/x86_64-linux-gnu
asan-32_TEST := -fno-sanitize=undefined $(clang-32_TEST)
asan-32_LINK := -fsanitize=address,undefined -L/usr/lib/i386-linux-gnu
fuzz_FLAGS := -O1 -g -fno-omit-frame-pointer -fsanitize=fuzzer-no-link,address,undefined \
	-fno-sanitize=bounds -fno-sanitize-recover=all

# Builds that the test programs are run in: by `make test` 64 bits as shipped; by `make test-sanitized`, which .ci/run runs
# too, one that is sanitized, of the other compiler and width where that can be had.  `make soak` runs SOAK_BUILDS.
HAVE_CMOCKA_32 := $(wildcard /usr/lib/i386-linux-gnu/libcmocka.so)
TEST_BUILDS ?= gcc-64
SANITIZED_BUILD := $(if $(HAVE_CMOCKA_32),asan-32,asan)
SOAK_BUILDS := asan $(if $(HAVE_CMOCKA_32),asan-32 clang-32)
clang-32_LINK := -L/usr/lib/i386-linux-gnu
gcc-32_LINK := -L/usr/lib/i386-linux-gnu

# ---- Libraries and objects ----

# Rebuilds archives when a source comes or goes.
build/sources.txt: FORCE
	@mkdir -p build
	@echo '$(LIB_SOURCES) $(SIM_SOURCES) $(TOOL_SOURCES)' | cmp -s - $@ || \
		echo '$(LIB_SOURCES) $(SIM_SOURCES) $(TOOL_SOURCES)' > $@
.PHONY: FORCE
FORCE:

# The library as one source, whose headers are read once: for builds whose single files are not asked for.
build/library.c: build/sources.txt
	@printf '#include "%s"\n' $(LIB_SOURCES) > $@

# DRAFT=1 leaves out sources that do not compile yet, so that the rest can be tried.
DRAFTED = $(if $(DRAFT),|| { echo "DRAFT: left out $(1)"; $(CC) -x c -c -o $(2) /dev/null; touch -d 1990-01-01 $(2); })

# Unit tests run for a moment: optimising them takes longer than they do, but for those that enumerate.  Those of other
# layers spend their time in the library.
ENUMERATE := test_place test_place_tags test_place_p4 test_place_netburst test_pack test_sets
TEST_LEVEL = $(if $(filter-out $(ENUMERATE),$(basename $(notdir $(filter tests/unit/% tests/golden/%,$(1))))),-O0,$(if $(filter tests/unit/% tests/inject/% tests/fuzz/% tests/vm/%,$(1)),-O1))

# Objects that are looked at by value keep their assembly text, whose call frames and lines check_stack.py reads.
KEEP_TEXT := gcc-64 gcc-32 clang-64 clang-32 os
TEXT_FLAGS = -fasynchronous-unwind-tables -g1 $(if $($(1)_AS),-fno-addrsig)
# (binutils' assembler reads clang's text in a fifth of the time)
clang-64_AS := as --64
clang-32_AS := as --32
define COMPILE
@mkdir -p $$(@D)
	$$(QUIET)$$($(1)_CC) $$(LIB_CFLAGS) $$($(1)_FLAGS) -MMD -MP $(if $(filter $(1),$(KEEP_TEXT)),-MF $$(@:.o=.d) -MT $$@ \
		$(TEXT_FLAGS) -S -o $$(@:.o=.s) $$< && $$(or $$($(1)_AS),$$($(1)_CC) -c) -o $$@ $$(@:.o=.s),-c -o $$@ $$<) $$(call DRAFTED,$$<,$$@)
endef

# A file that holds the flags of objects, written when they change: the objects depend on it.  (1: the file, 2: the flags)
define KEEP_FLAGS
$(1): FORCE
	@mkdir -p $$(@D)
	@printf '%s\n' '$(subst ','\'',$(2))' | cmp -s - $$@ || printf '%s\n' '$(subst ','\'',$(2))' > $$@
endef

define BUILD_RULES
$(call KEEP_FLAGS,build/$(1)/flags,$($(1)_CC) $(LIB_CFLAGS) $(HOST_CFLAGS) $($(1)_FLAGS) $($(1)_TEST) $($(1)_AS) $($(1)_POINTS) $($(1)_LINK) $($(1)_ONE))
build/$(1)/core/%.o: core/%.c build/$(1)/flags
	$(call COMPILE,$(1))
build/$(1)/backends/%.o: backends/%.c build/$(1)/flags
	$(call COMPILE,$(1))
build/$(1)/events/%.o: events/%.c build/$(1)/flags
	@mkdir -p $$(@D)
	$$(QUIET)$$($(1)_CC) $$(LIB_CFLAGS) $$($(1)_FLAGS) -MMD -MP -c -o $$@ $$< $$(call DRAFTED,$$<,$$@)
build/$(1)/port/%.o: port/%.c build/$(1)/flags
	@mkdir -p $$(@D)
	$$(QUIET)$$($(1)_CC) $$(LIB_CFLAGS) $$($(1)_FLAGS) -MMD -MP -c -o $$@ $$< $$(call DRAFTED,$$<,$$@)
# (a port for programs, not freestanding)
build/$(1)/port/linux/%.o: port/linux/%.c build/$(1)/flags
	@mkdir -p $$(@D)
	$$(QUIET)$$($(1)_CC) $$(HOST_CFLAGS) $$($(1)_FLAGS) -MMD -MP -c -o $$@ $$<
build/$(1)/tests/%.o: tests/%.c build/$(1)/flags
	@mkdir -p $$(@D)
	$$(QUIET)$$($(1)_CC) $$(HOST_CFLAGS) $$(UPMU_DEFINES) $$(filter-out -Os,$$($(1)_FLAGS)) $$($(1)_TEST) $$(call TEST_LEVEL,$$<) -MMD -MP -c -o $$@ $$<
build/$(1)/tools/%.o: tools/%.c build/$(1)/flags
	@mkdir -p $$(@D)
	$$(QUIET)$$($(1)_CC) $$(HOST_CFLAGS) $$($(1)_FLAGS) -MMD -MP -c -o $$@ $$<

build/$(1)/library.o: build/library.c build/$(1)/flags
	@mkdir -p $$(@D)
	$$(QUIET)$$($(1)_CC) $$(LIB_CFLAGS) $$(or $$($(1)_ONE),$$($(1)_FLAGS)) -MMD -MP -c -o $$@ $$<
build/$(1)/libupmu.a: $$(LIB_SOURCES:%.c=build/$(1)/%.o) build/sources.txt
	@rm -f $$@
	$$(QUIET)ar rcs $$@ $$(filter %.o,$$^)
build/$(1)/libsim.a: $$(SIM_SOURCES:%.c=build/$(1)/%.o) build/sources.txt
	@rm -f $$@
	$$(QUIET)ar rcs $$@ $$(filter %.o,$$^)
endef
$(foreach build,$(BUILDS),$(eval $(call BUILD_RULES,$(build))))
# The command shows all that the library can do.
build/tool/%.o: LIB_CFLAGS := $(subst $(UPMU_OPTIONS:%=-D%),,$(LIB_CFLAGS))

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

# ---- Programs that measure ----

BENCH_PROGRAMS := $(patsubst %.c,build/gcc-64/%,$(wildcard tests/bench/bench_*.c))
BENCH_HELPERS := $(patsubst %.c,build/gcc-64/%.o,$(filter-out tests/bench/bench_%.c,$(wildcard tests/bench/*.c)))
build/gcc-64/tests/bench/%: build/gcc-64/tests/bench/%.o $(BENCH_HELPERS) build/gcc-64/libsim.a build/gcc-64/libupmu.a
	$(QUIET)$(gcc-64_CC) -no-pie -o $@ $(filter %.o,$^) -Wl,--start-group $(filter %.a,$^) -Wl,--end-group

# ---- Test layers ----
#
# A layer is tests/LAYER/test_*.c, and ROOM/test_*.c where the layer has rooms; each is a program, linked with
# the other files of the layer's folder and the whole library, and is run in every build of TEST_BUILDS.

LAYERS := unit golden inject fuzz
define LAYER_RULES
$(1)_TESTS := $$(sort $$(patsubst tests/$(1)/%.c,%,$$(wildcard tests/$(1)/test_*.c tests/$(1)/*/test_*.c)))
$(1)_HELPERS := $$(filter-out tests/$(1)/test_%.c,$$(wildcard tests/$(1)/*.c)) $$(wildcard tests/common/*.c)
.PHONY: test-$(1)
PROGRAMS += $$(foreach b,$$(TEST_BUILDS),$$($(1)_TESTS:%=build/$$(b)/tests/$(1)/%))
test-$(1): $$(foreach b,$$(TEST_BUILDS),$$($(1)_TESTS:%=build/$$(b)/tests/$(1)/%))
	@$$(PYTHON) tests/run_layer.py $(1) --jobs $$(JOBS) $$(if $$(filter gcc-64,$$(TEST_BUILDS)),--skipped "$$(SANITIZED_BUILD): make test-sanitized and .ci/run run it") $$^
endef
define LAYER_LINK
build/$(1)/tests/$(2)/%: build/$(1)/tests/$(2)/%.o $$($(2)_HELPERS:%.c=build/$(1)/%.o) build/$(1)/libsim.a build/$(1)/libupmu.a
	$$(QUIET)$$($(1)_CC) -no-pie $$(QUICK_LD) $$($(1)_LINK) -o $$@ $$(filter %.o,$$^) \
		-Wl,--start-group $$(filter %.a,$$^) -Wl,--end-group -lcmocka
endef
$(foreach layer,$(LAYERS),$(eval $(call LAYER_RULES,$(layer))))
$(foreach layer,$(LAYERS),$(foreach build,gcc-64 gcc-32 clang-64 clang-32 asan asan-32,$(eval $(call LAYER_LINK,$(build),$(layer)))))
.SECONDARY:

# Fuzzing: test-fuzz runs the corpus and a seeded hundredth, soak all of it, fuzz
# searches with libFuzzer for FUZZ_SECONDS in each target.
FUZZ_SECONDS ?= 60
FUZZ_TARGETS := $(patsubst tests/fuzz/test_fuzz_%.c,%,$(wildcard tests/fuzz/test_fuzz_*.c))
build/fuzz/tests/fuzz/%.o: HOST_CFLAGS += -DFUZZ_LIBFUZZER=1
# (the host of the tests asserts by cmocka, which libFuzzer's programs do not have; no target uses it)
FUZZ_HELPERS := $(filter-out tests/common/host.c,$(fuzz_HELPERS))
build/fuzz/fuzz-%: build/fuzz/tests/fuzz/test_fuzz_%.o $(FUZZ_HELPERS:%.c=build/fuzz/%.o) build/fuzz/libsim.a build/fuzz/libupmu.a
	$(QUIET)$(fuzz_CC) -no-pie -fsanitize=fuzzer,address,undefined -o $@ $(filter %.o,$^) \
		-Wl,--start-group $(filter %.a,$^) -Wl,--end-group
.PHONY: fuzz soak
fuzz: $(FUZZ_TARGETS:%=build/fuzz/fuzz-%)
	@for target in $(FUZZ_TARGETS); do \
		mkdir -p build/fuzz/corpus/$$target && \
		echo "== fuzz $$target" && \
		build/fuzz/fuzz-$$target -max_total_time=$(FUZZ_SECONDS) -max_len=1024 -print_final_stats=1 \
			-artifact_prefix=build/fuzz/$$target- build/fuzz/corpus/$$target tests/fuzz/corpus/$$target || exit 1; \
	done
SOAK_FUZZ := $(FUZZ_TARGETS:%=build/asan/tests/fuzz/test_fuzz_%)
SOAK_INJECT := $(patsubst %,build/gcc-64/tests/inject/test_%,inject inject_amd inject_models inject_p4)
soak: $(SOAK_FUZZ) $(SOAK_INJECT)
	@FUZZ_RUNS=soak $(MAKE) --no-print-directory objects
	@$(MAKE) --no-print-directory TEST_BUILDS="$(SOAK_BUILDS)" $(LAYERS:%=test-%)
	@FUZZ_RUNS=soak TEST_LIMIT_S=7200 $(MAKE) --no-print-directory TEST_BUILDS="gcc-64 asan" test-unit test-inject
	@for name in abi embed examples hosts objects readme stack; do \
		FUZZ_RUNS=soak $(PYTHON) tests/build/check_$$name.py || exit 1; \
	done
	@$(MAKE) --no-print-directory check-reference
	@FUZZ_RUNS=soak $(PYTHON) tests/build/check_install.py
	@FUZZ_RUNS=soak $(PYTHON) tests/build/check_integrations.py
	@$(PYTHON) tests/bench/worst/worst_place.py 10000
	@$(PYTHON) tools/catalog_pack.py --check --whole
	@BENCH_EVERY=1 $(PYTHON) tests/build/check_bench.py
	@RECORDS_RUNS=soak $(PYTHON) tests/build/check_records.py
	@RECORDS_RUNS=soak $(PYTHON) tests/build/check_units.py
	@$(MAKE) --no-print-directory fuzz FUZZ_SECONDS=10
	@$(MAKE) --no-print-directory soak-host
	@$(MAKE) --no-print-directory soak-model
	@TRAP_RUNS=soak VM_RUNS=soak BOCHS_RUNS=soak $(MAKE) --no-print-directory test-trap test-vm test-bochs
	@FOREIGN_RUNS=soak $(MAKE) --no-print-directory test-foreign mutants-foreign mutants-foreign-hosts
	@for level in O0 O2 Os; do \
		$(MAKE) --no-print-directory foreign-closure FOREIGN_AT=build/foreign/$$level FOREIGN_OPTIONS=-$$level || exit 1; done
	@FUZZ_RUNS=soak IMPORT_MUTATIONS=10000 $(PYTHON) tests/run_layer.py soak --jobs $(JOBS) $(SOAK_FUZZ) tests/build/check_import.py
	@echo "== every access (half an hour of CPU)"
	@INJECT_STRIDE=1 TEST_LIMIT_S=10800 $(PYTHON) tests/run_layer.py soak-inject --jobs $(JOBS) $(SOAK_INJECT)
	@for early in 1 2 3 4 5 6 7 8; do \
		echo "== an overflow $$early accesses before a fault" && \
		INJECT_EARLY=$$early INJECT_STRIDE=7 $(PYTHON) tests/run_layer.py soak-inject --jobs $(JOBS) $(SOAK_INJECT) || exit 1; \
	done

include tools/install.mk
include tools/try.mk
-include efi-demo/demo.mk
-include tests/oracle/oracle.mk
-include tests/trap/trap.mk
-include tests/mutants/mutants.mk
-include tests/coverage/coverage.mk
-include tests/vm/vm.mk
-include examples/kernel/kernel.mk
-include examples/virt/virt.mk
-include tests/kernel/kernel.mk
-include tests/bochs/bochs.mk
-include tests/host/host.mk
-include tests/model/model.mk
-include tests/foreign/foreign.mk
-include tests/foreign/hosts.mk
-include tests/zephyr/zephyr.mk
-include tests/rust/rust.mk

ALL_LAYERS := $(foreach layer,$(LAYERS),$(if $($(layer)_TESTS),$(layer))) build $(if $(wildcard tests/mutants/mutants.mk),rows) \
	$(if $(wildcard tests/oracle/oracle.mk),oracle) $(if $(wildcard tests/host/host.mk),host) $(if $(wildcard tests/model/model.mk),model) $(if $(wildcard tests/trap/trap.mk),trap) $(if $(wildcard tests/vm/vm.mk),vm) $(if $(wildcard efi-demo/demo.mk),demo) \
	$(if $(wildcard tests/kernel/kernel.mk),kernel) $(if $(wildcard tests/bochs/bochs.mk),bochs) \
	$(if $(wildcard tests/foreign/foreign.mk),foreign)

# What all layers run is made by one make; then nothing is compiled twice, and no processor waits.
.PHONY: test programs
programs: objects $(PROGRAMS)
test:
	+@$(PYTHON) tests/run_all.py "$(MAKE)" $(JOBS) $(ALL_LAYERS)

# The test programs once more, sanitized: half as long as `make test`, and not part of it.
.PHONY: test-sanitized
test-sanitized:
	+@TEST_BUILDS=$(SANITIZED_BUILD) $(PYTHON) tests/run_all.py --again "$(MAKE)" $(JOBS) $(foreach layer,$(LAYERS),$(if $($(layer)_TESTS),$(layer)))

# The three commands of README.md on a bare Debian 12 (BARE_OPTIONS: --at, --keep, --limit; tests/bare/run.sh --help).
.PHONY: test-bare
test-bare:
	@tests/bare/run.sh $(BARE_OPTIONS)

BUILD_CHECKS := $(sort $(wildcard tests/build/check_*.py))
# File by file as they ship: each compiler and each width.  The other two pairs are made of one source, but for FUZZ_RUNS=soak.
SHIPPED := gcc-64 clang-32 $(if $(filter soak,$(FUZZ_RUNS)),gcc-32 clang-64)
IN_ONE := $(filter-out $(SHIPPED),gcc-32 clang-64)
.PHONY: test-build check
test-build: objects
	@$(PYTHON) tests/run_layer.py build --jobs $(JOBS) $(BUILD_CHECKS)

# The objects that test-build looks at: made here, so that they are made once.
.PHONY: objects
objects: $(foreach b,$(SHIPPED) os,build/$(b)/libupmu.a) $(IN_ONE:%=build/%/library.o) build/gcc-64/libsim.a build/upmu $(BENCH_PROGRAMS)

# Only the rules that read source text: quick, before a commit.
check:
	@$(PYTHON) tests/run_layer.py check --jobs $(JOBS) tests/build/check_source.py

.PHONY: format
format:
	clang-format -i $(shell git ls-files '*.c' '*.h' | grep -v '^events/')

# ---- Figures ----

.PHONY: size bench readme prices
size: build/os/libupmu.a
	@$(PYTHON) tools/size.py --cc "$(CC)" --limits

bench: $(BENCH_PROGRAMS)
	@$(PYTHON) tools/bench.py

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
	@$(PYTHON) tests/build/check_reference.py doxygen_has_nothing_to_complain_about

.PHONY: stack
stack:
	@FUZZ_RUNS=soak $(MAKE) --no-print-directory objects
	@FUZZ_RUNS=soak $(PYTHON) tests/build/check_stack.py --write

# ---- The rest ----

.PHONY: vendor
vendor:
	@rm -rf build/vendor
	@mkdir -p build/vendor
	@cp -rp --parents LICENSE upmu.mk include core backends $(wildcard abi events port/template port/x86_native port/arm32_native port/arm64_native port/riscv_native port/riscv_sbi) \
		CMakeLists.txt meson.build meson_options.txt tools/sources.py \
		$(if $(filter 0,$(VENDOR_SIM)),,$(wildcard port/sim)) build/vendor
	@find build/vendor -name '*.tsv' -delete
	@echo "build/vendor holds what an embedder needs: copy it into your tree and include upmu.mk"

# A package for EDK II (EDK2_OPTIONS="-DUPMU_THREADS=0": options of include/upmu/config.h).
.PHONY: edk2
edk2:
	@$(PYTHON) tools/edk2.py build/edk2 $(EDK2_OPTIONS)

.PHONY: pair
pair:
	@$(PYTHON) tools/pair.py build
	@echo "build/upmu_all.c and build/upmu_all.h are the whole library"

# What `make demo` needs, and what the tests need beside that.
DEPS_DEMO := gcc binutils libc6-dev make python3 gnu-efi ovmf qemu-system-x86 mtools fdisk
DEPS := $(DEPS_DEMO) g++ libc6-dev-i386 lib32gcc-12-dev clang libclang-rt-14-dev llvm-14 git ovmf-ia32 libcmocka-dev \
	libpfm4-dev valgrind gcovr clang-format bochs bochsbios vgabios nasm grub-common grub-pc-bin xorriso spin \
	cmake meson ninja-build pkg-config groff-base doxygen linux-perf \
	protobuf-compiler golang-github-google-pprof-dev
# The same elsewhere, as far as there are packages.  What is missing is skipped by the tests, which say so.
DEPS_FEDORA := gcc gcc-c++ binutils glibc-devel glibc-devel.i686 libgcc.i686 make python3 gnu-efi-devel edk2-ovmf \
	edk2-ovmf-ia32 qemu-system-x86 mtools util-linux clang compiler-rt llvm git libcmocka-devel libpfm-devel valgrind gcovr \
	clang-tools-extra bochs nasm grub2-tools-extra grub2-pc-modules xorriso cmake meson ninja-build pkgconf-pkg-config \
	groff-base doxygen perf protobuf-compiler
DEPS_ARCH := gcc lib32-glibc lib32-gcc-libs binutils make python gnu-efi edk2-ovmf qemu-system-x86 mtools util-linux clang \
	compiler-rt llvm git cmocka valgrind nasm grub libisoburn cmake meson ninja pkgconf groff doxygen \
	perf protobuf
DEPS_MACOS := x86_64-elf-gcc x86_64-elf-binutils make python qemu mtools llvm cmocka nasm xorriso cmake meson ninja pkgconf \
	groff doxygen
SUDO := $(if $(filter 0,$(shell id -u)),,sudo)

# A list of this architecture that cannot be had ends the target: a mirror may no longer have the packages of an old list.
APT_UPDATE = $(SUDO) apt-get -o APT::Architectures="$$(dpkg --print-architecture)" -o APT::Get::List-Cleanup=0 \
	-o APT::Update::Error-Mode=any -o Acquire::Retries=3 update || \
	{ echo 'make $@: apt has no new list of a source (see above): mend that source in /etc/apt.  DEPS_OLD_LISTS=1 takes the old lists.'; \
	[ -n '$(DEPS_OLD_LISTS)' ]; }

# The 32-bit cmocka is of another architecture, and a mirror may lag behind with its list or with its packages: without
# that library the tests run in 64 bits only, and say so.
.PHONY: deps deps-demo apt
apt:
	@command -v apt-get >/dev/null || { printf '%s\n' \
		'make deps installs packages of Debian 12, and this system has no apt-get.  Install these; only Debian was tried:' \
		'Debian: apt-get install $(DEPS)' 'Fedora: dnf install $(DEPS_FEDORA)' 'Arch: pacman -S $(DEPS_ARCH)' \
		'macOS: brew install $(DEPS_MACOS)' '    (compiles the library, with CC=x86_64-elf-gcc; tests and demo need Linux)'; exit 1; }
deps-demo: apt
	$(APT_UPDATE)
	$(SUDO) env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $(DEPS_DEMO)

deps: apt
	$(SUDO) dpkg --add-architecture i386
	$(APT_UPDATE)
	$(SUDO) apt-get update || echo "apt has no new list of i386; going on with what there is"
	$(SUDO) env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $(DEPS)
	$(SUDO) env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends libcmocka-dev:i386 || \
		echo "SKIPPED: libcmocka-dev:i386 cannot be installed; tests will not run as 32-bit programs"

# What deps-foreign and deps-rust unpacked was installed, not made: only distclean removes it.
UNPACKED := build/foreign/usr build/foreign/arm64 build/foreign/i386
.PHONY: clean distclean
clean:
	rm -rf $(filter-out build/foreign,$(wildcard build/* build/.[!.]*)) $(filter-out $(UNPACKED),$(wildcard build/foreign/*))
	@rmdir build/foreign build 2>/dev/null || true
distclean:
	rm -rf build

.PHONY: help
help:
	@echo "try            counts, a thread switch and samples on the silicon model, in seconds; needs make and a C compiler alone"
	@echo "all            the library, the silicon model, build/upmu"
	@echo "tools          build/upmu, and links to it: pmcstat, pmcstat_p4 and so on (pmcstat-links)"
	@echo "deps           install what the rest needs (Debian 12, apt); adds the architecture i386 for 32-bit tests"
	@echo "deps-demo      install what the demo needs, and nothing else"
	@echo "deps-foreign   install what test-foreign needs: compilers, libraries and emulators of Arm and RISC-V"
	@echo "test-foreign   boot the library on Arm and RISC-V machines of QEMU; mutants-foreign: is each change noticed there?"
	@echo "test-foreign-demos  the demos on them, a part of test-foreign; test-foreign-hosts: the simulated host made for AArch64"
	@echo "soak-foreign-hosts  HOSTS_SEEDS of the simulated host on AArch64 and RISC-V (1,000); mutants-foreign-hosts: what x86 does not notice"
	@echo "test-zephyr    the module for Zephyr (docs/ZEPHYR.md) on a kernel that stands for it; after deps-zephyr"
	@echo "install        the tool, its manual pages and completion, library, silicon model, headers, files for pkg-config and CMake: PREFIX=/usr/local DESTDIR="
	@echo "uninstall      remove them"
	@echo "version        the version, if all files that state one agree; otherwise which of them differ"
	@echo "demo           boot the UEFI demo under QEMU and show what it measured"
	@echo "demo-run       the same, interactive"
	@echo "screenshots    docs/screenshots: pictures of its screen, by QEMU without a window"
	@echo "deps-demo-arm  install what the next needs: a compiler and an emulator of AArch64, EDK II, GNU-EFI below build/"
	@echo "demo-efi-arm   boot the UEFI demo on QEMU's AArch64, whose PMU counts; demo-efi-arm-run: interactive"
	@echo "demo-arm, demo-riscv  a kernel with upmu vendored in counts and samples on QEMU's AArch64, RISC-V; after deps-foreign"
	@echo "usb            build/upmu-usb.img: a disk image for a USB stick, to boot the demo on a machine; usb-arm: for Arm machines"
	@echo "demo-bios      the same commands in a kernel of their own: boot it under QEMU as a Pentium 4"
	@echo "kernel         build it (build/kernel; examples/kernel/README.md)"
	@echo "test           every layer of tests, then totals (SLOW=1: the slowest programs, too)"
	@echo "test-sanitized the test programs once more, of the other compiler and width, with sanitizers (.ci/run runs it, too)"
	@echo "programs       what they run, made and not run"
	@echo "test-LAYER     one of: $(ALL_LAYERS)   (V=1 shows commands, TEST_BUILDS=... chooses builds)"
	@echo "fuzz, soak     libFuzzer for FUZZ_SECONDS a target; the whole numbers of the seeded runs, other sweeps (hours)"
	@echo "test-host      the simulated host: a fixed number of seeds (soak-host: 10^9 hook calls, or HOST_SEEDS; also test-host-threads, -mutants)"
	@echo "test-model     the protocol between calls, handlers and CPUs as models for spin (soak-model: larger bounds)"
	@echo "test-mutants   the model's rules and the library's lines changed, one at a time: does a test notice?"
	@echo "test-rows-all  the same for what the requirements state, each held against the test mapped to it"
	@echo "coverage       lines and branches that the tests reach (gcovr)"
	@echo "test-bare      the three commands of README.md in a bare Debian 12 (debootstrap, root, 10 to 20 minutes; BARE_OPTIONS=--help)"
	@echo "check          the rules that source text must keep"
	@echo "size, bench    bytes; register accesses and instructions"
	@echo "prices         put what each build option costs into docs/SIZE.md"
	@echo "readme         put these figures into README.md and docs/FIGURES.md"
	@echo "stack          put the stack of each call into docs/PORTING.md"
	@echo "reference      build/reference/html: what the public headers say (Doxygen; check-reference: it has no complaint)"
	@echo "vendor         copy what an embedder needs to build/vendor (VENDOR_SIM=0: without the silicon model)"
	@echo "edk2           build/edk2/UpmuPkg: a package for EDK II, with an INF of the library and its ports for UEFI"
	@echo "crates         build/crates: the crates of bindings/rust with the C sources in them (docs/RUST.md); deps-rust: what they need"
	@echo "test-rust      build and run them on the silicon model, by Debian's cargo, offline (.ci/run runs it, too)"
	@echo "pair           the whole library as two files, build/upmu_all.c and build/upmu_all.h"
	@echo "UPMU_EVENTS=\"skl p4\"  with all, size ...: the events of these models only (docs/CATALOGUES.md)"
	@echo "parts of these: objects (libraries that test-build looks at), man, demo-apps, kernel-images, kernel-iso, virt-kernels,"
	@echo "               foreign-made, foreign-programs, foreign-closure, test-foreign-units, test-foreign-machines, test-host-mutants,"
	@echo "               test-mutants-sample, test-vm-guest, apt; help: these lines"
	@echo "format, clean, distclean (also what deps-foreign and deps-rust unpacked)"
