import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { schemaInstance } from '../../src/testing/stand-in/schema-instance.js'

interface Tree {
  name: string
  children: Tree[]
}
const tree: z.ZodType<Tree> = z.object({
  name: z.string(),
  get children() {
    return z.array(tree)
  },
})

const schemas: Record<string, z.ZodType> = {
  'nested objects': z.object({ a: z.object({ b: z.array(z.object({ c: z.boolean() })).min(2) }) }),
  'optional properties': z.object({ needed: z.string(), spare: z.number().optional() }),
  enumerations: z.object({ one: z.enum(['x', 'y']), two: z.literal(7), three: z.null() }),
  'bounds of numbers': z.object({
    a: z.number().int().min(5).max(9),
    b: z.number().lt(-2),
    c: z.number().gt(0).lt(1),
    d: z.int().multipleOf(7),
    e: z.number().positive(),
    f: z.int().max(-3),
  }),
  'lengths of strings': z.object({ a: z.string().min(40), b: z.string().max(2), c: z.string().length(5) }),
  'formats of strings': z.object({
    a: z.iso.date(),
    b: z.iso.datetime(),
    c: z.email(),
    d: z.uuid(),
    e: z.url(),
    f: z.ipv4(),
  }),
  'common patterns': z.object({
    a: z.string().regex(/^[A-Z]{3}$/),
    b: z.string().regex(/^\d+$/),
    c: z.string().regex(/^[a-z-]+\d*$/),
  }),
  unions: z.union([z.object({ kind: z.literal('a'), n: z.int() }), z.string()]),
  'discriminated unions': z.object({
    shape: z.discriminatedUnion('type', [
      z.object({ type: z.literal('circle'), radius: z.number() }),
      z.object({ type: z.literal('dot') }),
    ]),
  }),
  intersections: z.intersection(z.object({ a: z.string() }), z.object({ b: z.int() })),
  tuples: z.tuple([z.string(), z.int(), z.boolean()]),
  records: z.record(z.string(), z.int()),
  'schemas that refer to themselves': tree,
  anything: z.unknown(),
}

describe('schemaInstance', () => {
  it.each(Object.keys(schemas))('returns a value that the schema accepts: %s', (name) => {
    const schema = schemas[name]!
    const value = schemaInstance(z.toJSONSchema(schema), 'Paris')
    expect(schema.safeParse(value)).toMatchObject({ success: true })
  })

  it('uses the hint for free strings and leaves out optional properties', () => {
    const schema = z.toJSONSchema(schemas['optional properties']!)
    expect(schemaInstance(schema, 'Paris')).toEqual({ needed: 'Paris' })
  })

  it('never looks up a schema on a prototype', () => {
    expect(schemaInstance({ $ref: '#/constructor' })).toBe('text')
    expect(schemaInstance({ type: 'string', format: 'constructor' })).toBe('text')
    expect(schemaInstance({ type: 'object', properties: {}, required: ['toString'] })).toEqual({
      toString: 'text',
    })
  })

  it('throws if a schema requires a large value', () => {
    const text = { type: 'string' }
    const list = (items: object) => ({ type: 'array', minItems: 100, items })
    expect(() => schemaInstance(list(list(list(text))))).toThrow('too large')
    const next = { type: 'object', properties: { next: { $ref: '#' } }, required: ['next'] }
    expect(() => schemaInstance({ ...next, anyOf: [{}, {}, {}] })).toThrow('too large')
    const names = Array.from({ length: 200 }, (_, index) => `name ${index}`)
    expect(() => schemaInstance({ allOf: names.map(() => ({ required: names })) })).toThrow('too large')
    expect(() => schemaInstance({ type: 'string', minLength: 10_001 })).toThrow('too large')
  })

  it('throws if a pattern takes too long to match', () => {
    const pattern = '^(a+)+!$'
    expect(() => schemaInstance({ type: 'string', pattern }, 'a'.repeat(26))).toThrow('takes too long')
  })

  it('chooses the alternative without endless nesting, and throws if there is none', () => {
    const endless = { type: 'object', properties: { next: { $ref: '#' } }, required: ['next'] }
    expect(() => schemaInstance(endless)).toThrow('requires endless nesting')
    const ending = {
      anyOf: [{ type: 'object', properties: { next: { $ref: '#' } }, required: ['next'] }, { type: 'null' }],
    }
    expect(() => schemaInstance(ending)).not.toThrow()
  })
})
