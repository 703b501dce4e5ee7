import { createHash } from 'node:crypto'

const digest = (text: string) => createHash('sha256').update(text).digest('base64url').slice(0, 32)

/** What seals a thought. Real ones are opaque too, and hold for one unchanged text at one vendor alone. */
export function sign(vendor: 'anthropic' | 'openai' | 'google', text: string): string {
  return Buffer.from(`${vendor}:${digest(`${vendor}:${text}`)}`).toString('base64')
}

/** Whether the vendor made it, for whatever text. */
export const isFrom = (vendor: 'anthropic' | 'openai' | 'google', signature: string): boolean =>
  Buffer.from(signature, 'base64').toString().startsWith(`${vendor}:`)

/** What Google accepts instead of a signature for calls of other models. */
export const SKIP_SIGNATURE = 'skip_thought_signature_validator'
