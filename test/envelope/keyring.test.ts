import { inspect } from 'node:util'
import { describe, expect, it } from 'vitest'
import {
  type EnvelopeCurve,
  generateEnvelopeKey,
  type KeyringKey,
  keyring,
} from '../../src/envelope/index.js'
import { sealProviderKey } from '../../src/envelope/seal.js'
import { CURVES, keys, NOW, outcome, PROVIDER_KEY, RIGHT } from './fixtures.js'

const key = keys['P-256']
const other = await generateEnvelopeKey('other')
const otherX25519 = await generateEnvelopeKey('other', { curve: 'X25519' })
const clock = { now: () => NOW }

describe('generateEnvelopeKey', () => {
  it.each(CURVES)('generates a private JWK on %s that survives JSON', async (curve) => {
    const made = await generateEnvelopeKey('kid-1', { curve })
    expect(made).toEqual({
      kty: curve === 'P-256' ? 'EC' : 'OKP',
      crv: curve,
      x: expect.stringMatching(/^[\w-]{43}$/),
      ...(curve === 'P-256' ? { y: expect.stringMatching(/^[\w-]{43}$/) } : {}),
      d: expect.stringMatching(/^[\w-]{43}$/),
      kid: 'kid-1',
      use: 'enc',
      alg: 'ECDH-ES',
    })
    const restored = keyring([JSON.parse(JSON.stringify(made)) as KeyringKey], { clock })
    const envelope = await sealProviderKey(RIGHT, restored.publicKeys().keys[0]!)
    expect(await outcome(envelope, undefined, restored)).toBe(PROVIDER_KEY)
  })

  it('generates a different key every time, on P-256 by default', async () => {
    const [one, other] = [await generateEnvelopeKey('a'), await generateEnvelopeKey('a')]
    expect(one.crv).toBe('P-256')
    expect(one.d).not.toBe(other.d)
  })

  it.each(['', 'a b', 'é', 'k'.repeat(257)])('refuses the kid %j', async (kid) => {
    await expect(generateEnvelopeKey(kid)).rejects.toThrow(
      /^generateEnvelopeKey: kid must be 1 to 256 visible ASCII/,
    )
  })

  it('refuses another curve', async () => {
    await expect(generateEnvelopeKey('a', { curve: 'P-384' as EnvelopeCurve })).rejects.toThrow(
      /^generateEnvelopeKey: curve must be/,
    )
    await expect(generateEnvelopeKey('a', { curves: 'X25519' } as object)).rejects.toThrow(
      'curves is not an option of generateEnvelopeKey; did you mean curve?',
    )
  })
})

