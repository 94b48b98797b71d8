"""Step 1 of the recipe: the target answers prompts, and its answers become the data file.

On-policy data: the draft has to predict what this target says, not what a corpus says, so every answer (and about a
quarter of the prompts) is the target's own text.
"""

import argparse
import random
import time
from pathlib import Path

import torch
from prompts import openings, template_prompts
from rows import ROW_TOKENS, RowCollector, RowLimits
from target import SYSTEM_PREFIX, TURN_END, Target, chat_prompt, continue_texts, load_target

PROMPT_SEED = 0
PROMPT_CONTINUATION_TOKENS = 48
LONGEST_WRITTEN_PROMPT = 400  # characters


def written_prompts(target: Target, rng: random.Random, count: int) -> list[str]:
    """Let the target complete openings to prompts of its own (sampled at temperature 0.9)."""
    starts = openings(rng, count)
    continuations = continue_texts(
        target,
        [SYSTEM_PREFIX + start for start in starts],
        PROMPT_CONTINUATION_TOKENS,
        do_sample=True,
        temperature=0.9,
        top_p=0.95,
    )
    prompts = []
    for start, ids in zip(starts, continuations, strict=True):
        rest = target.tokenizer.decode(ids, skip_special_tokens=True).split(TURN_END)[0].strip()
        prompts.append(f"{start} {rest}".strip()[:LONGEST_WRITTEN_PROMPT])
    return prompts


def batch_prompts(target: Target, rng: random.Random, batch_number: int, size: int) -> list[str]:
    """Prompts of one batch: templates, and in every second batch half of them written by the target."""
    written = size // 2 if batch_number % 2 == 0 else 0
    prompts = template_prompts(rng, size - written)
    return prompts + written_prompts(target, rng, written) if written else prompts


def answer_sampling(batch_number: int) -> dict[str, object]:
    """Three batches of five are greedy, as the demo chats; the others add variety at temperature 0.7."""
    greedy_batches, cycle = 3, 5
    if batch_number % cycle < greedy_batches:
        return {"do_sample": False}
    return {"do_sample": True, "temperature": 0.7, "top_p": 0.95}


def collect_answers(
    target: Target, prompts: list[str], collector: RowCollector, new_tokens: int, **sampling: object
) -> None:
    """Answer the prompts as one batch and add the answers to the collector."""
    texts = [chat_prompt(prompt) for prompt in prompts]
    for text, answer in zip(texts, continue_texts(target, texts, new_tokens, **sampling), strict=True):
        prompt_ids = target.tokenizer(text, add_special_tokens=False).input_ids
        collector.add(prompt_ids, answer.tolist())


def parse_arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target", type=Path, required=True, help="target folder, as the launcher converts it")
    parser.add_argument("--data", type=Path, required=True, help="data file to write")
    parser.add_argument("--seconds", type=float, required=True, help="start no further batch after this time")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--batch", type=int, default=2048, help="prompts at once")
    parser.add_argument("--new-tokens", type=int, default=288, help="longest answer")
    parser.add_argument("--row-tokens", type=int, default=ROW_TOKENS, help="longest prompt and answer")
    return parser.parse_args()


def main() -> None:
    """Generate batches until the time is up, then write the data file."""
    arguments = parse_arguments()
    torch.manual_seed(0)
    rng = random.Random(PROMPT_SEED)  # noqa: S311 - a repeatable choice of prompts, not a secret
    target = load_target(arguments.target, arguments.device)
    collector = RowCollector(RowLimits(row_tokens=arguments.row_tokens), target.end_token)
    started = time.monotonic()
    batch_number = 0
    while time.monotonic() - started < arguments.seconds:
        prompts = batch_prompts(target, rng, batch_number, arguments.batch)
        collect_answers(target, prompts, collector, arguments.new_tokens, **answer_sampling(batch_number))
        batch_number += 1
        elapsed = time.monotonic() - started
        print(
            f"batch {batch_number} rows {len(collector)} answer tokens {collector.answer_tokens:,} {elapsed:.0f}s",
            flush=True,
        )
    arguments.data.parent.mkdir(parents=True, exist_ok=True)
    collector.rows().save(arguments.data)
    print(f"wrote {arguments.data}", flush=True)


if __name__ == "__main__":
    main()
