# The two commands of the README; each does all the set-up it needs.
#   make run    set up, build, run the main job, leave ./fugue
#   make test   set up, build with tests, run them (CTEST_ARGS="-L quick" for a subset)
JOBS := $(shell nproc 2>/dev/null || echo 2)
CTEST_ARGS ?=
MAIN_JOB := run --exp D01 --exec seq mp unified_model

.PHONY: run test build format clean

build:
	@scripts/setup run
	@cmake --preset release -Wno-dev -DFUGUE_QUIET_BUILD=ON >/dev/null
	@echo "Building fugue with $(JOBS) jobs ..."
	@cmake --build --preset release -j $(JOBS) -- --no-print-directory -s
	@ln -sf build/release/fugue fugue

run: build
	./fugue $(MAIN_JOB)
	@scripts/next-steps

test:
	@scripts/setup test
	@cmake --preset dev -Wno-dev -DFUGUE_QUIET_BUILD=ON >/dev/null
	@echo "Building fugue and its tests with $(JOBS) jobs ..."
	@cmake --build --preset dev -j $(JOBS) -- --no-print-directory -s
	ctest --test-dir build/dev --output-on-failure -j $(JOBS) $(CTEST_ARGS)

format:
	git ls-files '*.c' '*.h' | grep -v 'src/data/digits_data.c' | xargs clang-format -i

clean:
	rm -rf build fugue
