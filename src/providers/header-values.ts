/** Returns the values of one header from a list of alternating names and values. */
export function valuesOf(name: string, headers: readonly Buffer[]): string[] {
  const values: string[] = []
  for (let index = 0; index < headers.length; index += 2) {
    const found = headers[index]!
    if (found.length === name.length && found.toString('latin1').toLowerCase() === name) {
      values.push(headers[index + 1]!.toString('latin1'))
    }
  }
  return values
}
