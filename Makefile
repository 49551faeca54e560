# The verbs of Rayplay, file -> file. SCENE= WORKLOAD= SIZE= SAMPLES= GPU= FRACTION= choose.

SCENE ?= wknd
WORKLOAD ?= path-tracing
SIZE ?= 192x128
SAMPLES ?= 2
GPU ?= rtx2060
FRACTION ?=
PYTHON ?= python3

BIN := .venv/bin
SETUP := .venv/installed
SETUP_TEST := .venv/installed-for-tests
CODE := .venv/machine-code
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes
BUILD_SYSTEM := $(shell sed -n 's/^requires = \["\(.*\)"\]/\1/p' pyproject.toml)
NAME := $(subst :,-,$(basename $(notdir $(SCENE))))-$(WORKLOAD)-$(SIZE)-$(SAMPLES)
TRACE := traces/$(NAME).trace
RESULT := results/$(NAME)-$(basename $(notdir $(GPU))).result
PREDICTION := results/$(NAME)-$(basename $(notdir $(GPU)))$(if $(FRACTION),-$(FRACTION)).prediction

DATA := $(or $(RAYPLAY_DATA),../shared)/scenes
PAPER_SIZE := $(if $(QUICK),128x128,512x512)
LUMIBENCH := $(if $(QUICK),wknd car ref bunny park,wknd car ref bunny chsnt spnza bath park)
# without the real scenes, the procedural ones
PAPER_SCENES ?= $(if $(wildcard $(DATA)/park.json),$(LUMIBENCH),wknd cornell forest terrain)
PAPER_TRACES := $(foreach scene,$(PAPER_SCENES),traces/paper-$(PAPER_SIZE)/$(scene).trace)
PAPER := docs/paper/$(if $(QUICK),quick,whole)
CRISP := docs/crisp/$(if $(QUICK),quick,whole)
TUNER := docs/tuner/$(if $(QUICK),quick,whole)

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help setup trace replay zatel report paper estimate-study policies correlate crisp tuner sweep test test-all lint check docs site bench cudamath fuzz reference lock audit clean

help: ## list the verbs
	@grep -hE '^[a-z-]+:.*## ' Makefile | sed -E 's/^([a-z-]+):.*## (.*)/  make \1	\2/' | expand -t 20
	@echo "  choose with   SCENE=$(SCENE) WORKLOAD=$(WORKLOAD) SIZE=$(SIZE) SAMPLES=$(SAMPLES) GPU=$(GPU) FRACTION=$(FRACTION)"

setup: $(SETUP) ## create the environment in .venv
trace: $(TRACE)/manifest.json ## scene -> traces/NAME.trace and its picture
replay: $(RESULT)/summary.json ## trace -> cycles, the metrics on GPU, and the page that shows them
	@$(BIN)/python -m rayplay report $(RESULT) --trace $(TRACE) --out $(RESULT:.result=.html) > /dev/null
	@echo "$(RESULT:.result=.html): open it with a browser"
zatel: $(PREDICTION)/prediction.json ## predict the whole from FRACTION of the pixels (the paper's equation 1 without it)
	@echo "$(PREDICTION)/overview.png shows it"
report: ## both GPUs, and the prediction beside the full simulation on each
	@$(MAKE) --no-print-directory replay zatel GPU=mobile
	@$(MAKE) --no-print-directory replay zatel GPU=rtx2060

paper: $(PAPER_TRACES:=/manifest.json) ## Zatel's evaluation: figures, tables, findings (QUICK=1: 128x128; STUDIES= PAPER_SCENES=: a part)
	$(BIN)/python -m zatel paper $(PAPER_TRACES) $(if $(QUICK),--quick) $(if $(STUDIES),--only $(STUDIES)) --out $(PAPER) --store build/paper

STUDY_TRACES ?= $(PAPER_TRACES)
estimate-study: $(STUDY_TRACES:=/manifest.json) | $(CODE) ## the estimator with and without each of its rules (QUICK=1: 128x128; STUDY_TRACES=: others)
	$(BIN)/python -m zatel ablate $(STUDY_TRACES) --out docs/estimate --store build/estimate-study

crisp: | $(CODE) ## CRISP's evaluation: raster, compute and rays on one GPU (QUICK=1: 128x72; ONLY=EXPERIMENTS CRISP_SIZE=WxH PAIRS=MT+HOLO)
	$(BIN)/python -m crisp $(if $(QUICK),--quick) $(if $(ONLY),--only $(ONLY)) $(if $(CRISP_SIZE),--size $(CRISP_SIZE)) $(if $(PAIRS),--pairs $(PAIRS)) --out $(CRISP) --store build/crisp

