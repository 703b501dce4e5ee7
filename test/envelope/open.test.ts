import { CompactEncrypt, importJWK } from 'jose'
import { describe, expect, it } from 'vitest'
import type { EnvelopePublicKey } from '../../src/envelope/index.js'
import { sealProviderKey } from '../../src/envelope/seal.js'
import { type Craft, craftEnvelope } from './craft.js'
import { BINDING, CURVES, NOW, open, outcome, PROVIDER_KEY, published, RIGHT } from './fixtures.js'

const [p256, x25519] = published as [EnvelopePublicKey, EnvelopePublicKey]
const SECONDS = NOW / 1000

function craft(change: Partial<Craft> = {}, to = p256): string {
  return craftEnvelope(to, { payload: RIGHT, ...change })
}

/** Returns another text for the same bytes. */
function withSpareBit(part: string): string {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
  const twin = part.slice(0, -1) + alphabet[alphabet.indexOf(part.at(-1)!) + 1]
  expect(Buffer.from(twin, 'base64url')).toEqual(Buffer.from(part, 'base64url'))
  return twin
}

describe('a valid envelope', () => {
  it.each(CURVES)('opens on %s if it was created without this package', async (curve) => {
    expect(await outcome(craft({}, curve === 'P-256' ? p256 : x25519))).toBe(PROVIDER_KEY)
  })

  it('may name its parties', async () => {
    const header = (right: object) => ({ ...right, apu: 'QWxpY2U', apv: 'Qm9i' })
    expect(await outcome(craft({ header }))).toBe(PROVIDER_KEY)
  })

  it('may expire later, at any whole second', async () => {
    expect(await outcome(craft({ payload: { ...RIGHT, exp: SECONDS + 1 } }))).toBe(PROVIDER_KEY)
  })

  it('opens as a secret that does not print itself', async () => {
    const result = await open(craft())
    expect(result).toEqual({ ok: true, secret: expect.anything() })
    expect(`${JSON.stringify(result)} ${String(result.ok && result.secret)}`).not.toContain(PROVIDER_KEY)
  })

  it('may have at most 8,192 bytes', async () => {
    const key = 'k'.repeat(4096)
    const ofLength = (length: number) => {
      for (let apuBytes = 1200; apuBytes < 1600; apuBytes++) {
        const apu = Buffer.alloc(apuBytes).toString('base64url')
        for (const account of ['a', 'aa', 'aaa']) {
          const envelope = craft({
            payload: { key, ...BINDING, account },
            header: (right) => ({ ...right, apu }),
          })
          if (envelope.length === length) return { envelope, binding: { ...BINDING, account } }
        }
      }
      throw new Error(`no envelope of ${length} bytes`)
    }
    const [longest, tooLong] = [ofLength(8192), ofLength(8193)]
    expect(await outcome(longest.envelope, longest.binding)).toBe(key)
    expect(await outcome(tooLong.envelope, tooLong.binding)).toBe('invalid')
  })
})

describe('an envelope for another purpose', () => {
  it.each([
    ['provider', { provider: 'anthropic' }],
    ['provider in different case', { provider: 'OpenAI' }],
    ['provider with a space', { provider: 'openai ' }],
    ['account', { account: 'bob' }],
    ['account written with other code units', { account: 'alice\u0301' }],
  ])('is a mismatch if another %s is expected', async (_what, other) => {
    expect(await outcome(craft(), { ...BINDING, ...other })).toBe('mismatch')
    expect(await outcome(craft({ payload: { ...RIGHT, ...other } }))).toBe('mismatch')
  })

  it('is compared by code unit, not by appearance', async () => {
    const composed = craft({ payload: { ...RIGHT, account: '\u00e9' } })
    expect(await outcome(composed, { ...BINDING, account: 'e\u0301' })).toBe('mismatch')
  })
})

