/** Returns an id or a name of a call with only the characters that Claude accepts. */
export function nameForClaude(text: string): string {
  return text.replace(/[^\w-]/g, '_')
}

/** Returns a text as it is: the server of another model may know its calls by other characters. */
export function sameName(text: string): string {
  return text
}