TUNER_WHOLE := --gpu mobile --gpu rtx2060 --gpu rtx3070 --part 16 --tracing rt-unit --frames 100 --others 6 --store build/tuner
tuner: | $(CODE) ## the tuner's study: two animations on simulated GPUs under five controllers (QUICK=1: two procedural scenes)
ifdef QUICK
	$(BIN)/python -m tuner study terrain:2000 cornell --gpu mobile --frames 100 --first 8 --size 64x48 --rays 12 --no-oracle --out $(TUNER) --store build/tuner
else
	$(BIN)/python -m tuner study $(DATA)/bunny.json --size 320x240 --rays 3 $(TUNER_WHOLE) --out $(TUNER)/bunny
	$(BIN)/python -m tuner study $(DATA)/chsnt.json --size 96x72 --rays 2 --no-turn $(TUNER_WHOLE) --out $(TUNER)/chsnt
endif

traces/paper-$(PAPER_SIZE)/%.trace/manifest.json: | $(CODE)
	$(BIN)/python -m tracer render $* --workload path-tracing --size $(PAPER_SIZE) --samples 2 --out $(@D)

$(SETUP): pyproject.toml requirements/run.txt
	$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("Rayplay needs Python 3.11 or later: make PYTHON=/path/to/python3.11 setup")'
	$(PYTHON) -m venv .venv
	$(INSTALL) -r requirements/run.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

$(SETUP_TEST): $(SETUP) requirements/test.txt
	$(INSTALL) -r requirements/test.txt
	@touch $@

# The tracer's machine code and the engine's, made once after an installation, both at the same time.
$(CODE): $(SETUP)
	@echo "compiling the tracer and the replay engine, once"
	@mkdir -p build
	@$(BIN)/python -m replay traces/sample.trace --gpu rtx2060 --out build/sample.result > build/replay.txt 2>&1 & \
	$(BIN)/python -m tracer render cornell --size 32x32 --samples 1 --out build/first.trace > build/tracer.txt 2>&1 \
	&& wait $$! || { cat build/tracer.txt build/replay.txt >&2; exit 1; }
	@touch $@

$(TRACE)/manifest.json: | $(CODE)
	$(BIN)/python -m tracer render $(SCENE) --workload $(WORKLOAD) --size $(SIZE) --samples $(SAMPLES) --out $(TRACE)

$(RESULT)/summary.json: $(TRACE)/manifest.json | $(CODE)
	@mkdir -p results
	$(BIN)/python -m replay $(TRACE) --gpu $(GPU) --out $(RESULT)

$(PREDICTION)/prediction.json: $(TRACE)/manifest.json $(RESULT)/summary.json | $(CODE)
	$(BIN)/python -m zatel predict $(TRACE) --gpu $(GPU) $(if $(FRACTION),--fraction $(FRACTION)) --against $(RESULT) --out $(PREDICTION)

# Each process takes one half, then from what the other has left: neighbours share fixtures and machine code.
TWO := -n 2 --dist worksteal
test: $(SETUP_TEST) $(CODE) ## create the environment and pass the everyday tests (minutes)
	$(BIN)/python -m pytest $(TWO) -q -m "not later"

test-all: $(SETUP_TEST) $(CODE) ## pass every test; ONLY=QUESTION: law, oracle, gate, twin, damage, process or outside
	$(BIN)/python -m pytest $(TWO) -q $(if $(ONLY),-m $(ONLY))

lint: $(SETUP_TEST) ## format, lint and types: what `make check` does before its tests
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

# Tests that a page written by `make docs` is the code's.
PAGES := tests/formats/schema/test_schema.py::test_the_page_is_current tests/replay/test_documentation.py::test_the_page_is_current \
  tests/tracer/opcodes/test_page.py::test_the_page_is_current tests/tracer/opcodes/test_page.py::test_the_page_of_optix_calls_is_current \
  tests/sweep/test_growth.py::test_the_page_has_the_keys_of_the_code
check: lint ## format, lint, types, import rules, words, sources, links and currency of the pages
	$(BIN)/python -m pytest -q tests/test_architecture.py tests/docs $(PAGES)

sweep: $(SETUP_TEST) $(CODE) ## the example study: 4 scenes x 24 designs into docs/sweep (minutes)
	$(BIN)/python -m rayplay sweep run examples/sweeps/rt-units.toml --store build/sweep
	$(BIN)/python -m rayplay sweep report examples/sweeps/rt-units.toml --store build/sweep --out docs/sweep/rt-units.html
	$(BIN)/python -m rayplay sweep collect examples/sweeps/rt-units.toml --store build/sweep --out docs/sweep/rt-units.parquet

