import type { CallContext, OpenResult } from '../../src/contracts/index.js'
import { generateEnvelopeKey, type Keyring, keyring } from '../../src/envelope/index.js'

export const NOW = Date.UTC(2026, 10, 21)
export const PROVIDER_KEY = 'sk-live-5f1c9d27b4e84f0aa3c6'
export const BINDING = { provider: 'openai', account: 'alice' }
export const RIGHT = { key: PROVIDER_KEY, ...BINDING }
export const CURVES = ['P-256', 'X25519'] as const

/** One key on each curve, both in use. */
export const keys = {
  'P-256': await generateEnvelopeKey('2026-11', { curve: 'P-256' }),
  X25519: await generateEnvelopeKey('2026-11-x', { curve: 'X25519' }),
}

export const ring = keyring([keys['P-256'], keys.X25519], { clock: { now: () => NOW } })

export const published = ring.publicKeys().keys

const context: CallContext = { requestId: 'req-1', signal: new AbortController().signal }

export async function open(envelope: string, binding = BINDING, from: Keyring = ring): Promise<OpenResult> {
  return from.open(envelope, binding, context)
}

/** Returns the sealed key, or the reason if the envelope does not open. */
export async function outcome(envelope: string, binding = BINDING, from: Keyring = ring): Promise<string> {
  const result = await open(envelope, binding, from)
  return result.ok ? result.secret.reveal() : result.reason
}
