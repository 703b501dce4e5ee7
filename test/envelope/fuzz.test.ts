import { inspect, isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { afterEach, expect, it, vi } from 'vitest'
import type { EnvelopePublicKey } from '../../src/envelope/index.js'
import { isLong } from '../helpers/long.js'
import { craftEnvelope } from './craft.js'
import { NOW, open, PROVIDER_KEY, published, RIGHT } from './fixtures.js'

const RUNS = isLong ? 10_000 : 2_500
const SEED = 20261121

const [p256, x25519] = published as [EnvelopePublicKey, EnvelopePublicKey]
const anyKey = fc.constantFrom(p256, x25519)
const originals = [p256, x25519].map((to) => craftEnvelope(to, { payload: RIGHT }))

const character = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.constantFrom(...'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.'),
  },
  { weight: 1, arbitrary: fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }) },
)
const edit = fc.record({
  kind: fc.constantFrom('replace', 'insert', 'remove', 'cut', 'repeat'),
  at: fc.double({ min: 0, max: 1, noNaN: true }),
  character,
})
type Edit = typeof edit extends fc.Arbitrary<infer Value> ? Value : never

function apply(text: string, { kind, at, character }: Edit): string {
  const index = Math.floor(at * text.length)
  const [before, after] = [text.slice(0, index), text.slice(index)]
  if (kind === 'replace') return before + character + after.slice(1)
  if (kind === 'insert') return before + character + after
  if (kind === 'remove') return before + after.slice(1)
  return kind === 'cut' ? before : text + after
}

const edits = fc.array(edit, { minLength: 1, maxLength: 4 })
const editedText = fc
  .tuple(fc.constantFrom(...originals), edits)
  .map(([original, changes]) => changes.reduce(apply, original))
  .filter((text) => !originals.includes(text))

const swappedParts = fc
  .array(fc.tuple(fc.constantFrom(...originals), fc.nat(4)), { minLength: 5, maxLength: 5 })
  .map((picks) => `v1.${picks.map(([original, index]) => original.slice(3).split('.')[index]).join('.')}`)
  .filter((text) => !originals.includes(text))

const memberName = fc.constantFrom(
  'zip',
  'crit',
  'p2c',
  'p2s',
  'jku',
  'jwk',
  'x5u',
  'b64',
  '__proto__',
  'alg',
  'enc',
  'kid',
)
const headerMembers = fc
  .record({ to: anyKey, name: memberName, value: fc.jsonValue({ maxDepth: 3 }) })
  .map(({ to, name, value }) =>
    craftEnvelope(to, {
      payload: RIGHT,
      header: (right) =>
        `${JSON.stringify(right).slice(0, -1)},${JSON.stringify(name)}:${JSON.stringify(value)}}`,
    }),
  )

const editedHeader = fc.tuple(anyKey, edits).map(([to, changes]) =>
  craftEnvelope(to, {
    payload: RIGHT,
    header: (right) => {
      const edited = changes.reduce(apply, JSON.stringify(right))
      return isSameHeader(edited, right) ? 'null' : edited
    },
  }),
)

/** An edit can keep the meaning: white space, a character replaced by itself, or the bit that X25519 ignores. */
function isSameHeader(edited: string, right: Record<string, unknown>): boolean {
  const meaning = ({ epk, ...others }: Record<string, unknown>) => {
    const { x, ...point } = epk as Record<string, unknown>
    const bytes = Buffer.from(String(x), 'base64url')
    if (point.crv === 'X25519') bytes[31]! &= 0x7f
    return { ...others, ...point, x: bytes.toString('hex') }
  }
  try {
    return isDeepStrictEqual(meaning(JSON.parse(edited) as Record<string, unknown>), meaning(right))
  } catch {
    return false
  }
}

const editedPayload = fc
  .tuple(anyKey, edits)
  .map(([to, changes]) => ({ to, payload: changes.reduce(apply, JSON.stringify(RIGHT)) }))
  .filter(({ payload }) => payload !== JSON.stringify(RIGHT) && !isStillRight(payload))
  .map(({ to, payload }) => craftEnvelope(to, { payload }))

/** An edit can keep the payload valid: white space, or another character in the key itself. */
function isStillRight(payload: string): boolean {
  try {
    const { key, provider, account, exp, ...others } = JSON.parse(payload) as Record<string, unknown>
    const bound = provider === RIGHT.provider && account === RIGHT.account
    return bound && /^[!-~]+$/.test(String(key)) && exp === undefined && Object.keys(others).length === 0
  } catch {
    return false
  }
}

const bytesPayload = fc
  .tuple(anyKey, fc.uint8Array({ maxLength: 600 }))
  .map(([to, bytes]) => craftEnvelope(to, { payload: Buffer.from(bytes) }))

const jsonPayload = fc
  .tuple(anyKey, fc.json({ maxDepth: 4 }))
  .map(([to, payload]) => craftEnvelope(to, { payload }))

const otherBinding = fc
  .tuple(anyKey, fc.constantFrom('provider', 'account'), fc.string({ unit: 'grapheme', minLength: 1 }))
  .map(([to, name, more]) => craftEnvelope(to, { payload: { ...RIGHT, [name]: RIGHT.account + more } }))

const expired = fc
  .tuple(anyKey, fc.integer({ min: 0, max: NOW / 1000 }))
  .map(([to, exp]) => craftEnvelope(to, { payload: { ...RIGHT, exp } }))

const anything = fc.oneof(
  { weight: 8, arbitrary: editedText },
  { weight: 2, arbitrary: swappedParts },
  { weight: 3, arbitrary: headerMembers },
  { weight: 3, arbitrary: editedHeader },
  { weight: 4, arbitrary: editedPayload },
  { weight: 1, arbitrary: bytesPayload },
  { weight: 1, arbitrary: jsonPayload },
  { weight: 1, arbitrary: otherBinding },
  { weight: 1, arbitrary: expired },
  { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 9000 }) },
)

afterEach(() => {
  vi.restoreAllMocks()
})

it('opening refuses 10,000 mutated envelopes, never throws and prints nothing', async () => {
  const printed = (['log', 'info', 'warn', 'error', 'debug'] as const).map((name) => vi.spyOn(console, name))
  const warned = vi.spyOn(process, 'emitWarning')
  const seen = new Map<string, number>()
  await fc.assert(
    fc.asyncProperty(anything, async (envelope) => {
      const result = await open(envelope)
      expect(inspect(result, { depth: null })).not.toContain(PROVIDER_KEY)
      if (result.ok) throw new Error('it opened')
      expect(Object.keys(result)).toEqual(['ok', 'reason'])
      seen.set(result.reason, (seen.get(result.reason) ?? 0) + 1)
    }),
    { numRuns: RUNS, seed: SEED },
  )
  expect([...seen.keys()].sort()).toEqual(['expired', 'invalid', 'mismatch'])
  expect([...seen.values()].reduce((sum, count) => sum + count)).toBe(RUNS)
  for (const spy of [...printed, warned]) expect(spy).not.toHaveBeenCalled()
}, 300_000)
