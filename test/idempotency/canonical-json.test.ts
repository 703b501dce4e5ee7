import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { digestJson } from '../../src/engine/idempotency/canonical-json.js'
import { keepExactData } from '../../src/protocol/exact-data.js'
import type { JsonObject } from '../../src/protocol/json-values.js'

/** The same without pauses. */
function digestAtOnce(value: unknown): string {
  const sort = (_name: string, field: unknown): unknown => {
    if (typeof field !== 'object' || field === null || Array.isArray(field)) return field
    return Object.fromEntries(Object.entries(field).sort(([one], [other]) => (one < other ? -1 : 1)))
  }
  return createHash('sha256').update(JSON.stringify(value, sort)).digest('hex')
}

const shuffled = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`name-${(index * 7_919) % count}`, index]))

const values: Readonly<Record<string, unknown>> = {
  'a word': 'text',
  'numbers and nulls': [0, -0, 1e21, 0.1, null, true, false, undefined],
  'fields in another order': { b: 1, a: { d: [{ f: 1, e: 2 }], c: 'x' } },
  'fields left out': { a: undefined, b: 1, c: undefined },
  'empty values': { a: {}, b: [], c: '' },
  'names that are numbers': { b: 1, 10: 2, 9: 3, '-1': 4, '01': 5, 4294967295: 6, 4294967294: 7 },
  'names of Object': JSON.parse('{"__proto__":{"z":1},"constructor":2,"a":3}'),
  'text of all kinds': ['\u2028\u0000"\\', '\ud83d\ude00', 'half \ud83d', '\udc00 other half'],
  'long text, whose surrogate pairs lie across pieces': ['x', 'xy'].map(
    (head) => head + '\ud83d\ude00'.repeat(100_000),
  ),
  'a long name': { [`x${'é'.repeat(100_000)}`]: 1 },
  'many names': shuffled(20_000),
  'many messages': Array.from({ length: 20_000 }, (_, index) => ({ role: 'user', content: `m${index}` })),
}

describe('the digest of a request', () => {
  it.each(Object.entries(values))('is the digest of its sorted JSON: %s', async (_name, value) => {
    expect(await digestJson(value)).toBe(digestAtOnce(value))
  })

  it('depends on each digit of a schema, but not on its spaces or the order of its fields', async () => {
    const read = (schema: string): unknown => {
      const text = `{"response_format":{"json_schema":{"schema":${schema}}}}`
      const body: JsonObject = JSON.parse(text)
      keepExactData(body, text)
      return body
    }
    const one = await digestJson(read('{"type":"object","most":9007199254740993}'))
    expect(await digestJson(read('{ "most" : 9007199254740993, "type" : "object" }'))).toBe(one)
    expect(await digestJson(read('{"type":"object","most":9007199254740992}'))).not.toBe(one)
    expect(await digestJson(read('{"type":"object","most":"9007199254740993"}'))).not.toBe(one)
    expect(await digestJson(read('{"type":"object","most":1.0}'))).not.toBe(one)
  })

  it('depends on everything except the order of fields', async () => {
    const one = await digestJson({ a: 1, b: [1, 2] })
    expect(await digestJson({ b: [1, 2], a: 1 })).toBe(one)
    expect(await digestJson({ a: 1, b: [2, 1] })).not.toBe(one)
  })

  it.each(['long text, whose surrogate pairs lie across pieces', 'many names', 'many messages'])(
    'is computed while other work continues: %s',
    async (name) => {
      let turns = 0
      let isDone = false
      const count = (): void => {
        turns++
        if (!isDone) setImmediate(count)
      }
      setImmediate(count)
      await digestJson(values[name])
      isDone = true
      expect(turns).toBeGreaterThan(1)
    },
  )
})
