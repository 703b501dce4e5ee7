/** The text of a streamed reply, as a client reads it. */
export function textOf(stream: string): string {
  return [...stream.matchAll(/^data: (\{.*\})$/gm)]
    .map(([, json]) => JSON.parse(json!).choices?.[0]?.delta?.content ?? '')
    .join('')
}
