import { once } from 'node:events'
import { expect, it } from 'vitest'
import { createWatchers } from '../../src/sql/watchers.js'
import { FAILING } from '../helpers/failing.js'

function open() {
  const told: unknown[] = []
  const watchers = createWatchers({ first: () => told.push('first'), last: () => told.push('last') })
  const watch = (name: string) =>
    watchers.watch(
      'models',
      (id) => told.push([name, id]),
      (isConnected) => told.push([name, isConnected]),
    )
  return { told, watchers, watch }
}

it('the change watchers report the connection to each watch, even one that starts later or after all have ended', () => {
  const { told, watchers, watch } = open()
  const endOne = watch('one')
  watchers.connected(true)
  const endOther = watch('other')
  endOne()
  endOne()
  endOther()
  endOther()
  watch('third')
  watchers.connected(true)
  watchers.connected(true)
  expect(told).toEqual([
    ['one', false],
    'first',
    ['one', true],
    ['other', true],
    'last',
    ['third', false],
    'first',
    ['third', true],
  ])
})

it('the change watchers report a change of their topic with its id, and missed changes without one', () => {
  const { told, watchers, watch } = open()
  const end = watch('one')
  watchers.changed('models', 'acme/fast')
  watchers.changed('models', '')
  watchers.changed('routes', 'r1')
  watchers.changedAll()
  end()
  watchers.changedAll()
  expect(told.slice(2, -1)).toEqual([
    ['one', 'acme/fast'],
    ['one', undefined],
    ['one', undefined],
  ])
})

it.each(FAILING)(
  'the change watchers notify every watch even if the listener of one %s, and emit a warning',
  async (_, fail) => {
    const { told, watchers, watch } = open()
    watchers.watch('models', fail)
    watch('other')
    const warned = once(process, 'warning')
    watchers.changed('models', 'acme/fast')
    watchers.changedAll()
    expect(told.slice(-2)).toEqual([
      ['other', 'acme/fast'],
      ['other', undefined],
    ])
    const [{ message }] = await warned
    expect(message).toBe("A watch of compat-router's durable stores failed: Error: mine")
  },
)
