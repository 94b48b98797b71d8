"""The page's style sheet. Holds no colour: the page gives it the palettes of a light and a dark theme by name."""

from collections.abc import Mapping

_BLOCKS = """
* { box-sizing: border-box; }
html { color-scheme: light dark; -webkit-text-size-adjust: 100%; }
body { margin: 0; background: var(--background); color: var(--foreground);
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", "Liberation Sans", sans-serif; }
main { max-width: 1120px; margin: 0 auto; padding: 28px 24px 64px; }
h1, h2, h3, p, dl, dd, table { margin: 0; }
h1 { font-size: 1.6rem; line-height: 1.3; font-weight: 650; letter-spacing: -.01em; text-wrap: balance; }
h2 { font-size: 1.2rem; margin: 0 0 4px; }
h3 { font-size: .85rem; font-weight: 600; color: var(--muted); }
section { margin-top: 44px; }
bdi { overflow-wrap: anywhere; }
svg { display: block; }
.brand { display: flex; flex-wrap: wrap; gap: 2px 16px; color: var(--muted); font-size: .875rem; margin-bottom: 20px; }
.brand b { color: var(--primary); }
.hero { display: grid; grid-template-columns: auto minmax(0, 1fr); gap: 20px 40px; align-items: center;
  background: var(--surface); border: 1px solid var(--border); border-radius: 14px; padding: 26px 30px; }
.hero h1 { grid-column: 1 / -1; }
.big { font-size: 4.5rem; line-height: 1; font-weight: 700; letter-spacing: -.03em; color: var(--on);
  font-variant-numeric: tabular-nums; white-space: nowrap; }
.big.unsure { color: var(--muted); }
.big + p { color: var(--muted); margin-top: 8px; max-width: 18rem; }
.big + p b { color: var(--foreground); font-weight: 600; }
.warning { border-left: 4px solid var(--warning); background: var(--surface); padding: 10px 16px; margin: 0 0 16px; }
.warning b { color: var(--warning); }
.lead { color: var(--muted); max-width: 46rem; margin-bottom: 14px; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(160px, 1fr)); gap: 14px; margin-top: 14px; }
.tiles > div { border: 1px solid var(--border); border-radius: 10px; padding: 12px 16px; }
.tiles strong { display: block; font-size: 1.5rem; line-height: 1.35; font-variant-numeric: tabular-nums; }
.tiles small { display: block; color: var(--muted); font-size: .8125rem; line-height: 1.4; }
ul { margin: 8px 0 0; padding-left: 1.2em; max-width: 52rem; }
li { margin: 5px 0; overflow-wrap: anywhere; }
.key { display: flex; flex-wrap: wrap; gap: 4px 22px; color: var(--muted); font-size: .8125rem; margin-bottom: 8px; }
.key span { display: inline-flex; align-items: center; gap: 7px; }
.swatch { display: inline-block; width: 10px; height: 10px; border-radius: 50%; flex: none; }
.swatch.on { background: var(--on); }
.swatch.off { border: 2px solid var(--off); background: var(--background); }
.swatch.hollow { border: 2px solid var(--on); background: var(--background); }
.swatch.whisker, .swatch.joint, .swatch.level { width: 20px; height: 3px; border-radius: 2px; }
.swatch.whisker { background: var(--on); }
.swatch.joint { background: var(--muted); }
.swatch.level { background: var(--foreground); }
.swatch.band { width: 18px; height: 12px; border-radius: 2px; background: var(--on); opacity: .2; }
.swatch.even { width: 0; height: 14px; border-radius: 0; border-left: 2px dashed var(--muted); }
.row { display: grid; grid-template-columns: minmax(0, 19rem) minmax(0, 1fr) 9.6rem; gap: 0 18px; align-items: center;
  font-size: .875rem; }
.row .label { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.row .value { font-variant-numeric: tabular-nums; white-space: nowrap; }
.row.total .label, .row.total .value { font-weight: 650; }
.bars .row, .accepted .row { grid-template-columns: 6.5rem minmax(0, 1fr) 3.6rem; }
.bars .label { text-align: right; }
.columns { display: grid; grid-template-columns: repeat(auto-fit, minmax(300px, 1fr)); gap: 24px 48px; }
.columns > div > .lanes { margin-top: 8px; }
.two { display: grid; grid-template-columns: minmax(0, 6fr) minmax(0, 5fr); gap: 0 40px; }
.lane, .plane svg { overflow: visible; }
.thin .row.axis { display: block; }
.grid { stroke: var(--border); stroke-width: 1; }
.even { stroke: var(--muted); stroke-width: 2; stroke-dasharray: 4 3; }
.band { fill: var(--on); opacity: .16; }
.border { stroke: var(--muted); stroke-width: 1; stroke-dasharray: 2 4; }
.whisker { stroke: var(--on); stroke-width: 3; stroke-linecap: round; opacity: .55; }
.thin .whisker { stroke-width: 2; }
.thin .dot { r: 2.5px; stroke-width: 1; }
.thin svg svg { overflow: visible; }
.total .whisker { stroke-width: 5; }
.joint { stroke: var(--muted); stroke-width: 3; stroke-linecap: round; opacity: .5; }
.level { stroke: var(--foreground); stroke-width: 2.5; }
.dot { stroke: var(--background); stroke-width: 1; }
.dot.on { fill: var(--on); }
.dot.off { fill: var(--background); stroke: var(--off); stroke-width: 2; }
.dot.hollow { fill: var(--background); stroke: var(--on); stroke-width: 2; }
.dot.beyond { font-size: 13px; stroke: none; text-anchor: middle; }
.dot.beyond.on { fill: var(--on); }
.dot.beyond.off { fill: var(--off); }
.bar.on { fill: var(--on); }
.bar.off { fill: var(--off); }
.tick { font: 12px/1 system-ui, -apple-system, "Segoe UI", "Liberation Sans", sans-serif; fill: var(--muted);
  text-anchor: middle; font-variant-numeric: tabular-nums; }
.tick.end { text-anchor: end; }
.plane { display: grid; grid-template-columns: 34px minmax(0, 1fr); gap: 10px; padding: 8px 0; }
.unit { color: var(--muted); font-size: .8125rem; text-align: center; }
.nothing { color: var(--muted); font-style: italic; }
table { border-collapse: collapse; width: 100%; font-size: .875rem; font-variant-numeric: tabular-nums; }
th, td { padding: 7px 10px; border-bottom: 1px solid var(--border); text-align: right; vertical-align: top; }
th:first-child, td.text, .facts td, .facts thead th { text-align: left; }
thead th { color: var(--muted); font-weight: 600; font-size: .8125rem; line-height: 1.3; vertical-align: bottom; }
tbody th { font-weight: 400; }
tr.total th, tr.total td { font-weight: 650; border-bottom: 0; background: var(--surface); }
table.facts th[scope=row] { color: var(--muted); width: 30%; }
table.facts { align-self: start; }
table.facts td { overflow-wrap: anywhere; }
dl.facts { font-size: .875rem; }
.wide dl.facts > div { grid-template-columns: minmax(0, 19rem) minmax(0, 1fr); }
dl.facts > div { display: grid; grid-template-columns: minmax(0, 38%) minmax(0, 1fr); padding: 7px 10px; gap: 0 20px;
  border-bottom: 1px solid var(--border); }
dl.facts dt { color: var(--muted); overflow-wrap: anywhere; }
.partings { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 31rem), 1fr)); gap: 18px 36px; }
.partings dt { display: flex; justify-content: space-between; gap: 16px; font-size: .875rem; margin-bottom: 3px; }
.partings dt bdi { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.partings .where { color: var(--muted); flex: none; }
.partings dd { font: .8125rem/1.6 ui-monospace, "Cascadia Code", Menlo, "DejaVu Sans Mono", monospace;
  display: grid; grid-template-columns: minmax(3em, auto) minmax(0, 1fr); gap: 0 1em; background: var(--surface);
  padding: 2px 12px; white-space: pre-wrap; }
.partings .side, .partings .before { color: var(--muted); }
.partings .on { color: var(--on); font-weight: 600; }
.partings .off { color: var(--off); font-weight: 600; }
footer { margin-top: 48px; color: var(--muted); font-size: .8125rem; }
.prompts table { font-size: .8125rem; }
.prompts th, .prompts td { padding: 6px 7px; }
.prompts tbody th { min-width: 13rem; }
.prompts td { white-space: nowrap; }
.prompts td.text { white-space: normal; min-width: 7.6rem; }
.prompts th:last-child { text-align: left; }
.code dt { font-family: ui-monospace, "Cascadia Code", Menlo, "DejaVu Sans Mono", monospace; font-size: .8125rem; }
@media (max-width: 900px) { .two { grid-template-columns: minmax(0, 1fr); } }
@media (max-width: 700px) {
  main { padding: 18px 16px 48px; }
  h1 { font-size: 1.25rem; }
  .hero { grid-template-columns: minmax(0, 1fr); padding: 20px; gap: 18px; }
  .big { font-size: 3.6rem; }
  .tiles { grid-template-columns: repeat(2, minmax(0, 1fr)); gap: 10px; }
  .tiles > div { padding: 10px 12px; }
  .row, .bars .row, .accepted .row { grid-template-columns: minmax(0, 1fr) auto; gap: 0 12px; }
  .bars .label { text-align: left; }
  .row:not(.axis) { margin-bottom: 2px; }
  .row .lane { grid-column: 1 / -1; grid-row: 2; }
  .prompts thead { position: absolute; clip-path: inset(50%); width: 1px; height: 1px; overflow: hidden; }
  .prompts table, .prompts tbody { display: block; }
  .prompts tr { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 17rem), 1fr)); gap: 2px 24px;
    padding: 12px 0; border-bottom: 1px solid var(--border); }
  .prompts tbody th { grid-column: 1 / -1; padding: 0; border: 0; font-weight: 600; min-width: 0; }
  .prompts td, .prompts td.text { display: flex; justify-content: space-between; gap: 12px; padding: 0; border: 0;
    text-align: right; white-space: normal; }
  .prompts td::before { content: attr(data-name); color: var(--muted); text-align: left; font-weight: 400; }
  .prompts tr.total { background: var(--surface); padding: 12px; }
  .facts th, .facts td { padding: 6px 4px; }
  table.facts th[scope=row] { width: 34%; }
  dl.facts > div, .wide dl.facts > div { grid-template-columns: minmax(0, 1fr); padding: 7px 4px; }
}
@media print {
  html { font-size: 12px; }
  body { font-size: 12px; }
  main { max-width: none; padding: 0; }
  section { margin-top: 26px; }
  h2, .lead, .key { break-after: avoid; }
  .hero, .tiles > div, .lead, .lanes, .plane, .row, tr, .partings dl { break-inside: avoid; }
  * { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
}
"""


def style_sheet(light: Mapping[str, str], dark: Mapping[str, str], grades: int) -> str:
    """The whole of it.

    Args:
        light: Colours by name for a light screen and for paper.
        dark: The same names for a dark screen.
        grades: Draft positions that have a colour of their own, named `grade-1` and so on.
    """
    bars = "".join(f".bar.grade-{position} {{ fill: var(--grade-{position}); }}\n" for position in range(1, grades + 1))
    return (
        _palette(light)
        + f"@media screen and (prefers-color-scheme: dark) {{ {_palette(dark)} }}\n"
        + _BLOCKS.strip()
        + "\n"
        + bars
    )


def _palette(colors: Mapping[str, str]) -> str:
    return ":root { " + " ".join(f"--{name}: {color};" for name, color in colors.items()) + " }\n"
