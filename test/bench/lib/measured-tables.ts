import { PEER_NAMES } from './messages.js'

/** A part of a page that `npm run bench:tables` writes. */
export interface MeasuredPart {
  readonly name: string
  /** The script of package.json that measures it. */
  readonly script: 'bench' | 'bench:open'
  readonly arguments: readonly string[]
}

export const MEASURED_PAGE = 'docs/performance.md'
/** Together they take about a quarter of an hour on a quiet machine. */
export const MEASURED_PARTS: readonly MeasuredPart[] = [
  bench('limit', 'json-1,json-50,burst,segments,paced,first-token', 'pipe,http', 5, 1.5),
  bench('hosts', 'json-50', 'pipe,http,front,express', 3, 1.5),
  bench('others', 'json-50,burst', `pipe,http,${PEER_NAMES.join(',')}`, 3, 3),
  bench('memory', 'memory-open,memory-slow', 'pipe,http', 2, 2),
  bench('prompt', 'prompt', 'pipe,http,http-no-memory-reducer,front', 3, 1),
  {
    name: 'ledgers',
    script: 'bench',
    arguments: ['--scenario', 'ledger', '--rounds', '3', '--seconds', '1'],
  },
  bench('stores', 'json-50', 'on-memory,on-sqlite,on-postgres', 3, 1.5),
  {
    name: 'fixed-rate',
    script: 'bench:open',
    arguments: [
      '--rates',
      '1000',
      '--answers',
      'json',
      '--seconds',
      '10',
      '--systems',
      'direct,on-memory,on-sqlite,on-postgres',
    ],
  },
  bench('fast-paths', 'json-50,burst', 'http,http-plain', 3, 1),
]

function bench(
  name: string,
  scenarios: string,
  systems: string,
  rounds: number,
  seconds: number,
): MeasuredPart {
  const what = ['--scenario', scenarios, '--systems', systems]
  return {
    name,
    script: 'bench',
    arguments: [...what, '--rounds', String(rounds), '--seconds', String(seconds)],
  }
}

/** The command that measures a part, as a person types it. */
export function commandOf({ arguments: given, script }: MeasuredPart): string {
  return `npm run ${script} -- ${given.join(' ')}`
}

const edges = (name: string): readonly [start: string, end: string] => [
  `<!-- measured: ${name} -->`,
  `<!-- /measured: ${name} -->`,
]

/** Returns the text of a part on its page. Throws if the page has no such part. */
export function readPart(page: string, name: string): string {
  const [start, end] = edges(name)
  const from = page.indexOf(start)
  const to = page.indexOf(end)
  if (from < 0 || to < from) throw new Error(`The page has no part between ${start} and ${end}.`)
  return page.slice(from + start.length, to)
}

/** Returns the page with another text in a part. */
export function replacePart(page: string, name: string, text: string): string {
  const [start, end] = edges(name)
  const before = `${start}${readPart(page, name)}${end}`
  return page.replace(before, () => `${start}\n\n${text.trim()}\n\n${end}`)
}

/** Returns the commit that a part was measured on. Undefined if it names none. */
export function commitOf(part: string): string | undefined {
  return /\bCommit ([0-9a-f]{7,40})\./.exec(part)?.[1]
}
