/** Returns headers as a receiver takes them: names and values in turn, as bytes. */
export function rawHeaders(headers: Iterable<readonly [string, string | string[] | undefined]>): Buffer[] {
  const raw: Buffer[] = []
  for (const [name, values] of headers) {
    for (const value of Array.isArray(values) ? values : [values ?? '']) {
      raw.push(Buffer.from(name, 'latin1'), Buffer.from(value, 'latin1'))
    }
  }
  return raw
}
