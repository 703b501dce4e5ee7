import { createHash } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { isLong } from '../helpers/long.js'
import { complaints, KnownFaults } from './marks.js'
import { SHAPES } from './shapes/index.js'
import { type Cell, cellsOf, keyOf, Table } from './table.js'

const known = KnownFaults.read()
const cells = SHAPES.flatMap(cellsOf)
let table: Table

/** A sixth of the cells, in a short run: chosen by a digest, so that no API, form or kind of provider is always left out. */
const asked = (cell: Cell) => isLong || createHash('sha256').update(keyOf(cell)).digest()[0]! % 6 === 0

beforeAll(async () => {
  table = await Table.start(cells)
})
afterAll(() => table.close())

describe('a conversation through each API to each kind of provider reaches it as far as its row says:', () => {
  it.each(SHAPES.map((shape) => [shape.name, shape] as const))('%s', async (_name, shape) => {
    const verdicts = await table.play(cellsOf(shape).filter(asked))
    expect(complaints(verdicts, known)).toEqual([])
  })
})

it('has no mark for a cell that is not in the table of conversations', () => {
  expect(known.strays(cells)).toEqual([])
})

it('gives each conversation of the table a name of its own', () => {
  expect(new Set(SHAPES.map(({ name }) => name)).size).toBe(SHAPES.length)
})