describe('an envelope that has expired', () => {
  it.each([0, 1, SECONDS - 1, SECONDS])('is reported as expired: exp %i', async (exp) => {
    expect(await outcome(craft({ payload: { ...RIGHT, exp } }))).toBe('expired')
  })

  it('is only a mismatch for an account that it was not sealed for', async () => {
    const envelope = craft({ payload: { ...RIGHT, exp: 1 } })
    expect(await outcome(envelope, { ...BINDING, account: 'bob' })).toBe('mismatch')
  })
})

describe('a text that is not an envelope', () => {
  const right = craft({}, x25519)
  const parts = right.slice(3).split('.')
  const withPart = (index: number, part: string) => `v1.${parts.with(index, part).join('.')}`
  const texts: [string, unknown][] = [
    ['the key in plaintext', PROVIDER_KEY],
    ['an empty text', ''],
    ['a version alone', 'v1.'],
    ['no version', parts.join('.')],
    ['another version', `v2.${parts.join('.')}`],
    ['a version in capitals', right.replace('v1.', 'V1.')],
    ['four parts', `v1.${parts.slice(0, 4).join('.')}`],
    ['six parts', `${right}.AAAA`],
    ['a sixth, empty part', `${right}.`],
    ['an encrypted key', withPart(1, 'AAAA')],
    ['a line break at the end', `${right}\n`],
    ['a space in front', ` ${right}`],
    ['padding', `${right}==`],
    ['an empty ciphertext', withPart(3, '')],
    ['an IV of 16 bytes', withPart(2, 'A'.repeat(22))],
    ['a tag of 12 bytes', withPart(4, parts[4]!.slice(0, 16))],
    [
      'a tag with a bit moved to the ciphertext',
      withPart(
        4,
        parts[4]!.replace(/^./, (c) => (c === 'A' ? 'B' : 'A')),
      ),
    ],
    ['a header that is another one', withPart(0, craft({}, x25519).slice(3).split('.')[0]!)],
    ['more than 8 KiB', right + 'A'.repeat(8192)],
    ['64 MiB', `v1.${'.'.repeat(64 * 1024 * 1024)}`],
    ['a number', 1],
    ['null', null],
    ['an object with its text', { toString: () => right, length: right.length }],
  ]
  it.each(texts)('is invalid: %s', async (_what, text) => {
    expect(await outcome(right)).toBe(PROVIDER_KEY)
    expect(await outcome(text as string)).toBe('invalid')
  })

  it('is invalid if unused bits of base64url are set, so an envelope has only one text', async () => {
    expect(await outcome(withPart(4, withSpareBit(parts[4]!)))).toBe('invalid')
    const oneOver = craft({
      payload: `${JSON.stringify(RIGHT)}${' '.repeat(3 - (JSON.stringify(RIGHT).length % 3) + 1)}`,
    })
    const ciphertext = oneOver.split('.')[4]!
    expect(await outcome(oneOver)).toBe(PROVIDER_KEY)
    expect(await outcome(oneOver.replace(`.${ciphertext}.`, `.${withSpareBit(ciphertext)}.`))).toBe('invalid')
  })
})

