import { ProviderError } from '../base/errors.js'
import { JsonBrackets } from '../protocol/json-brackets.js'
import { parseLoosely } from './provider-json.js'
import { readComplaint } from './upstream-errors.js'

/** Longer JSON than this between the events of a stream is not collected. */
const COLLECTED_CHARACTERS = 64 * 1024
/** White space and byte order marks that some servers write before a field. */
const LEADING = /^(?:\s|\u00ef\u00bb\u00bf)+/
const FIELD_NAME = /^[a-z][\w.-]*$/i
/** Names of fields in which servers report why they broke off, such as `error` of llama.cpp until late 2025. */
const SAYS_ERROR = /(?:error|exception|failure|fatal|panic)$/i
const KEEPS_ALIVE = /^\W*(?:ping|pong|heart[-_ ]?beat|keep[-_ ]?alive)?\W*$/i

/** A line of a stream that is not a field of server-sent events, as the parser reads it. */
export interface UnknownLine {
  readonly field: string
  readonly value: string
  readonly line: string
}

/** Accepts the data of a stray line. */
type OnData = (data: string, type: 'error' | undefined) => void

/**
 * Reads the lines of a stream that are not fields of server-sent events. The standard ignores them, but proxies and
 * servers write their errors there: as JSON, even over several lines, as an HTML page, or in words. The stream then
 * ends as if nothing had happened.
 */
export class StrayLines {
  /** Incomplete JSON. */
  private json = ''
  private brackets = new JsonBrackets()

  constructor(private readonly onData: OnData) {}

  /**
   * Reads one line. `mayBeCut` is true if the stream ended in it. Throws a `ProviderError` for a line that cannot be
   * part of an event stream. Ignores unknown fields, as the standard says.
   */
  read({ field, value, line }: UnknownLine, mayBeCut: boolean): void {
    if (this.json !== '') {
      this.collect(line, mayBeCut)
      return
    }
    const name = field.replace(LEADING, '')
    if (line.trim() === '[DONE]') this.onData('[DONE]', undefined)
    else if (line.length > field.length && name.toLowerCase() === 'data') this.onData(value, undefined)
    else if (line.length > field.length && FIELD_NAME.test(name)) {
      if (SAYS_ERROR.test(name)) this.onData(value, 'error')
    } else if (/^\s*[{[]/.test(line)) this.collect(line, mayBeCut)
    else if (!mayBeCut && !KEEPS_ALIVE.test(line)) throw strayLine()
  }

  /** Throws if JSON started and did not end. Called before each event, and at the end of the stream. */
  check(): void {
    if (this.json !== '') throw strayLine()
  }

  private collect(line: string, mayBeCut: boolean): void {
    const isFirst = this.json === ''
    const json = isFirst ? line : `${this.json}\n${line}`
    if (isFirst) this.brackets = new JsonBrackets()
    this.brackets.take(line)
    // Parsing all of it after each line would take quadratic time.
    const value = this.brackets.closed ? parseLoosely(json) : undefined
    if (typeof value === 'object' && value !== null) {
      this.json = ''
      this.report(json, value)
      return
    }
    // A cut-off start proves nothing, just like a cut-off event.
    if (json === line && mayBeCut) return
    this.json = json
    if (json.length > COLLECTED_CHARACTERS) throw strayLine()
  }

  private report(json: string, value: object): void {
    const { providerCode, providerMessage } = readComplaint(value)
    if (providerCode === undefined && providerMessage === undefined) throw strayLine()
    this.onData(json, 'error')
  }
}

function strayLine(): ProviderError {
  return new ProviderError('invalid-response', 'The stream contains a line that is not part of an event.')
}
