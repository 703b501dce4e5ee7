import { isObject, textOf } from '../protocol/json-values.js'

/** Returns the address of an image in a chat reply. Undefined if it has none. */
export function imageAddress(image: unknown): string | undefined {
  const given = isObject(image) ? image.image_url : undefined
  return textOf(isObject(given) ? given.url : given)
}

/** Returns an image as text, for a reply without a field for its address. */
export function imageText(address: string): string {
  return `![image](${address})`
}
