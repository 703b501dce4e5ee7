/** Returns text. Converts a number or a boolean to text, since a token may be a JSON number or literal. */
export function scalarText(value: unknown): string | undefined {
  if (typeof value === 'string') return value
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : undefined
}
