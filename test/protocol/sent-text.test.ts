import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseJsonBody } from '../../src/protocol/json-body.js'

const LONG = 'The quick brown fox.\\n'.repeat(1_000)
const sayAll = (text: string) => `{"role":"user","content":"${text}"}`

/** Returns the text that was kept of a body's messages. */
function spelled(body: string): string | undefined {
  const { sentText, value } = parseJsonBody(Buffer.from(body))
  return sentText?.take(value.messages)?.toString()
}

describe('the messages of a long request', () => {
  it.each([
    ['as written', `[${sayAll(LONG)}]`],
    [
      'with white space, escapes and other scripts',
      `[ {"role" :\n"user", "content":"\\u00e9 é 漢字 🙂 ${LONG}" }\t]`,
    ],
    [
      'with parts and calls',
      `[{"role":"user","content":[{"type":"text","text":"${LONG}"}],"tool_calls":null}]`,
    ],
    ['with text that looks like their end', `[${sayAll(`\\"}],\\"messages\\":[{\\\\${LONG}`)}]`],
  ])('are kept as text %s', (_, messages) => {
    expect(spelled(`{"model":"m","messages":${messages},"stream":true,"temperature":1}`)).toBe(messages)
    expect(spelled(`\ufeff{"tools":[{"messages":[]}],"messages" : ${messages}}`)).toBe(messages)
  })

  it.each([
    ['are short', `{"messages":[${sayAll('Hi')}]}`],
    ['are repeated', `{"messages":[],"messages":[${sayAll(LONG)}]}`],
    ['are also present under an escaped name', `{"messages":[${sayAll(LONG)}],"m\\u0065ssages":[]}`],
    ['have a field twice', `{"messages":[{"content":"","role":"user","content":"${LONG}"}]}`],
    [
      'have a field twice, once escaped',
      `{"messages":[{"c\\u006fntent":"","role":"user","content":"${LONG}"}]}`,
    ],
    ['have a field that is dropped', `{"messages":[{"__proto__":{},"role":"user","content":"${LONG}"}]}`],
    ['hold a number', `{"messages":[{"role":"user","n":1e400,"content":"${LONG}"}]}`],
    ['are not a list', `{"messages":{"content":"${LONG}"}}`],
    ['are not there', `{"prompt":"${LONG}"}`],
  ])('are not kept as text if they %s', (_, body) => {
    expect(spelled(body)).toBeUndefined()
  })

  it('are handed out once, and only for the parsed value itself', () => {
    const { sentText, value } = parseJsonBody(Buffer.from(`{"messages":[${sayAll(LONG)}]}`))
    expect(sentText?.take([...(value.messages as unknown[])])).toBeUndefined()
    expect(sentText?.take(value.messages)).toBeDefined()
    expect(sentText?.take(value.messages)).toBeUndefined()
  })

  it('are kept as text only if every reader must find the parsed values in them, however they are written', () => {
    let kept = 0
    let ambiguous = 0
    fc.assert(
      fc.property(fc.array(node, { maxLength: 4 }), others, fc.nat(3), spaces, (list, fields, at, gaps) => {
        const messages: Node = [...list, { fields: [['"content"', `"${LONG}"`]] }]
        const root = { fields: fields.toSpliced(at, 0, ['"messages"', messages]) }
        const { sentText, value } = parseJsonBody(Buffer.from(write(root, gaps)))
        const found = sentText?.take(value.messages)
        const isAmbiguous = fields.some(([name]) => JSON.parse(name) === 'messages') || repeats(messages)
        if (isAmbiguous) ambiguous++
        if (found === undefined) return
        kept++
        expect(isAmbiguous).toBe(false)
        expect(JSON.parse(found.toString())).toEqual(value.messages)
      }),
      { seed: 20_261_122, numRuns: 3_000 },
    )
    expect(kept).toBeGreaterThan(300)
    expect(ambiguous).toBeGreaterThan(300)
  })
})

/** JSON text, a list, or an object with its names as JSON text. */
type Node = string | readonly Node[] | { readonly fields: readonly Field[] }
type Field = readonly [name: string, value: Node]

const name = fc.constantFrom(
  '"role"',
  '"content"',
  '"c\\u006fntent"',
  '"messages"',
  '"m\\u0065ssages"',
  '"a\\"b"',
  '"__proto__"',
  '"x"',
  '"y"',
  '"z"',
)
const scalar = fc.constantFrom(
  'null',
  'true',
  'false',
  '""',
  '"x"',
  '"\\\\"',
  '"\\"}],"',
  '"é 漢字 🙂"',
  '"\\ud800"',
  '"messages"',
  '"{["',
  '-1.5e3',
)
const { node } = fc.letrec<{ node: Node }>((tie) => ({
  node: fc.oneof(
    { maxDepth: 4 },
    { weight: 3, arbitrary: scalar },
    { weight: 1, arbitrary: fc.array(tie('node'), { maxLength: 3 }) },
    {
      weight: 2,
      arbitrary: fc.record({ fields: fc.array(fc.tuple(name, tie('node')), { maxLength: 3 }) }),
    },
  ),
}))
const others = fc.array(fc.tuple(name, node), { maxLength: 3 })
const spaces = fc.array(fc.constantFrom('', '', ' ', '\n\t', '\r'), { minLength: 1, maxLength: 7 })

/** JSON text, with white space from `gaps` in turn wherever it is allowed. */
function write(root: Node, gaps: readonly string[]): string {
  let used = 0
  const gap = (): string => gaps[used++ % gaps.length]!
  const spaced = (value: Node): string => `${gap()}${writeNode(value)}${gap()}`
  const writeNode = (value: Node): string => {
    if (typeof value === 'string') return value
    if ('fields' in value)
      return `{${value.fields.map(([field, member]) => `${gap()}${field}${gap()}:${spaced(member)}`).join(',')}}`
    return `[${value.map(spaced).join(',')}]`
  }
  return writeNode(root)
}

/** Whether any object has a name twice, in any spelling. */
function repeats(value: Node): boolean {
  if (typeof value === 'string') return false
  if (!('fields' in value)) return value.some(repeats)
  const names = value.fields.map(([field]) => JSON.parse(field))
  return new Set(names).size < names.length || value.fields.some(([, member]) => repeats(member))
}
