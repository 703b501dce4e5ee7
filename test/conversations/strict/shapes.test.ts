import { expect, test } from 'vitest'
import { type Misfit, misfitFinder, type Shape, type Shapes } from './shape.js'
import { ANTHROPIC, OPENAI } from './shapes/index.js'
import { SOURCES, shapesOf } from './shapes/make.js'

test('the shapes are those of the installed client libraries', () => {
  expect(shapesOf(SOURCES.openai)).toEqual(OPENAI)
  expect(shapesOf(SOURCES.anthropic)).toEqual(ANTHROPIC)
}, 120_000)

const text: Shape = { members: { type: { only: ['text'] }, text: 'string' } }
const image: Shape = { members: { type: { only: ['image'] }, url: 'string' } }
const SHAPES: Shapes = {
  roots: {
    root: {
      members: {
        role: { only: ['user', 'model'] },
        content: { either: ['string', { list: { either: [{ ref: 'text' }, image] } }] },
        more: { either: ['null', { members: {}, others: 'number' }] },
      },
      optional: ['more'],
    },
  },
  named: { text },
}
const misfitOf = misfitFinder(SHAPES)

const misfit = (value: unknown): Partial<Misfit> | undefined => misfitOf('root', value)

test.each<[what: string, value: unknown, misfit: Partial<Misfit> | undefined]>([
  ['fits', { role: 'user', content: 'a', more: { a: 1 } }, undefined],
  ['fits with null', { role: 'user', content: [{ type: 'text', text: 'a' }], more: null }, undefined],
  ['is no object', [], { kind: 'type', path: [], wanted: ['object'] }],
  ['lacks a member', { role: 'user' }, { kind: 'missing', path: ['content'] }],
  [
    'has another word',
    { role: 'x', content: 'a' },
    { kind: 'value', path: ['role'], wanted: ['user', 'model'] },
  ],
  [
    'has another type',
    { role: 'user', content: 5 },
    { kind: 'type', path: ['content'], wanted: ['string', 'list'] },
  ],
  ['has a member too many', { role: 'user', content: 'a', x: 1 }, { kind: 'unknown', path: ['x'] }],
  [
    'has a part of no known type',
    { role: 'user', content: [{ type: 'audio' }] },
    { kind: 'value', path: ['content', 0, 'type'], wanted: ['text', 'image'] },
  ],
  [
    'has a part with a member too many',
    { role: 'user', content: [{ type: 'text', text: 'a', x: 1 }] },
    { kind: 'unknown', path: ['content', 0, 'x'], tags: ['content', 0, 'text', 'x'] },
  ],
  [
    'has another value where any name may be',
    { role: 'user', content: 'a', more: { a: 'x' } },
    { kind: 'type', path: ['more', 'a'], wanted: ['number'] },
  ],
])('a value that %s is told so', (_, value, expected) => {
  if (expected === undefined) expect(misfit(value)).toBeUndefined()
  else expect(misfit(value)).toMatchObject(expected)
})
