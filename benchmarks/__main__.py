"""``python -m benchmarks run <suite> [--quick] [--only PATTERN]``, or ``... list``."""

from __future__ import annotations

import argparse
from importlib import import_module
from pathlib import Path

from benchmarks.run import Settings, merge, run_suite


def _suites() -> list[str]:
    folder = Path(__file__).resolve().parent / "suites"
    return sorted(p.stem for p in folder.glob("*.py") if p.stem != "__init__")


def _list() -> None:
    from benchmarks import competitors
    from benchmarks.problems import datasets

    for name in _suites():
        suite = import_module(f"benchmarks.suites.{name}")
        print(f"suite {name}: {', '.join(section.name for section in suite.sections)}")
    for package in competitors.discover().values():
        print(f"competitor {package.name}: {package.available() or 'ready'}")
    for name, reason in competitors.special().items():
        print(f"competitor {name}: {reason or 'ready'}")
    for name in datasets.REGISTRY:
        print(f"data {name}: {'ready' if datasets.present(name) else 'missing'}")


def main() -> None:
    """Parse the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("list", help="suites, competitors and data sets, with what is missing")
    run = commands.add_parser("run", help="run one suite and write benchmarks/results/<suite>.*")
    run.add_argument("suite", choices=_suites())
    run.add_argument("--quick", action="store_true", help="small sizes; writes *.partial.*")
    run.add_argument(
        "--only", default="*", help="section, or section/item, with wildcards: 'logistic/a9a*'"
    )
    run.add_argument(
        "--budget", type=float, help="minutes; every section gets a share, breadth first"
    )
    run.add_argument(
        "--resume", action="store_true", help="keep the cells that are in the results file already"
    )
    run.add_argument(
        "--before", help="source folder of another checkout, for suites that compare with one"
    )
    merged = commands.add_parser(
        "merge", help="put the cells of other results files into a suite's"
    )
    merged.add_argument("suite", choices=_suites())
    merged.add_argument("files", type=Path, nargs="+", help="such as results/<suite>.partial.json")
    options = parser.parse_args()
    if options.command == "list":
        _list()
    elif options.command == "merge":
        merge(import_module(f"benchmarks.suites.{options.suite}"), options.files)
    else:
        suite = import_module(f"benchmarks.suites.{options.suite}")
        reason = suite.missing() if hasattr(suite, "missing") else None
        if reason:  # such as a suite for a GPU where there is none
            print(reason)
            return
        settings = Settings(
            quick=options.quick, only=options.only, budget=options.budget, resume=options.resume,
            before=options.before,
        )  # fmt: skip
        run_suite(suite, settings)


if __name__ == "__main__":
    main()
