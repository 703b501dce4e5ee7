import { expect, it } from 'vitest'
import { TurnGate } from '../../src/base/turn-gate.js'
import { HandOver } from '../../src/providers/hand-over.js'

const KIB = 1_024

/** Several hand-overs at one gate, and a list of those that have run. */
function handOvers(count: number, inside: number) {
  const turns = new TurnGate(true)
  for (let call = 0; call < inside; call++) turns.enter()
  const ran: number[] = []
  const each = Array.from({ length: count }, (_, number) => new HandOver(turns, () => ran.push(number)))
  return { each, ran }
}

const microtask = () => Promise.resolve()
const turnsEnd = () => new Promise((resolve) => setImmediate(resolve))

it('a hand-over runs once in a microtask for everything read until then', async () => {
  const { each, ran } = handOvers(1, 1)
  for (let piece = 0; piece < 3; piece++) {
    each[0]!.read(100)
    each[0]!.soon()
  }
  expect(ran).toEqual([])
  await microtask()
  expect(ran).toEqual([0])
  await turnsEnd()
  expect(ran).toEqual([0])
})

it('a hand-over runs at the end of the turn, with the others, if many calls are running', async () => {
  const { each, ran } = handOvers(3, 9)
  for (const one of each) {
    one.read(64 * KIB)
    one.soon()
    one.soon()
    await microtask()
  }
  expect(ran).toEqual([])
  await turnsEnd()
  expect(ran).toEqual([0, 1, 2])
})

it('a hand-over does not wait for the end of the turn with more than 64 KiB, and then counts anew', async () => {
  const { each, ran } = handOvers(1, 9)
  const [one] = each as [HandOver]
  for (const bytes of [60 * KIB, 5 * KIB]) {
    one.read(bytes)
    one.soon()
  }
  await microtask()
  expect(ran).toEqual([0])
  one.read(60 * KIB)
  one.soon()
  await microtask()
  expect(ran).toEqual([0])
  await turnsEnd()
  expect(ran).toEqual([0, 0])
})

it('a hand-over does not run again for events that were handed over in the meantime', async () => {
  const { each, ran } = handOvers(1, 9)
  each[0]!.soon()
  each[0]!.now()
  await turnsEnd()
  expect(ran).toEqual([0])
})