describe('an envelope header that version 1 does not allow', () => {
  const headers: [string, Craft['header']][] = [
    ['zip', (right) => ({ ...right, zip: 'DEF' })],
    ['crit', (right) => ({ ...right, crit: ['exp'], exp: 1 })],
    ['p2c', (right) => ({ ...right, p2c: 1_000_000_000, p2s: 'AAAAAAAAAAA' })],
    ['jku', (right) => ({ ...right, jku: 'http://127.0.0.1:9/' })],
    ['jwk', (right) => ({ ...right, jwk: p256 })],
    ['x5u', (right) => ({ ...right, x5u: 'http://127.0.0.1:9/' })],
    ['x5c', (right) => ({ ...right, x5c: [] })],
    ['cty', (right) => ({ ...right, cty: 'JWT' })],
    ['typ', (right) => ({ ...right, typ: 'JWE' })],
    [
      'a member named __proto__',
      (right) => JSON.stringify(right).replace('{', '{"__proto__":{"zip":"DEF"},'),
    ],
    ['a member named constructor', (right) => ({ ...right, constructor: 1 })],
    ['the algorithm none', (right) => ({ ...right, alg: 'none' })],
    ['the algorithm dir', (right) => ({ ...right, alg: 'dir' })],
    ['PBES2', (right) => ({ ...right, alg: 'PBES2-HS256+A128KW', p2c: 1_000_000_000, p2s: 'AAAAAAAAAAA' })],
    ['another encryption', (right) => ({ ...right, enc: 'A128CBC-HS256' })],
    ['no kid', ({ kid: _, ...others }) => others],
    ['an unknown kid', (right) => ({ ...right, kid: 'unknown' })],
    ['a kid that is a property of every object', (right) => ({ ...right, kid: '__proto__' })],
    ['a kid that is a method', (right) => ({ ...right, kid: 'constructor' })],
    ['a kid that is a list', (right) => ({ ...right, kid: [p256.kid] })],
    ['the kid of a key on another curve', (right) => ({ ...right, kid: x25519.kid })],
    ['no epk', ({ epk: _, ...others }) => others],
    ['a private epk', (right) => ({ ...right, epk: { ...(right.epk as object), d: 'A'.repeat(43) } })],
    [
      'an epk with an address',
      (right) => ({ ...right, epk: { ...(right.epk as object), x5u: 'http://127.0.0.1:9/' } }),
    ],
    ['an epk off the curve', (right) => ({ ...right, epk: { ...(right.epk as object), y: 'A'.repeat(43) } })],
    ['an epk on another curve', (right) => ({ ...right, epk: { kty: 'OKP', crv: 'X25519', x: x25519.x } })],
    [
      'an epk on P-384',
      (right) => ({ ...right, epk: { kty: 'EC', crv: 'P-384', x: 'A'.repeat(64), y: 'A'.repeat(64) } }),
    ],
    ['an epk that is text', (right) => ({ ...right, epk: 'AAAA' })],
    ['an apu that is not base64url', (right) => ({ ...right, apu: '***' })],
    ['an apv that is a number', (right) => ({ ...right, apv: 1 })],
    ['a list', (right) => [right]],
    ['null', () => 'null'],
    ['text', () => '"ECDH-ES"'],
    ['invalid JSON', () => '{'],
    ['a byte order mark', (right) => `\ufeff${JSON.stringify(right)}`],
    ['bytes that are not UTF-8', () => Buffer.from([0x7b, 0xff, 0x7d])],
    ['deep nesting', () => '['.repeat(4000)],
  ]
  it.each(headers)('is invalid: %s', async (_what, header) => {
    expect(await outcome(craft({ header: header! }))).toBe('invalid')
  })

  it('is invalid with spare bits in its epk', async () => {
    const header = (right: Record<string, unknown>) => {
      const epk = right.epk as { x: string }
      return { ...right, epk: { ...epk, x: withSpareBit(epk.x) } }
    }
    for (const to of [p256, x25519]) expect(await outcome(craft({ header }, to))).toBe('invalid')
  })

  it('is invalid with an epk of small order', async () => {
    for (const x of ['A'.repeat(43), `AQ${'A'.repeat(41)}`]) {
      const header = (right: object) => ({ ...right, epk: { kty: 'OKP', crv: 'X25519', x } })
      expect(await outcome(craft({ header }, x25519))).toBe('invalid')
    }
  })

  it.each([
    ['compressed', { alg: 'ECDH-ES', enc: 'A256GCM', zip: 'DEF' }],
    ['with a wrapped key', { alg: 'ECDH-ES+A256KW', enc: 'A256GCM' }],
    ['with AES-128', { alg: 'ECDH-ES', enc: 'A128GCM' }],
    ['with AES-CBC', { alg: 'ECDH-ES', enc: 'A256CBC-HS512' }],
  ])('is invalid even if the JWE is correct but created in another way: %s', async (_what, header) => {
    const { kty, crv, x, y, kid } = p256
    const publicKey = await importJWK({ kty, crv, x, y } as Parameters<typeof importJWK>[0], header.alg)
    const jwe = await new CompactEncrypt(Buffer.from(JSON.stringify(RIGHT)))
      .setProtectedHeader({ ...header, kid })
      .encrypt(publicKey)
    expect(await outcome(`v1.${jwe}`)).toBe('invalid')
  })
})

