import type { Random } from '../../simulation/random.js'

/** A name as written between its quotes, and the JSON text of its value. */
export type Field = readonly [name: string, json: string]

/** Writes JSON in the style of one client. Members and values are JSON text. */
export interface JsonWriter {
  text(value: string): string
  list(members: readonly string[]): string
  object(fields: readonly Field[]): string
}

interface Spelling {
  /** White space; one of these is picked at each position. */
  readonly aroundCommas: readonly (readonly [before: string, after: string])[]
  readonly aroundColons: readonly (readonly [before: string, after: string])[]
  readonly insideBrackets: readonly string[]
  /** Characters that are escaped although they need not be. None of them may be part of an escape. */
  readonly escaped: RegExp
}

const NO_SPACE = {
  aroundCommas: [['', '']],
  aroundColons: [['', '']],
  insideBrackets: [''],
} as const
const SOME_SPACE = ['', '', ' ', '\n\t', '\r\n']
const ANYWHERE = SOME_SPACE.flatMap((before) => SOME_SPACE.map((after) => [before, after] as const))
const NOTHING = /(?!)/g
const NOT_ASCII = /[\u0080-\uffff]/g

const SPELLINGS: readonly Spelling[] = [
  // JavaScript, Python twice, Go, PHP.
  { ...NO_SPACE, escaped: NOTHING },
  { ...NO_SPACE, escaped: NOTHING, aroundCommas: [['', ' ']], aroundColons: [['', ' ']] },
  { ...NO_SPACE, escaped: NOT_ASCII, aroundCommas: [['', ' ']], aroundColons: [['', ' ']] },
  { ...NO_SPACE, escaped: /[<>&\u2028\u2029]/g },
  { ...NO_SPACE, escaped: /[/\u0080-\uffff]/g },
  // Written by people, and by nobody.
  { aroundCommas: [['', '\n  ']], aroundColons: [['', ' ']], insideBrackets: ['\n  '], escaped: NOTHING },
  { aroundCommas: ANYWHERE, aroundColons: ANYWHERE, insideBrackets: SOME_SPACE, escaped: NOTHING },
  { aroundCommas: ANYWHERE, aroundColons: ANYWHERE, insideBrackets: SOME_SPACE, escaped: /[oiT<{[\]}]/g },
]

export function someWriter(random: Random): JsonWriter {
  const { aroundColons, aroundCommas, escaped, insideBrackets } = random.pick(SPELLINGS)
  const join = (members: readonly string[]): string =>
    members.reduce((joined, member) => {
      const [before, after] = random.pick(aroundCommas)
      return `${joined}${before},${after}${member}`
    })
  const enclose = (members: readonly string[]): string =>
    random.pick(insideBrackets) + (members.length > 0 ? join(members) : '') + random.pick(insideBrackets)
  return {
    text: (value) => JSON.stringify(value).replace(escaped, escapeOf),
    list: (members) => `[${enclose(members)}]`,
    object(fields) {
      const members = fields.map(([name, json]) => {
        const [before, after] = random.pick(aroundColons)
        return `"${name}"${before}:${after}${json}`
      })
      return `{${enclose(members)}}`
    },
  }
}

function escapeOf(unit: string): string {
  return unit === '/' ? '\\/' : `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`
}
