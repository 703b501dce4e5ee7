import { describe, expect, it } from 'vitest'
import type { LedgerLookUps, LedgerReader, LedgerStore } from '../../src/contracts/index.js'
import { memoryLedger } from '../../src/index.js'
import { engineNames, useEngine } from '../helpers/engines.js'
import { context } from '../helpers/ledger-requests.js'

type Ledger = LedgerStore & LedgerReader & LedgerLookUps
type Method = (given: unknown, context: object) => unknown

/** Each method of a ledger, and the argument that a caller can leave out. */
const METHODS: readonly (readonly [keyof Ledger, string])[] = [
  ['hold', 'request is missing; it must be an object'],
  ['settle', 'request is missing; it must be an object'],
  ['release', 'request is missing; it must be an object'],
  ['balance', 'account is missing; it must be a string'],
  ['expireHolds', 'limit is missing; it must be a whole number of at least 0'],
  ['entries', 'query is missing; it must be an object'],
  ['spent', 'query is missing; it must be an object'],
  ['limitCounts', 'limits is missing; it must be a list'],
  ['findCall', 'query is missing; it must be an object'],
]

function saysWhatIsMissing(open: () => Promise<Ledger>) {
  it.each(METHODS)('rejects %s without its argument: %s', async (name, message) => {
    const ledger = await open()
    const method = ledger[name]!.bind(ledger) as Method
    const call = async (given?: unknown) => method(given, context)
    await expect(call()).rejects.toMatchObject({ name: 'TypeError', message })
    await expect(call(null)).rejects.toMatchObject({
      name: 'TypeError',
      message: message.replace('is missing; it', '').replace('  ', ' ').concat('; got null'),
    })
  })

  it.each([
    ['settle', {}, 'charge is missing; it must be an object'],
    ['spent', {}, 'account is missing; it must be a string'],
    ['findCall', { account: 'alice' }, 'holdIds is missing; it must be a list'],
  ] as const)('rejects %s of %o, in which a member is missing', async (name, given, message) => {
    const ledger = await open()
    const method = ledger[name].bind(ledger) as Method
    await expect((async () => method(given, context))()).rejects.toMatchObject({
      name: 'TypeError',
      message,
    })
  })
}

describe('the ledger in memory', () => saysWhatIsMissing(async () => memoryLedger({ alice: '1' })))

describe.each(engineNames)('the ledger in %s', (name) => {
  const engine = useEngine(name)
  saysWhatIsMissing(async () => (await engine.openEmpty()).ledger)
})
