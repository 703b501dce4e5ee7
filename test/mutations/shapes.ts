import type { JsonObject } from '../recordings/recording.js'

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Whether a value carries nothing: null, an empty text, list or object, or `false`. */
export function saysNothing(value: unknown): boolean {
  if (value === undefined || value === null || value === '' || value === false) return true
  return typeof value === 'object' && Object.keys(value).length === 0
}

/** All text in a value of any shape, and its numbers, as an estimate counts them. */
export function textsIn(value: unknown): string {
  if (typeof value === 'string') return value
  if (typeof value === 'number') return String(value)
  if (typeof value !== 'object' || value === null) return ''
  return Object.values(value).map(textsIn).join('')
}

/** A scalar as the text that it is written as. */
export function scalar(value: unknown): string | undefined {
  if (typeof value === 'string') return value
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : undefined
}

const HOLDERS = ['text', 'content', 'thinking', 'reasoning', 'reasoning_content', 'summary']

/** The text in a value that may be text, a list of parts, or an object with a text. */
export function textWithin(value: unknown, levels = 8): string {
  const own = scalar(value)
  if (own !== undefined) return own
  if (levels === 0) return ''
  if (Array.isArray(value)) return value.map((item) => textWithin(item, levels - 1)).join('')
  if (!isObject(value)) return ''
  for (const name of HOLDERS) {
    const found = textWithin(value[name], levels - 1)
    if (found !== '') return found
  }
  return ''
}
