import { decimal, nanos } from '../helpers/decimals.js'
import { APIS } from './apis.js'
import type { Fault } from './fault.js'
import { ROWS } from './rows.js'

/** The name of a column: an API through which faults are played. */
export type Column = (typeof COLUMNS)[number]

export interface Score {
  readonly fault: Pick<Fault, 'row' | 'name' | 'stream'>
  readonly due: string
  /** The charge through each API. */
  readonly charged: ReadonlyMap<Column, string>
}

export const COLUMNS = [...APIS.map(({ name }) => name), 'embeddings'] as const
const HEADS = ['how the call ends', 'fault', 'reply', ...COLUMNS, 'due', 'difference']

/** The scores as a Markdown table. Both kinds of reply share a line if their results are equal. */
export function scoreTable(scores: readonly Score[]): string {
  const lines = new Map<string, { cells: string[]; replies: string[] }>()
  for (const score of scores) {
    const { charged, due, fault } = score
    const amounts = COLUMNS.map((column) => charged.get(column) ?? '')
    const cells = [ROWS[fault.row], fault.name, ...amounts, due, difference(score)]
    const key = cells.join('|')
    const line = lines.get(key) ?? { cells, replies: [] }
    line.replies.push(fault.stream ? 'stream' : 'JSON')
    lines.set(key, line)
  }
  let row = ''
  const body = [...lines.values()].map(({ cells: [ending, name, ...amounts], replies }) => {
    const first = ending === row ? '' : ending!
    row = ending!
    return [first, name!, replies.join(', '), ...amounts]
  })
  return [HEADS, HEADS.map((_, index) => (index < 3 ? '---' : '---:')), ...body]
    .map((cells) => `| ${cells.join(' | ')} |`)
    .join('\n')
}

/** The excess of the charges over the amount due, as a decimal: the first that is not 0. */
export function difference({ charged, due }: Pick<Score, 'charged' | 'due'>): string {
  const differences = [...charged.values()].map((amount) => decimal(nanos(amount) - nanos(due)))
  return differences.find((amount) => amount !== '0') ?? '0'
}
