import type { Json } from '../shape.js'

/** A JSON value that is written as its text. */
export class Exact {
  constructor(readonly text: string) {}
}

/** Writes a request as JSON, with the digits of exact values. */
export function exactJson(body: Json): string {
  const texts: string[] = []
  const marked = JSON.stringify(body, (_name, value: unknown) => {
    if (!(value instanceof Exact)) return value
    texts.push(value.text)
    return `\u0000exact\u0000${texts.length - 1}`
  })
  return marked.replace(/"\\u0000exact\\u0000(\d+)"/g, (_all, index) => texts[Number(index)]!)
}

/** Whether a schema says that an object has no other members, which OpenAI wants of a strict one. */
export const isClosed = (schema: string): boolean => schema.includes('"additionalProperties":false')
