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

const numbered = (n: number) => String(n).padStart(24, '0')

/** The id of the thought of a reply of the stand-in for responses. */
export const idOfThought = (n: number): string => `rs_${numbered(n)}`

/** The id of something that a reply says after a thought, which it needs from then on. */
export const idBehindThought = (prefix: string, n: number, at = 0): string => `${prefix}_${numbered(n)}t${at}`

/** The id of the thought that an item of a reply needs. */
export function thoughtOf(id: unknown): string | undefined {
  const number = typeof id === 'string' ? /_(\d{24})t\d+$/.exec(id)?.[1] : undefined
  return number === undefined ? undefined : `rs_${number}`
}
