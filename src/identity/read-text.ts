/**
 * Returns the text of a reply. Rejects as soon as the text is too long, since the server that sends it may be broken or
 * compromised.
 */
export async function readText({ body }: Response, maxBytes: number): Promise<string> {
  const parts: Uint8Array[] = []
  let bytes = 0
  for await (const part of body ?? []) {
    bytes += part.length
    if (bytes > maxBytes) throw new Error(`The reply is longer than ${maxBytes} bytes`)
    parts.push(part)
  }
  return Buffer.concat(parts).toString()
}
