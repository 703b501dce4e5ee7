import { randomBytes } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { createSecretBox } from '../../src/sql/secret-box.js'
import { sqliteStores } from '../../src/sqlite/index.js'

const binding = { routeId: 'r', provider: 'p', origin: 'https://a.example' }

describe('secrets at rest', () => {
  it('open unchanged, each with its own nonce', () => {
    const box = createSecretBox([{ id: 'k', key: randomBytes(32) }])
    const first = box.seal('sk-ü', binding)
    const second = box.seal('sk-ü', binding)
    expect(first.sealed).not.toBe(second.sealed)
    expect(box.open(first, binding).reveal()).toBe('sk-ü')
  })

  it('do not open if a single byte was changed', () => {
    const box = createSecretBox([{ id: 'k', key: randomBytes(32) }])
    const { keyId, sealed } = box.seal('sk-upstream', binding)
    const bytes = Buffer.from(sealed, 'base64')
    for (let at = 0; at < bytes.length; at++) {
      const changed = Buffer.from(bytes)
      changed[at]! ^= 1
      expect(() => box.open({ keyId, sealed: changed.toString('base64') }, binding)).toThrow('does not open')
    }
    for (let length = 0; length < bytes.length; length++) {
      const cut = bytes.subarray(0, length).toString('base64')
      expect(() => box.open({ keyId, sealed: cut }, binding)).toThrow('does not open')
    }
  })

  it('do not open under another key with the same id, or the same key with another id', () => {
    const key = randomBytes(32)
    const sealed = createSecretBox([{ id: 'k', key }]).seal('sk', binding)
    expect(() => createSecretBox([{ id: 'k', key: randomBytes(32) }]).open(sealed, binding)).toThrow()
    const renamed = createSecretBox([{ id: 'other', key }])
    expect(() => renamed.open({ ...sealed, keyId: 'other' }, binding)).toThrow('does not open')
  })

  it('accept a key as bytes, hex or base64, and an invalid key is named', () => {
    const key = randomBytes(32)
    const sealed = createSecretBox([{ id: 'k', key }]).seal('sk', binding)
    for (const text of [key.toString('hex'), key.toString('base64'), key.toString('base64url')]) {
      expect(
        createSecretBox([{ id: 'k', key: text }])
          .open(sealed, binding)
          .reveal(),
      ).toBe('sk')
    }
    for (const bad of ['', 'short', randomBytes(31), randomBytes(33).toString('base64'), 'x'.repeat(64)]) {
      expect(() => sqliteStores({ file: 'never-made.db', secretKeys: [{ id: 'k', key: bad }] })).toThrow(
        /^sqliteStores: secretKeys\.0\.key must be 32 bytes, as bytes, hex or base64$/,
      )
    }
    expect(() =>
      sqliteStores({
        file: 'never-made.db',
        secretKeys: [
          { id: 'k', key },
          { id: 'k', key },
        ],
      }),
    ).toThrow('twice')
  })
})