describe('an envelope payload that version 1 does not allow', () => {
  const payloads: [string, unknown][] = [
    ['no key', BINDING],
    ['an empty key', { ...RIGHT, key: '' }],
    ['a key of 4,097 characters', { ...RIGHT, key: 'k'.repeat(4097) }],
    ['a key with a space', { ...RIGHT, key: 'sk live' }],
    ['a key with a line break', { ...RIGHT, key: 'sk-live\r\nx-evil: 1' }],
    ['a key with a letter outside ASCII', { ...RIGHT, key: 'sk-é' }],
    ['a key that is a list', { ...RIGHT, key: [PROVIDER_KEY] }],
    ['no provider', { key: PROVIDER_KEY, account: 'alice' }],
    ['an empty provider', { ...RIGHT, provider: '' }],
    ['a provider that is a list', { ...RIGHT, provider: ['openai'] }],
    ['no account', { key: PROVIDER_KEY, provider: 'openai' }],
    ['an empty account', { ...RIGHT, account: '' }],
    ['an account that is null', { ...RIGHT, account: null }],
    ['an expiry that is text', { ...RIGHT, exp: String(SECONDS + 60) }],
    ['an expiry that is null', { ...RIGHT, exp: null }],
    ['an expiry with a fraction', { ...RIGHT, exp: SECONDS + 0.5 }],
    ['an expiry below zero', { ...RIGHT, exp: -1 }],
    ['an expiry beyond every safe integer', JSON.stringify(RIGHT).replace('}', ',"exp":1e300}')],
    ['an address', { ...RIGHT, baseUrl: 'http://127.0.0.1:9/' }],
    ['a member named __proto__', JSON.stringify(RIGHT).replace('{', '{"__proto__":{},')],
    ['a list', [RIGHT]],
    ['null', 'null'],
    ['the key alone', JSON.stringify(PROVIDER_KEY)],
    ['invalid JSON', PROVIDER_KEY],
    ['an empty text', ''],
    ['a byte order mark', `\ufeff${JSON.stringify(RIGHT)}`],
    [
      'bytes that are not UTF-8',
      Buffer.concat([Buffer.from('{"key":"'), Buffer.from([0xff]), Buffer.from('"}')]),
    ],
    ['deep nesting', '['.repeat(5000)],
  ]
  it.each(payloads)('is invalid: %s', async (_what, payload) => {
    expect(await outcome(craft({ payload }))).toBe('invalid')
  })

  it('is invalid with bytes that are not UTF-8 even if a decoder would replace them', async () => {
    const [before, after] = JSON.stringify({ ...RIGHT, account: '|' }).split('|') as [string, string]
    const envelope = craft({
      payload: Buffer.concat([Buffer.from(before), Buffer.of(0xff), Buffer.from(after)]),
    })
    expect(await outcome(envelope, { ...BINDING, account: '\ufffd' })).toBe('invalid')
  })

  it('is invalid for every account if it names no account', async () => {
    const envelope = craft({ payload: { key: PROVIDER_KEY, provider: 'openai' } })
    expect(await outcome(envelope, { provider: 'openai', account: 'undefined' })).toBe('invalid')
  })
})

it('a sealed envelope that does not open gives the same reasons', async () => {
  const envelope = await sealProviderKey({ ...RIGHT, expiresAt: NOW }, p256)
  expect(await open(envelope)).toEqual({ ok: false, reason: 'expired' })
  expect(await open(envelope, { ...BINDING, provider: 'other' })).toEqual({ ok: false, reason: 'mismatch' })
  expect(await open(`${envelope}A`)).toEqual({ ok: false, reason: 'invalid' })
})