describe('keyring', () => {
  it.each<[unknown, string]>([
    [5, 'keyring takes an object of options; got a number'],
    [{ clocks: clock }, 'clocks is not an option of keyring; did you mean clock?'],
    [{ clock: Date.now }, 'keyring: clock has no method now()'],
    [{ clock: null }, 'keyring: clock is missing; it must be an object with now'],
  ])('refuses invalid options: %o', (options, message) => {
    expect(() => keyring([key], options as never)).toThrow(
      expect.objectContaining({ name: 'OptionsError', message }),
    )
  })

  it('publishes only the public members of keys that are not retired, in their order', async () => {
    const withMore = { ...keys.X25519, key_ops: ['deriveBits'], ext: true, x5u: 'http://127.0.0.1/' }
    const retired = { ...(await generateEnvelopeKey('old')), retired: true }
    const ring = keyring([withMore, retired, key], { clock })
    const { d: _, ...publicX25519 } = keys.X25519
    const { d: __, ...publicP256 } = key
    expect(ring.publicKeys()).toEqual({ keys: [publicX25519, publicP256] })
    const allowed = new Set(['kty', 'crv', 'x', 'y', 'kid', 'use', 'alg'])
    for (const published of ring.publicKeys().keys) {
      expect(Object.keys(published).filter((member) => !allowed.has(member))).toEqual([])
    }
  })

  it('opens with every key, including retired ones, but not with a removed key', async () => {
    const [old, current] = [await generateEnvelopeKey('1'), await generateEnvelopeKey('2')]
    const before = keyring([old], { clock })
    const envelope = await sealProviderKey(RIGHT, before.publicKeys().keys[0]!)
    const rotated = keyring([current, { ...old, retired: true }], { clock })
    expect(rotated.publicKeys().keys.map(({ kid }) => kid)).toEqual(['2'])
    expect(await outcome(envelope, undefined, rotated)).toBe(PROVIDER_KEY)
    expect(await outcome(envelope, undefined, keyring([current], { clock }))).toBe('invalid')
  })

  it('does not open with another key of the same kid', async () => {
    const [one, other] = [await generateEnvelopeKey('same'), await generateEnvelopeKey('same')]
    const envelope = await sealProviderKey(RIGHT, keyring([one]).publicKeys().keys[0]!)
    expect(await outcome(envelope, undefined, keyring([other]))).toBe('invalid')
  })

  it('finds a key by a kid that is also a property of every object', async () => {
    for (const kid of ['__proto__', 'constructor', 'toString']) {
      const ring = keyring([await generateEnvelopeKey(kid)], { clock })
      const envelope = await sealProviderKey(RIGHT, ring.publicKeys().keys[0]!)
      expect(await outcome(envelope, undefined, ring)).toBe(PROVIDER_KEY)
    }
  })

  it('uses its clock', async () => {
    let now = NOW
    const ring = keyring([key], { clock: { now: () => now } })
    const envelope = await sealProviderKey({ ...RIGHT, expiresAt: NOW + 60_000 }, ring.publicKeys().keys[0]!)
    expect(await outcome(envelope, undefined, ring)).toBe(PROVIDER_KEY)
    now += 60_000
    expect(await outcome(envelope, undefined, ring)).toBe('expired')
  })

  it('uses the system time by default', async () => {
    const ring = keyring([key])
    const soon = await sealProviderKey(
      { ...RIGHT, expiresAt: Date.now() + 3_600_000 },
      ring.publicKeys().keys[0]!,
    )
    const past = await sealProviderKey({ ...RIGHT, expiresAt: Date.now() - 1000 }, ring.publicKeys().keys[0]!)
    expect([await outcome(soon, undefined, ring), await outcome(past, undefined, ring)]).toEqual([
      PROVIDER_KEY,
      'expired',
    ])
  })

  it('keeps copies of its keys and returns copies', async () => {
    const mutable = [{ ...key }]
    const ring = keyring(mutable, { clock })
    mutable[0]!.kid = 'changed'
    mutable.length = 0
    Object.assign(ring.publicKeys().keys[0]!, { kid: 'changed', d: 'leak' })
    expect(ring.publicKeys().keys).toEqual([expect.objectContaining({ kid: key.kid })])
    expect(ring.publicKeys().keys[0]).not.toHaveProperty('d')
  })

  it('does not show its keys when it is printed', () => {
    const ring = keyring([key, keys.X25519])
    expect(inspect(ring, { depth: null, showHidden: true })).not.toContain(key.d)
    expect(JSON.stringify(ring)).toBe('{}')
  })

  const bad: [string, unknown, RegExp][] = [
    ['no keys', undefined, /^keyring: keys must be an array of at least one key/],
    ['an empty list', [], /^keyring: keys must be an array of at least one key/],
    ['a key outside a list', key, /^keyring: keys must be an array of at least one key/],
    ['a hole', [key, undefined], /^keyring: keys\.1 is not/],
    ['a promise of a key', [Promise.resolve(key)], /^keyring: keys\.0 is a promise, .* await it first$/],
    ['a public key', [{ ...key, d: undefined }], /^keyring: keys\.0\.d is not/],
    ['a short d', [{ ...key, d: 'AAAA' }], /^keyring: keys\.0\.d is not/],
    ['a d of zero', [{ ...key, d: 'A'.repeat(43) }], /^keyring: keys\.0 is not a valid P-256 key/],
    ['no kid', [{ ...key, kid: '' }], /^keyring: keys\.0\.kid is not/],
    ['no y', [{ ...key, y: undefined }], /^keyring: keys\.0\.y is not/],
    ['another curve', [{ ...key, crv: 'P-384' }], /^keyring: keys\.0\.crv is not/],
    ['another type', [{ ...key, kty: 'OKP' }], /^keyring: keys\.0\.kty is not/],
    ['a key for signatures', [{ ...key, use: 'sig' }], /^keyring: keys\.0\.use is not/],
    ['a key for another algorithm', [{ ...key, alg: 'ECDH-ES+A256KW' }], /^keyring: keys\.0\.alg is not/],
    ['a retired that is text', [{ ...key, retired: 'no' }], /^keyring: keys\.0\.retired is not/],
    [
      'a misspelt retired',
      [{ ...key, retire: true }],
      /^keys\.0\.retire is not .* did you mean keys\.0\.retired\?$/,
    ],
    [
      'a kid twice',
      [key, { ...other, kid: key.kid }],
      /^keyring: keys\.1\.kid is also the id of another key/,
    ],
    ['a point off the curve', [{ ...key, y: key.x }], /^keyring: keys\.0 is not a valid P-256 key/],
    [
      'the x and y of another key',
      [{ ...key, x: other.x, y: other.y }],
      /^keyring: keys\.0 .* x does not match its d$/,
    ],
    [
      'the x of another key',
      [{ ...keys.X25519, x: otherX25519.x }],
      /^keyring: keys\.0 .* x does not match its d$/,
    ],
  ]
  it.each(bad)('refuses %s, with no key in the error', (_what, candidates, message) => {
    const attempt = () => keyring(candidates as KeyringKey[])
    expect(attempt).toThrow(message)
    expect(attempt).toThrow(TypeError)
    try {
      attempt()
    } catch (error) {
      const shown = inspect(error, { depth: null, showHidden: true })
      expect(shown).not.toContain(key.d)
      expect(shown).not.toContain(keys.X25519.d)
    }
  })
})
