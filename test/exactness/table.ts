import { decimal } from '../helpers/decimals.js'
import { difference, isExact, isOffered, type Outcome, type Score } from './score.js'
import type { Target } from './target.js'

const HEADS = [
  'scenario',
  'reply',
  'provider bills',
  'due',
  'charged',
  'difference',
  'overshoot',
  'double charges',
  'lost charges',
  'false refusals',
  'note',
]
const TEXT_COLUMNS = [0, 1, 10]

/** A target's results in Markdown. Both kinds of reply share a line if their results are equal. */
export function report({ name, policy, settings, version }: Target, outcomes: readonly Outcome[]): string {
  const scores = outcomes.filter(isOffered)
  const missing = outcomes.length - scores.length
  const exact = scores.filter(isExact).length
  const unstated = scores.filter(({ due }) => due === undefined).length
  return [
    `## ${name}`,
    '',
    `${version}, Node ${process.versions.node}`,
    '',
    ...settings.map((line) => `- Set up: ${line}`),
    ...policy.sources.map((line) => `- Its policy: ${line}`),
    '',
    ...(scores.length === 0 ? [] : [table(scores), '']),
    ...notOffered(outcomes),
    '',
    `${outcomes.length} results: ${exact} with 0 in every column (${unstated} of them without a stated policy), ${scores.length - exact} with another number, ${missing} not offered.`,
  ].join('\n')
}

function table(scores: readonly Score[]): string {
  const lines = new Map<string, { cells: string[]; modes: string[] }>()
  for (const score of scores) {
    const cells = scoreCells(score)
    const key = cells.join('|')
    const line = lines.get(key) ?? { cells, modes: [] as string[] }
    line.modes.push(score.mode)
    lines.set(key, line)
  }
  const body = [...lines.values()].map(({ cells: [scenario, ...rest], modes }) => [
    scenario!,
    modes.join(', '),
    ...rest,
  ])
  const rule = HEADS.map((_, index) => (TEXT_COLUMNS.includes(index) ? '---' : '---:'))
  return [HEADS, rule, ...body, totalCells(scores)].map((cells) => `| ${cells.join(' | ')} |`).join('\n')
}

/** A line for each thing that the target lacks. */
function notOffered(outcomes: readonly Outcome[]): string[] {
  const names = new Map<string, string[]>()
  for (const outcome of outcomes) {
    if (isOffered(outcome)) continue
    const list = names.get(outcome.missing) ?? []
    list.push(outcome.scenario)
    names.set(outcome.missing, list)
  }
  return [...names].map(([missing, list]) => `- Not offered, because ${missing}: ${list.join('; ')}`)
}

function scoreCells(score: Score): string[] {
  const { billed, charged, doubles, due, falseRefusals, losses, note, overshoot, scenario } = score
  return [
    scenario,
    decimal(billed),
    due === undefined ? 'unstated' : decimal(due),
    decimal(charged),
    due === undefined ? 'not counted' : decimal(difference(score)),
    decimal(overshoot),
    String(doubles),
    String(losses),
    String(falseRefusals),
    note.replaceAll('|', '/').replaceAll(/\s+/g, ' '),
  ]
}

/** The sums of the columns. Differences are added without their signs. */
function totalCells(scores: readonly Score[]): string[] {
  const sum = (amountOf: (score: Score) => bigint): string =>
    decimal(scores.reduce((total, score) => total + amountOf(score), 0n))
  const absolute = (amount: bigint): bigint => (amount < 0n ? -amount : amount)
  return [
    '**all together**',
    '',
    '',
    '',
    '',
    sum((score) => absolute(difference(score))),
    sum(({ overshoot }) => overshoot),
    sum(({ doubles }) => BigInt(doubles) * 1_000_000_000n),
    sum(({ losses }) => BigInt(losses) * 1_000_000_000n),
    sum(({ falseRefusals }) => BigInt(falseRefusals) * 1_000_000_000n),
    '',
  ]
}
