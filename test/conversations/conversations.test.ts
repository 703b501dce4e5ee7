import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { complaints, KnownFaults } from './marks.js'
import { SHAPES } from './shapes/index.js'
import { cellsOf, Table } from './table.js'

const known = KnownFaults.read()
const cells = SHAPES.flatMap(cellsOf)
let table: Table

beforeAll(async () => {
  table = await Table.start(cells)
})
afterAll(() => table.close())

describe('a conversation through each API to each kind of provider reaches it as far as its row says:', () => {
  it.each(SHAPES.map((shape) => [shape.name, shape] as const))('%s', async (_name, shape) => {
    const verdicts = await table.play(cellsOf(shape))
    expect(complaints(verdicts, known)).toEqual([])
  })
})

it('has no mark for a cell that is not in the table of conversations', () => {
  expect(known.strays(cells)).toEqual([])
})

it('gives each conversation of the table a name of its own', () => {
  expect(new Set(SHAPES.map(({ name }) => name)).size).toBe(SHAPES.length)
})
