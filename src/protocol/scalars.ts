/** Returns text, or a number or a boolean as the text that it is written as. A token may be a digit or a word of JSON. */
export function scalarText(value: unknown): string | undefined {
  if (typeof value === 'string') return value
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : undefined
}
