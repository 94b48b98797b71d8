"""Step 2 of the recipe: train the draft on the data file, against the frozen target, until the time is up."""

import argparse
import math
import time
from dataclasses import dataclass
from pathlib import Path

import torch
from chain import ChainResult, mean_acceptance, run_chain
from draft import DraftShape, EagleDraft, save_draft
from rows import Rows, load_rows
from target import Target, load_target
from torch import nn

PEAK_LEARNING_RATE = 1e-3
LAST_LEARNING_RATE_SHARE = 0.02
WARM_UP_ITERATIONS = 200
LARGEST_GRADIENT_NORM = 1.0
FIRST_REPORT = 20


@dataclass(frozen=True, slots=True)
class Schedule:
    """When training ends, and how the learning rate falls until then."""

    seconds: float | None
    """Wall time of the run, or None to count iterations instead."""

    iterations: int | None
    """Iterations of the run, or None to watch the clock. One of the two is given."""

    def progress(self, elapsed_seconds: float, iteration: int) -> float:
        """Share of the run that is done; above 1 it is over."""
        if self.iterations is not None:
            return iteration / self.iterations
        return elapsed_seconds / (self.seconds or 1.0)

    def is_over(self, elapsed_seconds: float, iteration: int) -> bool:
        """Whether to start no further iteration."""
        if self.iterations is not None:
            return iteration >= self.iterations
        return self.progress(elapsed_seconds, iteration) > 1


def learning_rate(progress: float, iteration: int) -> float:
    """Linear warm-up over 200 iterations, then half a cosine down to 2 % of the peak."""
    warm_up = min(1, (iteration + 1) / WARM_UP_ITERATIONS)
    cosine = 0.5 * (1 + math.cos(math.pi * progress))
    return PEAK_LEARNING_RATE * warm_up * (cosine * (1 - LAST_LEARNING_RATE_SHARE) + LAST_LEARNING_RATE_SHARE)


def choose_draft_tokens(rows: Rows, vocabulary_size: int, count: int) -> torch.Tensor:
    """The `count` tokens most frequent in the answers, int64 [count] ascending; prints what share they cover."""
    counts = rows.answer_token_counts(vocabulary_size)
    tokens = torch.sort(torch.topk(counts, count).indices).values
    coverage = float(counts[tokens].sum() / counts.sum())
    print(f"rows {len(rows)} answer tokens {int(counts.sum())} draft-vocab coverage {coverage}", flush=True)
    return tokens


class Trainer:
    """One run: draws batches, updates the draft, reports on rows it never trains on."""

    def __init__(self, draft: EagleDraft, target: Target, rows: Rows, options: argparse.Namespace) -> None:
        self._draft = draft
        self._target = target
        self._rows = rows
        self._options = options
        self._optimiser = torch.optim.AdamW(
            draft.parameters(), lr=PEAK_LEARNING_RATE, betas=(0.9, 0.95), weight_decay=0.01
        )
        held_out = options.held_out
        # The first rows are held out. Their prompts may occur again further on: see docs/draft-model.md.
        self._training_rows = torch.randperm(len(rows) - held_out) + held_out

    def run(self, schedule: Schedule) -> None:
        """Train until the schedule is over."""
        started = time.monotonic()
        iteration = 0
        while not schedule.is_over(elapsed := time.monotonic() - started, iteration):
            rate = learning_rate(schedule.progress(elapsed, iteration), iteration)
            loss = self._update(rate)
            iteration += 1
            if iteration % self._options.report_every == 0 or iteration == FIRST_REPORT:
                acceptance = self.held_out_acceptance()
                print(
                    f"it {iteration} {elapsed:.0f}s lr {rate:.2e} loss {float(loss):.3f} held-out chain acceptance "
                    f"{[round(share, 3) for share in acceptance]} AL(k=3) {1 + sum(acceptance[:3]):.3f}",
                    flush=True,
                )

    @torch.no_grad()
    def held_out_acceptance(self) -> list[float]:
        """Chain acceptance of each step on the held-out rows, as a mean over their batches."""
        batches = torch.arange(self._options.held_out).split(self._options.batch)
        return mean_acceptance([self._chain(index).acceptance() for index in batches])

    def _update(self, rate: float) -> torch.Tensor:
        for group in self._optimiser.param_groups:
            group["lr"] = rate
        index = self._training_rows[torch.randint(0, len(self._training_rows), (self._options.batch,))]
        loss = self._chain(index).loss
        self._optimiser.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(self._draft.parameters(), LARGEST_GRADIENT_NORM)
        self._optimiser.step()
        return loss.detach()

    def _chain(self, index: torch.Tensor) -> ChainResult:
        batch = self._rows.select(index, self._target.device)
        return run_chain(self._draft, self._target, batch, self._options.steps)


def parse_arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--target", type=Path, required=True, help="target folder, as the launcher converts it")
    parser.add_argument("--data", type=Path, required=True, help="data file that generate.py wrote")
    parser.add_argument("--output", type=Path, required=True, help="folder for config.json and model.safetensors")
    length = parser.add_mutually_exclusive_group(required=True)
    length.add_argument("--seconds", type=float, help="length of the run (the shipped weights: 600)")
    length.add_argument("--iterations", type=int, help="length of the run in updates, for one that repeats exactly")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--batch", type=int, default=64, help="rows in one update")
    parser.add_argument("--held-out", type=int, default=512, help="rows kept for the report")
    parser.add_argument("--steps", type=int, default=4, help="length of the chain")
    parser.add_argument("--draft-vocabulary", type=int, default=8192, help="tokens that the draft can propose")
    parser.add_argument("--report-every", type=int, default=200, help="iterations between two reports")
    return parser.parse_args()


def main() -> None:
    """Train a draft and write it."""
    arguments = parse_arguments()
    torch.manual_seed(0)
    torch.backends.cuda.matmul.allow_tf32 = True
    target = load_target(arguments.target, arguments.device)
    rows = load_rows(arguments.data)
    config = target.model.config
    tokens = choose_draft_tokens(rows, config.vocab_size, arguments.draft_vocabulary)
    draft = EagleDraft(DraftShape.of(config), tokens).to(target.device)
    draft.initialise(target.model.get_input_embeddings().weight)
    trainer = Trainer(draft, target, rows, arguments)
    trainer.run(Schedule(seconds=arguments.seconds, iterations=arguments.iterations))
    save_draft(draft, arguments.target, arguments.output)
    print(f"wrote {arguments.output}", flush=True)


if __name__ == "__main__":
    main()
