import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { describe, expect, it, vi } from 'vitest'
import {
  createCompatRouter,
  memoryCatalogue,
  memoryCredentials,
  memoryIdempotency,
  memoryLedger,
  memoryProviders,
  type RouterOptions,
} from '../src/index.js'
import { engineOptions } from '../src/options.js'

const stores = (): RouterOptions => ({
  credentials: memoryCredentials(),
  catalogue: memoryCatalogue(),
  ledger: memoryLedger(),
  providers: memoryProviders([]),
})
const make = (more: object) => createCompatRouter({ ...stores(), ...more })

describe('the options of a router', () => {
  it.each([
    ['no ledger', { ledger: undefined }, /ledger is missing.*hold, settle/],
    ['a ledger that cannot settle', { ledger: { hold() {} } }, /ledger has no method settle\(\)/],
    ['a catalogue without get', { catalogue: { list() {} } }, /catalogue has no method get\(\)/],
    ['credentials that are a string', { credentials: 'x' }, /credentials must be an object with resolve/],
    [
      'a misspelt option',
      { neverOverDraw: true },
      /^neverOverDraw is not an option of createCompatRouter; did you mean neverOverdraw\?$/,
    ],
    ['letters in another order', { legder: 1 }, /did you mean ledger/],
    ['a plural', { onEvents() {} }, /did you mean onEvent/],
    [
      'a string instead of a boolean',
      { neverOverdraw: 'yes' },
      /neverOverdraw must be true or false; got "yes"$/,
    ],
    [
      'an unknown size',
      { sizes: { bodybytes: 1 } },
      /^sizes\.bodybytes is not an option of createCompatRouter; did you mean sizes\.bodyBytes\?$/,
    ],
    ['a timeout of zero', { timeouts: { totalMs: 0 } }, /timeouts\.totalMs must be at least 1; got 0$/],
    [
      'an infinite timeout',
      { timeouts: { totalMs: Number.POSITIVE_INFINITY } },
      /timeouts\.totalMs must be a whole number; got Infinity$/,
    ],
    [
      'a time beyond the maximum of timers',
      { timeouts: { storeMs: 2 ** 31 } },
      /timeouts\.storeMs must be at most 2147483647: no timer waits longer than 24\.8 days; got 2147483648$/,
    ],
    ['timeouts that are null', { timeouts: null }, /timeouts must be an object; got null$/],
    [
      'a fee that is not a decimal',
      { byokFee: { flat: 1 } },
      /byokFee\.flat must be a decimal string .*; got 1: put it in quotes$/,
    ],
    [
      'a fee above the price',
      { byokFee: { basisPoints: 10_001 } },
      /byokFee\.basisPoints must be at most 10,000; got 10001$/,
    ],
    [
      'a misspelt fee',
      { byokFee: { flatt: '0.01' } },
      /^byokFee\.flatt is not .* did you mean byokFee\.flat\?$/,
    ],
    [
      'a misspelt share',
      { byokFee: { basispoints: 500 } },
      /^byokFee\.basispoints is not .* did you mean byokFee\.basisPoints\?$/,
    ],
    ['a fee alone', { byokFee: '0.01' }, /byokFee must be an object; got "0.01"$/],
    ['null for a fee', { byokFee: null }, /byokFee must be an object; got null$/],
    [
      'a misspelt lifetime of replies',
      { idempotency: { ttl: 5 } },
      /^idempotency\.ttl is not .* did you mean idempotency\.ttlMs\?$/,
    ],
    [
      'a lifetime of zero for replies',
      { idempotency: { ttlMs: 0 } },
      /idempotency\.ttlMs must be at least 1; got 0$/,
    ],
    [
      'a string instead of a boolean for keepBodies',
      { idempotency: { keepBodies: 'no' } },
      /idempotency\.keepBodies must be true or false; got "no"$/,
    ],
    ['a number instead of a reply store', { idempotency: 5 }, /idempotency must be an object; got 5$/],
    [
      'a misspelt setting of responses',
      { responses: { recal: false } },
      /^responses\.recal is not .* did you mean responses\.recall\?$/,
    ],
    [
      'a misspelt bound of recent replies',
      { responses: { recall: { maxbytes: 100_000 } } },
      /^responses\.recall\.maxbytes is not .* did you mean responses\.recall\.maxBytes\?$/,
    ],
    [
      'too little space for recent replies',
      { responses: { recall: { maxBytes: 65_535 } } },
      /responses\.recall\.maxBytes must be at least 65,?536; got 65535$/,
    ],
    [
      'true for the recall of replies',
      { responses: { recall: true } },
      /responses\.recall must be false, or an object; got true$/,
    ],
    ['a counter that cannot count', { tokenCounter: {} }, /tokenCounter has no method tally\(\)/],
    ['null for a counter', { tokenCounter: null }, /tokenCounter is missing; .* with tally/],
    ['an opener that cannot open', { envelopes: {} }, /envelopes has no method open\(\)/],
    ['a clock that cannot wait', { clock: { now: Date.now } }, /clock has no method after\(\)/],
    [
      'an empty platform account',
      { platformAccount: '' },
      /platformAccount must be 1 to 256 bytes .*; got ""$/,
    ],
    [
      'a platform account with a line break',
      { platformAccount: 'plat\nform' },
      /platformAccount .* without control/,
    ],
    ['a Map of timeouts', { timeouts: new Map([['totalMs', 1]]) }, /timeouts must be an object; got a Map/],
    ['a promise of sizes', { sizes: Promise.resolve({}) }, /sizes must be an object; got a promise: await/],
    ['a promise of a ledger', { ledger: Promise.resolve(memoryLedger()) }, /ledger is a promise: await it/],
    ['a base path that is a pattern', { basePath: /^\/v1/ }, /basePath must be a string; got an object/],
    ['a Map for a fee', { byokFee: new Map([['flat', '1']]) }, /byokFee must be an object; got a Map/],
    ['a Set for idempotency', { idempotency: new Set() }, /idempotency must be an object; got a Set/],
    ['a listener that is not a function', { onEvent: 1 }, /onEvent must be a function/],
    ['fast paths that are not false', { fastPaths: true }, /fastPaths must be false, or an object/],
    ['an unknown fast path', { fastPaths: { line: false } }, /fastPaths.*lines/],
    [
      'an unknown use of trace contexts',
      { traceContext: true },
      /traceContext must be "read" or "forward"; got true/,
    ],
    [
      'an unknown name of reasoning',
      { reasoningName: 'thinking' },
      /reasoningName must be one of 'reasoning_content', 'reasoning', 'both'/,
    ],
  ])('are refused by name if they contain %s', (_what, more, message) => {
    expect(() => make(more)).toThrow(TypeError)
    expect(() => make(more)).toThrow(message)
  })

  it('may have all stores in one object, and a store beside it takes precedence', async () => {
    const { catalogue, credentials, providers } = stores()
    const idempotency = memoryIdempotency()
    const given = { catalogue, credentials, providers, ledger: memoryLedger(), idempotency }
    expect(engineOptions({ stores: given })).toMatchObject({
      ledger: given.ledger,
      idempotency: { store: idempotency },
    })
    const own = memoryLedger()
    const mixed = engineOptions({ stores: given, ledger: own, idempotency: { ttlMs: 5 } })
    expect(mixed).toMatchObject({ catalogue, ledger: own, idempotency: { store: idempotency, ttlMs: 5 } })
    const { idempotency: _, ...without } = given
    expect(engineOptions({ stores: without }).idempotency.store).not.toBe(idempotency)
    expect(() => createCompatRouter({ stores: 5 } as never)).toThrow(
      /stores must be an object with credentials/,
    )
    expect(() => createCompatRouter({ stores: { ...without, ledger: undefined } } as never)).toThrow(
      /ledger is missing/,
    )
  })

  it('cannot be a promise', () => {
    const make = () => createCompatRouter(Promise.resolve(stores()) as unknown as RouterOptions)
    expect(make).toThrow('createCompatRouter takes an object of options; got a promise: await it first')
  })

  it('may have undefined timeouts, and any number for sizes', async () => {
    await make({
      timeouts: { totalMs: undefined, storeMs: 2 ** 31 - 1 },
      sizes: { bodyBytes: Number.MAX_SAFE_INTEGER },
    }).close()
  })

  it.each(['compat/v1', '/a?b', '/a#b', '/a b', 'http://a/b'])(
    'with the base path %j are refused',
    (basePath) => {
      expect(() => make({ basePath })).toThrow(/basePath must begin with a slash/)
    },
  )

  it.each(['maxTokens', 'database', 'ready'])(
    'named %s are refused, because they would do nothing',
    (name) => {
      expect(() => make({ [name]: 5 })).toThrow(
        expect.objectContaining({
          code: 'unknown_option',
          field: name,
          message: expect.stringMatching(/ is not an option of createCompatRouter; its options are stores, /),
        }),
      )
    },
  )

  it('accept a reply store alone or in an object', async () => {
    await make({ idempotency: memoryIdempotency() }).close()
    await make({ idempotency: { store: memoryIdempotency() } }).close()
    expect(() => make({ idempotency: { store: {} } })).toThrow(/idempotency\.store has no method claim\(\)/)
  })

  it('warn once about a mount path that nothing strips', async () => {
    const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined)
    const router = make({})
    for (const url of ['/nothing', '/compat/v1/models', '/compat/v1/chat/completions']) {
      const req = Object.assign(new IncomingMessage(new Socket()), { url })
      router(req, new ServerResponse(req))
    }
    expect(warned.mock.calls).toEqual([
      [
        expect.stringMatching(/answered a request under "\/compat\/v1" with 404.* set basePath/),
        { code: 'COMPAT_ROUTER_BASE_PATH' },
      ],
    ])
    warned.mockRestore()
    await router.close()
  })
})
