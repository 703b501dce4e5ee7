declare const isBytes: unique symbol

/**
 * Text in latin1 that stands for bytes: each character is one byte of UTF-8, so V8 needs one byte for it. At run time it
 * is a string. The compiler keeps it apart from text: only the functions of this file make it, and `+` makes text of it.
 */
export type WireBytes = Wire & string

/** What distinguishes bytes from text for the compiler. A part of bytes is bytes. */
export interface Wire {
  readonly [isBytes]: true
  slice(from?: number, to?: number): WireBytes
}

/** Text that is not bytes already, as far as the compiler knows. */
type Text = string & { readonly [isBytes]?: never }

type Characters<Of extends string, Found = never> = Of extends `${infer First}${infer Rest}`
  ? Characters<Rest, Found | First>
  : Found
type Ascii =
  Characters<'\t\n\r !"#$%&\'()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqrstuvwxyz{|}~'>
/** Is `string` if any part of a template is text, or a character that is not ASCII. */
type BytesOf<Template extends string> = Template extends '' | WireBytes
  ? WireBytes
  : Template extends `${WireBytes}${infer Rest}`
    ? BytesOf<Rest>
    : Template extends `${infer First}${infer Rest}`
      ? First extends Ascii | `${number}`
        ? BytesOf<Rest>
        : string
      : string

export const NO_BYTES = wire('')

/**
 * Returns the bytes of a literal or a template in ASCII, whose values are bytes, numbers or literals themselves. The
 * compiler checks this: with anything else it returns a `string`. Costs nothing at run time, unlike a tagged template.
 */
export function wire<const Template extends string>(template: Template): BytesOf<Template> {
  return template as string as BytesOf<Template>
}

/** Returns the UTF-8 bytes of text. */
export function toWire(text: Text): WireBytes {
  return asWire(isAscii(text) ? text : Buffer.from(text, 'utf8').toString('latin1'))
}

/** Returns the UTF-8 bytes of a value's JSON. */
export function jsonBytes(value: object | string): WireBytes {
  return toWire(JSON.stringify(value))
}

/** Returns the bytes of a value's JSON, with all characters that are not ASCII escaped. */
export function asciiJson(value: object): WireBytes {
  return asWire(JSON.stringify(value).replace(/[\u007f-\uffff]/g, escapeCodeUnit))
}

function escapeCodeUnit(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}

/** Returns the text whose UTF-8 bytes these are. */
export function fromWire(given: WireBytes): string {
  return isAscii(given) ? given : Buffer.from(given, 'latin1').toString('utf8')
}

/** Returns both, one behind the other. */
export function plus(one: WireBytes, other: WireBytes): WireBytes {
  return asWire(one + other)
}

export function joined(pieces: readonly WireBytes[], separator = NO_BYTES): WireBytes {
  return asWire(pieces.join(separator))
}

/** Takes the caller's word that text was cut out of bytes, or is ASCII. */
export function asWire(latin1: string): WireBytes {
  return latin1 as WireBytes
}

/** Whether a string is the same as text and as bytes. */
export function isAscii(string: string): boolean {
  return Buffer.byteLength(string) === string.length
}
