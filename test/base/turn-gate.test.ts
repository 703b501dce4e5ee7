import { expect, it } from 'vitest'
import { TurnGate } from '../../src/base/turn-gate.js'

const MANY = 9

function busy(gathers = true): TurnGate {
  const gate = new TurnGate(gathers)
  for (let call = 0; call < MANY; call++) gate.enter()
  return gate
}

it('a turn gate makes nobody wait while few are inside or if it does not gather', () => {
  expect(new TurnGate(true).wait()).toBeUndefined()
  expect(busy(false).wait()).toBeUndefined()
})

it('a turn gate makes nobody wait once most have left', () => {
  const gate = busy()
  expect(gate.wait()).toBeInstanceOf(Promise)
  gate.leave()
  expect(gate.wait()).toBeUndefined()
})

it('a turn gate releases all waiters of a turn together at its end, step by step and in order', async () => {
  const gate = busy()
  const steps: string[] = []
  const take = async (name: string): Promise<void> => {
    await gate.wait()
    steps.push(`${name} first`)
    await undefined
    steps.push(`${name} second`)
  }
  const taken = ['a', 'b', 'c'].map(take)
  await Promise.resolve()
  expect(steps).toEqual([])
  await Promise.all(taken)
  expect(steps).toEqual(['a first', 'b first', 'c first', 'a second', 'b second', 'c second'])
})

it('a turn gate makes the next turn wait for its own end', async () => {
  const gate = busy()
  const first = gate.wait()
  await first
  const second = gate.wait()
  expect(second).not.toBe(first)
  await second
})
