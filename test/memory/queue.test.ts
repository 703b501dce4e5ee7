import { expect, it } from 'vitest'
import { createQueue } from '../../src/memory/queue.js'

it('queues first in, first out, across its chunks, and forgets what has left', () => {
  const queue = createQueue<number>()
  expect(queue.shift()).toBeUndefined()
  for (let number = 0; number < 40_000; number++) queue.push(number)
  for (let number = 0; number < 20_000; number++) expect(queue.shift()).toBe(number)
  expect([queue.start, queue.end]).toEqual([20_000, 40_000])
  expect([queue.at(19_999), queue.at(20_000), queue.at(39_999), queue.at(40_000)]).toEqual([
    undefined,
    20_000,
    39_999,
    undefined,
  ])
  for (let number = 20_000; number < 40_000; number++) expect(queue.shift()).toBe(number)
  queue.push(7)
  expect(queue.shift()).toBe(7)
  expect(queue.shift()).toBeUndefined()
})
