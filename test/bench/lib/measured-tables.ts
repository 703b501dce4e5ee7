/** A part of a page that `npm run bench:tables` writes. */
export interface MeasuredPart {
  readonly name: string
  /** The arguments of `npm run bench`. */
  readonly arguments: readonly string[]
}

const ROUNDS = ['--rounds', '5', '--seconds', '1.5']

export const MEASURED_PAGE = 'docs/performance.md'
export const MEASURED_PARTS: readonly MeasuredPart[] = [
  {
    name: 'limit',
    arguments: [
      '--scenario',
      'json-1,json-50,burst,segments,paced,first-token',
      '--systems',
      'pipe,http',
      ...ROUNDS,
    ],
  },
  {
    name: 'hosts',
    arguments: ['--scenario', 'json-50', '--systems', 'pipe,http,front,express', ...ROUNDS],
  },
  {
    name: 'stores',
    arguments: ['--scenario', 'json-50', '--systems', 'on-memory,on-sqlite,on-postgres', ...ROUNDS],
  },
]

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
