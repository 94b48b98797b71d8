"""Step 3 of the recipe: how well a saved draft predicts answers that the target has only just written.

Loads the draft through the recipe's own architecture, so it also shows that this architecture is the one of the file.
"""

import argparse
import random
from dataclasses import dataclass
from pathlib import Path

import torch
from chain import run_chain
from draft import DraftShape, EagleDraft, load_draft
from generate import PROMPT_SEED, collect_answers
from prompts import UNSEEN_PROMPTS, template_prompts
from rows import PROMPT_TOKENS, RowCollector, RowLimits, Rows
from target import Target, load_target

# Another seed than the data's. Most prompts it draws are in the data all the same: there are 21,600 combinations.
FRESH_SEED = 20_000
JUDGED_AT_ONCE = 4
PROMPT_SETS = ("held-out", "templates", "unseen")


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What the draft reached on a set of answers."""

    answers: int
    """Answers judged."""

    answer_tokens: int
    """Their tokens."""

    acceptance: list[float]
    """Chain acceptance of each step: share of all positions of the answers."""

    acceptance_length: float | None
    """1 + accepted / steps where the draft is run as a server runs it; None when there was nothing to draft."""


def walk(kept: torch.Tensor, prompt_length: int, length: int) -> tuple[int, int]:
    """Go through one answer as speculative decoding does, from one verification to the next.

    Args:
        kept: bool [k, T]: whether the chain that starts at a position is still right at each of its k steps.
        prompt_length: Tokens of the prompt.
        length: Tokens of prompt and answer.

    Returns:
        Verification steps, and the draft's tokens accepted in them. The first token of an answer is the prefill's.
    """
    steps = accepted = 0
    position = prompt_length - 1
    while position + 2 < length:
        kept_here = int(kept[:, position].sum())
        steps += 1
        accepted += kept_here
        position += kept_here + 1
    return steps, accepted


@torch.no_grad()
def evaluate(draft: EagleDraft, target: Target, rows: Rows, *, chain_steps: int, drafted: int) -> Evaluation:
    """Judge the draft on rows.

    Args:
        draft: The draft to judge.
        target: The target that wrote the rows.
        rows: Greedy answers: where they were sampled, the target's choices are not the row's tokens.
        chain_steps: Positions to judge.
        drafted: k, the tokens a server would let the draft propose at a time; chain_steps at most.
    """
    kept_total = [0] * chain_steps
    judged_total = [0] * chain_steps
    steps = accepted = 0
    for index in torch.arange(len(rows)).split(JUDGED_AT_ONCE):
        part = rows.select(index, target.device)
        result = run_chain(draft, target, part, chain_steps)
        for step in range(chain_steps):
            kept_total[step] += int(result.kept[step].sum())
            judged_total[step] += int(result.judged[step].sum())
        kept_rows = torch.stack(result.kept[:drafted], 1).cpu()
        for kept, prompt_length, length in zip(kept_rows, part.prompt_lengths, part.lengths, strict=True):
            row_steps, row_accepted = walk(kept, int(prompt_length), int(length))
            steps += row_steps
            accepted += row_accepted
    return Evaluation(
        answers=len(rows),
        answer_tokens=int((rows.lengths - rows.prompt_lengths).sum()),
        acceptance=[kept / max(judged, 1) for kept, judged in zip(kept_total, judged_total, strict=True)],
        acceptance_length=1 + accepted / steps if steps else None,
    )


def greedy_rows(target: Target, prompts: list[str], new_tokens: int, batch: int) -> Rows:
    """Let the target answer the prompts greedily."""
    collector = RowCollector(RowLimits(row_tokens=PROMPT_TOKENS + new_tokens), target.end_token)
    for start in range(0, len(prompts), batch):
        collect_answers(target, prompts[start : start + batch], collector, new_tokens, do_sample=False)
    return collector.rows()


def choose_prompts(name: str, count: int) -> list[str]:
    """Prompts of one set.

    `held-out`: the first prompts of generate.py, whose rows train.py reports on. `templates`: drawn anew from the same
    templates. `unseen`: written by hand, in no template.
    """
    if name == "unseen":
        return list(UNSEEN_PROMPTS[:count])
    seed = PROMPT_SEED if name == "held-out" else FRESH_SEED
    return template_prompts(random.Random(seed), count)  # noqa: S311 - a repeatable choice of prompts, not a secret


def report(name: str, result: Evaluation, drafted: int) -> str:
    """One line for people."""
    length = "unknown" if result.acceptance_length is None else f"{result.acceptance_length:.2f}"
    shares = " ".join(f"{share:.3f}" for share in result.acceptance)
    return (
        f"{name}: {result.answers} answers, {result.answer_tokens:,} tokens, chain acceptance by position {shares}, "
        f"acceptance length at k={drafted} {length}"
    )


def parse_arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    weights = Path(__file__).resolve().parent.parent / "weights"
    parser.add_argument("--target", type=Path, required=True, help="target folder, as the launcher converts it")
    parser.add_argument("--draft", type=Path, default=weights, help="draft folder (default: the shipped weights)")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--sets", nargs="+", choices=PROMPT_SETS, default=PROMPT_SETS, help="kinds of prompts")
    parser.add_argument("--prompts", type=int, default=24, help="answers of each kind; unseen has 24")
    parser.add_argument("--new-tokens", type=int, default=120, help="longest answer")
    parser.add_argument("--batch", type=int, default=8, help="answers at once")
    parser.add_argument("--steps", type=int, default=4, help="positions to report")
    parser.add_argument("--drafted", type=int, default=3, help="k for the acceptance length")
    arguments = parser.parse_args()
    if arguments.drafted > arguments.steps:
        parser.error("--drafted is larger than --steps: raise --steps to at least the same number.")
    return arguments


def main() -> None:
    """Evaluate on each set of prompts."""
    arguments = parse_arguments()
    target = load_target(arguments.target, arguments.device)
    draft = load_draft(arguments.draft, DraftShape.of(target.model.config), arguments.device)
    for name in arguments.sets:
        prompts = choose_prompts(name, arguments.prompts)
        rows = greedy_rows(target, prompts, arguments.new_tokens, arguments.batch)
        result = evaluate(draft, target, rows, chain_steps=arguments.steps, drafted=arguments.drafted)
        print(report(name, result, arguments.drafted), flush=True)


if __name__ == "__main__":
    main()
