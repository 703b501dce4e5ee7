import { parseInner, parseText } from '../protocol/inner-json.js'
import { isObject } from '../protocol/json-values.js'
import type { CustomTool, FunctionTool } from './settings.js'

/** The only argument of a function that stands for a custom tool with text input. */
const INPUT = 'input'

const PARAMETERS = {
  type: 'object',
  properties: { [INPUT]: { type: 'string', description: 'The whole input of the tool, as plain text.' } },
  required: [INPUT],
  additionalProperties: false,
}

/** The most text that {@link functionForCustom} adds to a tool, at a template that writes parts of a schema twice. */
export const ADDED_TO_CUSTOM = `${JSON.stringify([PARAMETERS, { ...PARAMETERS, properties: 0 }], null, 8)}Takes plain text. The input must match this grammar:`

/** Returns the function that stands for a custom tool at providers that know functions alone. */
export function functionForCustom({ cache, description, grammar, name }: CustomTool): FunctionTool {
  const words = description === undefined ? [] : [description]
  if (grammar !== undefined)
    words.push(`The input must match this ${grammar.syntax} grammar:\n${grammar.definition}`)
  return {
    kind: 'function',
    name,
    description: words.length === 0 ? 'Takes plain text.' : words.join('\n\n'),
    parameters: PARAMETERS,
    cache,
  }
}

/** Returns the arguments of a function that stands for a custom tool with text input. */
export function toCustomArguments(input: string): string {
  return JSON.stringify({ [INPUT]: input })
}

/** Returns the input in such arguments. Arguments of any other shape are the input itself. */
export function toCustomInput(args: string): string {
  const value = parseInner(args)
  // Otherwise the model broke off, or wrote the input directly.
  return isObject(value) && typeof value[INPUT] === 'string' ? value[INPUT] : args
}

const BEGINNING = /^\s*\{\s*"input"\s*:\s*"/
/** Longer text that does not begin so is the input itself. */
const MOST_BEFORE = 64
const QUOTE = 0x22
const BACKSLASH = 0x5c
const HIGH_SURROGATE = /[\ud800-\udbff]$/
// biome-ignore lint/suspicious/noControlCharactersInRegex: JSON has them as escapes alone, and models write them raw
const CONTROLS = /[\u0000-\u001f]/g

/** Reads the input of a custom tool from the pieces of such arguments. */
export class CustomInput {
  private where: 'before' | 'within' | 'behind' | 'elsewhere' = 'before'
  /** The text that is not read yet. */
  private rest = ''
  /** The first half of a character, whose second half may be in the next piece. */
  private half = ''

  /** Returns the part of the input that this piece adds. */
  take(piece: string): string {
    this.rest += piece
    if (this.where === 'before') this.begin()
    switch (this.where) {
      case 'before':
        return ''
      case 'within':
        return this.read()
      case 'elsewhere':
        return this.takeRest()
      case 'behind':
        this.rest = ''
        return ''
    }
  }

  /** Returns the rest of the input at the end of the arguments. */
  end(): string {
    return this.where === 'before' ? toCustomInput(this.takeRest()) : ''
  }

  private begin(): void {
    const [beginning] = BEGINNING.exec(this.rest) ?? []
    if (beginning !== undefined) {
      this.where = 'within'
      this.rest = this.rest.slice(beginning.length)
    } else if (this.rest.length > MOST_BEFORE) this.where = 'elsewhere'
  }

  private takeRest(): string {
    const { rest } = this
    this.rest = ''
    return rest
  }

  private read(): string {
    const { rest } = this
    let at = 0
    while (at < rest.length) {
      const code = rest.charCodeAt(at)
      if (code === QUOTE) break
      const length = code !== BACKSLASH ? 1 : rest[at + 1] === 'u' ? 6 : 2
      if (at + length > rest.length) break
      at += length
    }
    if (rest.charCodeAt(at) === QUOTE) this.where = 'behind'
    this.rest = this.where === 'behind' ? '' : rest.slice(at)
    const text = this.half + unescaped(rest.slice(0, at))
    this.half = HIGH_SURROGATE.exec(text)?.[0] ?? ''
    return text.slice(0, text.length - this.half.length)
  }
}

function unescaped(text: string): string {
  const json = `"${text.replace(CONTROLS, (control) => JSON.stringify(control).slice(1, -1))}"`
  const value = parseText(json)
  return typeof value === 'string' ? value : text
}
