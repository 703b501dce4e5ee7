import { parseInner } from '../protocol/inner-json.js'
import { JsonBrackets } from '../protocol/json-brackets.js'
import { isObject } from '../protocol/json-values.js'
import type { Losses } from './losses.js'

/** Arguments that some providers send first, before those that the model writes. */
const PLACEHOLDERS = new Set(['{}', 'null'])
const LONGEST_PLACEHOLDER = 16
const MENDED_PLACE = 'tool_calls.function.arguments'

/**
 * The arguments of one call, which come in pieces. JSON ends when its brackets are closed. Anything after that is a
 * repetition, which some providers send, or the arguments of a further call of the same tool.
 */
export class CallArguments {
  /** The text received so far, up to the end of the JSON. It may be long, so only its pieces are read as they arrive. */
  soFar = ''
  private waiting = ''
  private hasSent = false
  /** Undefined until something other than white space has arrived. */
  private isQuoted: boolean | undefined
  private brackets = new JsonBrackets()
  private afterEnd = ''
  /** Whether they are other JSON than the provider sent. */
  private isReplaced = false

  /** @param isJson false for the input of a custom tool, which is any text */
  constructor(
    private readonly isJson: boolean,
    private readonly losses: Losses,
  ) {}

  get isClosed(): boolean {
    return this.brackets.closed
  }

  /** Whether the client has all of them, as one complete JSON document. */
  get isWhole(): boolean {
    return this.isReplaced || this.brackets.closed
  }

  /** Whether the JSON has started but is not complete. */
  get isOpen(): boolean {
    return this.soFar !== '' && !this.isClosed && !this.isPlaceholder
  }

  /** Whether the arguments received so far may still be replaced. */
  get isPlaceholder(): boolean {
    if (!this.isJson || this.hasSent || this.soFar.length > LONGEST_PLACEHOLDER) return false
    return PLACEHOLDERS.has(this.soFar.trim())
  }

  take(piece: string): void {
    if (!this.isJson) {
      this.add(piece)
      return
    }
    let rest = piece
    while (rest !== '') {
      if (this.isPlaceholder && rest.trimStart().startsWith('{')) this.restart()
      if (this.isClosed) {
        this.afterEnd += rest
        return
      }
      if (this.isQuoted === undefined && rest.trim() !== '') this.isQuoted = rest.trimStart().startsWith('"')
      const end = this.brackets.take(rest)
      this.add(rest.slice(0, end))
      rest = rest.slice(end)
    }
  }

  /** Returns what may be sent now. Placeholders, and JSON inside a string, wait for {@link end}. */
  unsent(): string {
    return this.isPlaceholder || this.isQuoted === true ? '' : this.rest()
  }

  /** Ends the arguments. `isCut` tells whether the reply was cut off. Returns what is still to be sent. */
  end(isCut = false): string {
    if (!this.isJson || this.hasSent) return this.rest()
    const whole = this.soFar.trim()
    const decoded = this.isQuoted === true ? unquoted(whole) : undefined
    if (decoded !== undefined) {
      this.replace(decoded)
      this.losses.mend('arguments-decoded')
    } else if (!isCut && (whole === '' || whole === 'null')) this.replace('{}')
    return this.rest()
  }

  /** Returns the complete arguments of further calls of the same tool that came after these. */
  further(): string[] {
    const found: string[] = []
    const given = this.soFar.trim()
    // White space at the end is read once, and at the start only before each of them.
    let rest = this.afterEnd.trim()
    this.afterEnd = ''
    while (rest !== '') {
      const brackets = new JsonBrackets()
      const end = brackets.take(rest)
      const text = rest.slice(0, end).trim()
      rest = rest.slice(end).trimStart()
      if (text === given || PLACEHOLDERS.has(text)) this.losses.mend('arguments-repeated')
      else if (isJsonObject(text)) found.push(text)
      else this.losses.mend('arguments-cut', MENDED_PLACE)
    }
    if (found.length > 0) this.losses.mend('arguments-split')
    return found
  }

  private add(text: string): void {
    this.soFar += text
    this.waiting += text
  }

  private replace(json: string): void {
    this.waiting = json
    this.isReplaced = true
  }

  private rest(): string {
    const { waiting } = this
    this.waiting = ''
    if (waiting !== '') this.hasSent = true
    return waiting
  }

  private restart(): void {
    this.soFar = ''
    this.waiting = ''
    this.isQuoted = undefined
    this.brackets = new JsonBrackets()
    this.losses.mend('arguments-repeated')
  }
}

/** Returns the JSON object in a JSON string. */
function unquoted(text: string): string | undefined {
  const inner = parseInner(text)
  return typeof inner === 'string' && isJsonObject(inner) ? inner : undefined
}

function isJsonObject(text: string): boolean {
  return isObject(parseInner(text))
}