correlate: | $(CODE) ## every described card beside every measured row: docs/hardware (QUICK=1: a part, into build/hardware; CARDS=: some)
	$(BIN)/python -m silicon study $(if $(QUICK),--quick) $(if $(CARDS),--cards $(CARDS)) --out $(if $(QUICK)$(CARDS),build,docs)/hardware --store build/correlate

policies: $(SETUP_TEST) $(CODE) ## studies of example policies and published ideas: docs/policies (QUICK=1: smaller; TRACES=: others)
	$(BIN)/python -m bench.policies $(TRACES) --set sm.count=2 $(if $(QUICK),--quick) --out docs/policies
	$(BIN)/python -m bench.published $(if $(QUICK),--quick --size 64x64) --out docs/policies

docs: $(SETUP) ## write the pages that the code knows
	$(BIN)/python -m formats docs > docs/formats.md
	$(BIN)/python -m tracer opcodes > docs/opcodes.md
	$(BIN)/python -m rayplay.tracer.opcodes.calls > docs/programs/calls.md
	$(BIN)/python -m replay --docs > docs/replay.md
	$(BIN)/python -m rayplay.sweep.space.page

site: $(SETUP) ## the pages and a reference of the public names as a site: build/site/index.html
	$(INSTALL) -r requirements/site.txt
	$(BIN)/python -m tools.site.build build/site

bench: $(SETUP_TEST) ## measure every speed and size claim (minutes)
	for script in bench/speed/*.py bench/accuracy/*.py; do $(BIN)/python -m $$(echo $${script%.py} | tr / .) || exit 1; done

reference: $(SETUP_TEST) ## compare with Accel-Sim and Vulkan-Sim (ONLY=TEXT: the cases with TEXT in their name)
	$(BIN)/python -m outside --only "$(ONLY)"

cudamath: $(SETUP_TEST) ## CUDA's math library, 10,000 inputs a function, against the interpreter and MPFR (SEED= INPUTS=); needs nvcc
	$(BIN)/python -m tests.tracer.cuda_math $(or $(SEED),1) $(or $(INPUTS),10000)

ifdef HOURS
fuzz: $(SETUP_TEST)
	$(BIN)/python -m tests.reliability.guided --hours $(HOURS) --seed $(or $(SEED),$(shell date +%F))
else
fuzz: $(SETUP_TEST) ## mutate PTX and every kind of file; replay and machine code against their slow twins (SEED= COUNT= TRACES= PROGRAMS=); HOURS=: files, guided by coverage
	$(BIN)/python -m tests.ptx.text.fuzz $(or $(SEED),1) $(or $(COUNT),20000)
	$(BIN)/python -m tests.replay.engine.fuzz_twin $(or $(SEED),1) $(or $(TRACES),500)
	$(BIN)/python -m tests.replay.engine.odd_gpus $(or $(SEED),1) $(or $(GPUS),1000)
	$(BIN)/python -m tests.tracer.native.fuzz_bits $(or $(SEED),1) $(or $(PROGRAMS),20000)
	$(BIN)/python -m tests.reliability --only mutation --seed $(or $(SEED),1) --count $(or $(COUNT),20000)
endif

reliability: $(SETUP_TEST) ## damage and interrupt everything, write docs/reliability.md (SEED= COUNT=)
	$(BIN)/python -m tests.reliability --seed $(or $(SEED),1) --count $(or $(COUNT),2000) --docs

lock: $(SETUP_TEST) ## write requirements/*.txt: every version of constraints.txt with the hashes of its files
	$(INSTALL) -r requirements/tools.txt
	for lock in 'run' 'test --extra test --extra check' 'site --extra site'; do set -- $$lock; out=$$1; shift; \
	  echo '$(BUILD_SYSTEM)' | $(BIN)/uv pip compile --quiet --universal --python-version 3.11.5 --generate-hashes --no-header \
	    --no-annotate --upgrade -c constraints.txt pyproject.toml - $$@ -o requirements/$$out.txt || exit 1; done
	printf 'pip-audit\nuv\n' | $(BIN)/uv pip compile --quiet --universal --python-version 3.11.5 --generate-hashes --no-header \
	  --no-annotate -c constraints.txt - -o requirements/tools.txt

audit: $(SETUP_TEST) ## look for known vulnerabilities of the pinned packages; without the advisory service it says so
	$(INSTALL) -r requirements/tools.txt
	$(BIN)/python -m tools.audit requirements/test.txt requirements/site.txt

clean: ## remove what the verbs made (not the environment)
	rm -rf results build
	find traces -mindepth 1 -maxdepth 1 ! -name README.md ! -name sample.trace -exec rm -rf {} +
