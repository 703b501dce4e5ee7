import { describe, expect, it } from 'vitest'
import { OptionsError } from '../../src/base/options-error.js'
import type { EnvelopePublicKey } from '../../src/envelope/index.js'
import { type ProviderKey, sealProviderKey } from '../../src/envelope/seal.js'
import { BINDING, CURVES, keys, NOW, outcome, PROVIDER_KEY, published, RIGHT } from './fixtures.js'

const jwk = published[0]!

describe('sealProviderKey', () => {
  it.each(CURVES)('seals an envelope on %s that the keyring opens', async (curve) => {
    const to = published.find(({ crv }) => crv === curve)!
    const envelope = await sealProviderKey(RIGHT, to)
    expect(envelope).toMatch(/^v1\.[\w-]+\.\.[\w-]{16}\.[\w-]+\.[\w-]{22}$/)
    expect(envelope).not.toContain(PROVIDER_KEY)
    expect(await outcome(envelope)).toBe(PROVIDER_KEY)
  })

  it('puts only members into the header that the keyring accepts', async () => {
    const envelope = await sealProviderKey(RIGHT, jwk)
    const header: unknown = JSON.parse(Buffer.from(envelope.split('.')[1]!, 'base64url').toString())
    expect(header).toEqual({
      alg: 'ECDH-ES',
      enc: 'A256GCM',
      kid: jwk.kid,
      epk: { kty: 'EC', crv: 'P-256', x: expect.any(String), y: expect.any(String) },
    })
  })

  it('returns a different envelope every time', async () => {
    const [one, other] = [await sealProviderKey(RIGHT, jwk), await sealProviderKey(RIGHT, jwk)]
    expect(one).not.toBe(other)
    expect(one.split('.')[3]).not.toBe(other.split('.')[3])
  })

  it('binds to provider and account with any characters, unchanged', async () => {
    const binding = { provider: 'Ünï/côdé "x"', account: 'кошка\u0000\ud83d\ude00' }
    expect(await outcome(await sealProviderKey({ ...RIGHT, ...binding }, jwk), binding)).toBe(PROVIDER_KEY)
  })

  it('seals a key of 1 and of 4,096 characters', async () => {
    for (const key of ['!', '~'.repeat(4096)]) {
      expect(await outcome(await sealProviderKey({ ...RIGHT, key }, jwk))).toBe(key)
    }
  })

  it('makes the envelope expire in the second of expiresAt', async () => {
    const alive = await sealProviderKey({ ...RIGHT, expiresAt: NOW + 1999 }, jwk)
    const expired = await sealProviderKey({ ...RIGHT, expiresAt: NOW + 999 }, jwk)
    expect([await outcome(alive), await outcome(expired)]).toEqual([PROVIDER_KEY, 'expired'])
  })

  it('accepts a published key with additional members', async () => {
    const withMore = { ...jwk, ext: true, key_ops: ['verify'], x5u: 'http://127.0.0.1/' }
    expect(await outcome(await sealProviderKey(RIGHT, withMore))).toBe(PROVIDER_KEY)
  })

  const badInput: [string, object, RegExp][] = [
    ['an empty key', { key: '' }, /^sealProviderKey: key must/],
    ['a key with a line break at its end', { key: `${PROVIDER_KEY}\n` }, /^sealProviderKey: key must/],
    ['a key with a space', { key: 'sk live' }, /^sealProviderKey: key must/],
    ['a key with a letter outside ASCII', { key: 'sk-é' }, /^sealProviderKey: key must/],
    ['a key of 4,097 characters', { key: 'k'.repeat(4097) }, /^sealProviderKey: key must/],
    ['a key that is not a string', { key: 12345 }, /^sealProviderKey: key must/],
    ['no provider', { provider: undefined }, /^sealProviderKey: provider must/],
    ['an empty provider', { provider: '' }, /^sealProviderKey: provider must/],
    ['no account', { account: undefined }, /^sealProviderKey: account must/],
    ['an empty account', { account: '' }, /^sealProviderKey: account must/],
    ['an expiry in seconds', { expiresAt: NOW / 1000 }, /^sealProviderKey: expiresAt must .* milliseconds/],
    ['an expiry that is not a number', { expiresAt: Number.NaN }, /^sealProviderKey: expiresAt must/],
    ['an infinite expiry', { expiresAt: Number.POSITIVE_INFINITY }, /^sealProviderKey: expiresAt must/],
    ['a misspelt expiry', { expires: NOW + 1 }, /^sealProviderKey takes an object with only .*expiresAt$/],
    [
      'more than fits into an envelope',
      { account: 'a'.repeat(8192) },
      /^sealProviderKey would return \d+ bytes/,
    ],
  ]
  it('refuses a value that is not a provider key', async () => {
    await expect(sealProviderKey(null as never, jwk)).rejects.toThrow(
      'sealProviderKey takes an object with only key, provider, account, expiresAt',
    )
  })

  it.each(badInput)('refuses %s', async (_what, change, message) => {
    await expect(sealProviderKey({ ...RIGHT, ...change } as ProviderKey, jwk)).rejects.toThrow(message)
    await expect(sealProviderKey({ ...RIGHT, ...change } as ProviderKey, jwk)).rejects.toBeInstanceOf(
      OptionsError,
    )
  })

  const badKeys: [string, unknown, RegExp][] = [
    ['no key', undefined, /^sealProviderKey: jwk must be one of the keys/],
    ['a private key', keys['P-256'], /private key/],
    ['a key without kid', { ...jwk, kid: undefined }, /^sealProviderKey: jwk\.kid/],
    ['a key for signatures', { ...jwk, use: 'sig' }, /^sealProviderKey: jwk\.use/],
    ['a key for another algorithm', { ...jwk, alg: 'ECDH-ES+A256KW' }, /^sealProviderKey: jwk\.alg/],
    ['a key on another curve', { ...jwk, crv: 'P-384' }, /'P-256'.*'X25519'/],
    ['a key whose type does not match its curve', { ...jwk, kty: 'OKP' }, /'P-256'.*'X25519'/],
    ['a symmetric key', { kty: 'oct', k: 'AAAA', kid: 'a' }, /'P-256'.*'X25519'/],
    ['a point that is not on the curve', { ...jwk, y: jwk.x }, /not a valid P-256 public key/],
    ['a key without x', { ...jwk, x: undefined }, /not a valid P-256 public key/],
  ]
  it.each(badKeys)('refuses to seal with %s', async (_what, bad, message) => {
    await expect(sealProviderKey(RIGHT, bad as EnvelopePublicKey)).rejects.toThrow(message)
    await expect(sealProviderKey(RIGHT, bad as EnvelopePublicKey)).rejects.toBeInstanceOf(OptionsError)
  })

  it('has no part of the key in any error', async () => {
    const key = `${PROVIDER_KEY} with a space`
    const attempts = [
      ...badInput.map(([, change]) => sealProviderKey({ ...RIGHT, key, ...change } as ProviderKey, jwk)),
      ...badKeys.map(([, bad]) => sealProviderKey(RIGHT, bad as EnvelopePublicKey)),
      sealProviderKey({ ...BINDING, key }, jwk),
    ]
    for (const attempt of await Promise.allSettled(attempts)) {
      const { message, stack, cause } = (attempt as PromiseRejectedResult).reason as Error
      expect(`${message} ${stack}`).not.toContain(PROVIDER_KEY)
      expect(`${message} ${stack}`).not.toContain(keys['P-256'].d)
      expect(cause).toBeUndefined()
    }
  })
})
