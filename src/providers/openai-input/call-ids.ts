/** Returns an id of a call with only the characters that Claude accepts. */
export function idForClaude(id: string): string {
  return id.replace(/[^\w-]/g, '_')
}

/** Returns an id as it is: the server of another model may know its calls by other characters. */
export function sameId(id: string): string {
  return id
}
