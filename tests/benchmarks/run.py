"""`python tests/benchmarks/run.py [streaming|traced|long|idle|startup|all] [--quick]`."""

import sys
from pathlib import Path

if __name__ == "__main__":
    tests = Path(__file__).resolve().parents[1]
    sys.path[:0] = [str(tests), str(tests.parent), str(tests.parent / "launcher")]
    from benchmarks.benchmark_report import main

    main()
