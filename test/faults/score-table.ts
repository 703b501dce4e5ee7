import { decimal, nanos } from '../helpers/decimals.js'
import type { Fault, Played } from './fault.js'
import { ROWS } from './rows.js'

export interface Score extends Played {
  readonly fault: Pick<Fault, 'row' | 'name' | 'stream'>
}

const HEADS = ['how the call ends', 'fault', 'reply', 'charged', 'due', 'difference']

/** The scores as a Markdown table. Both kinds of reply share a line if their results are equal. */
export function scoreTable(scores: readonly Score[]): string {
  const lines = new Map<string, { cells: string[]; replies: string[] }>()
  for (const { fault, charged, due } of scores) {
    const cells = [ROWS[fault.row], fault.name, charged, due, difference({ charged, due })]
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

/** The excess of the charge over the amount due, as a decimal. */
export function difference({ charged, due }: Played): string {
  return decimal(nanos(charged) - nanos(due))
}
