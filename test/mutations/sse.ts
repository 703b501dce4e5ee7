/** What a stream brings, in order. */
export type Item =
  | { readonly kind: 'data'; readonly data: string; readonly type: string | undefined }
  /** A line that is no field: an error of a server or a proxy that stands between the events. */
  | { readonly kind: 'error' }
  | { readonly kind: 'invalid' }

const FIELDS = new Set(['data', 'event', 'id', 'retry'])
const ALIVE = /^\W*(?:ping|pong|heart[-_ ]?beat|keep[-_ ]?alive)?\W*$/i
const NAMES_ERROR = /(?:error|exception|failure|fatal|panic)$/i

/** Reads all events of a stream at once, as the standard says, and the lines between them that the standard ignores. */
export function readEvents(bytes: Buffer, isWhole: boolean): Item[] {
  const text = bytes
    .toString('utf8')
    .replace(/^\uFEFF/, '')
    .replace(/\r\n?/g, '\n')
  const lines = text.split('\n')
  // What follows the last line break may be cut off.
  const cut = lines.pop() ?? ''
  const items: Item[] = []
  let data: string[] = []
  let type: string | undefined
  /** Whether an `event:` line came after data that may be whole, and the type before it. */
  let isTyped = false
  let typeBefore: string | undefined
  /** The lines since the last one of data. */
  let others = 0
  const end = (): void => {
    for (const one of documentsIn(data)) items.push({ kind: 'data', data: one, type })
    data = []
    others = 0
    type = undefined
    typeBefore = undefined
    isTyped = false
  }
  /** Ends an event without a blank line. An `event:` line behind its data is the type of the next. */
  const endJoined = (): void => {
    const next = isTyped ? type : undefined
    if (isTyped) type = typeBefore
    end()
    type = next
  }
  const mayBeJoined = (): boolean => others === 0 && data.at(-1)?.endsWith('}') === true
  let json: string | undefined
  const stray = (line: string, isCut: boolean): void => {
    if (json !== undefined || /^\s*[{[]/.test(line)) {
      const all = json === undefined ? line : `${json}\n${line}`
      const value = parsed(all)
      if (typeof value === 'object' && value !== null) {
        json = undefined
        items.push({ kind: saysError(value) ? 'error' : 'invalid' })
      } else if (!isCut) json = all
      return
    }
    if (line.trim() === '[DONE]') items.push({ kind: 'data', data: '[DONE]', type: undefined })
    else if (!isCut && !ALIVE.test(line)) items.push({ kind: 'invalid' })
  }
  const read = (line: string, isCut: boolean): void => {
    if (line === '') {
      end()
      return
    }
    if (line.startsWith(':')) {
      others++
      return
    }
    const colon = line.indexOf(':')
    const field = colon < 0 ? line : line.slice(0, colon)
    const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '')
    if (FIELDS.has(field) && colon >= 0) {
      // A new document on a line of its own: the blank line before it is missing.
      if (field === 'data' && mayBeJoined() && /^[{[]/.test(value)) endJoined()
      if (field === 'data') {
        data.push(value)
        others = 0
      } else if (field === 'event') {
        if (isTyped) others++
        else if (mayBeJoined()) {
          isTyped = true
          typeBefore = type
        }
        type = value
      } else others++
      return
    }
    others++
    if (colon >= 0 && /^[a-z][\w.-]*$/i.test(field)) {
      if (NAMES_ERROR.test(field)) items.push({ kind: 'error' })
      return
    }
    if (!FIELDS.has(field)) stray(line, isCut)
  }
  for (const line of lines) read(line, false)
  if (/^data: ?[{[]/.test(cut) && mayBeJoined()) endJoined()
  if (isWhole) {
    // Some servers omit the last blank line: an event that is complete counts.
    read(cut, true)
    const count = items.length
    end()
    const last = items.at(-1)
    const isNew = items.length > count && last?.kind === 'data'
    if (isNew && last.data !== '[DONE]' && !(last.data.startsWith('{') && parsed(last.data) !== undefined))
      items.pop()
    if (json !== undefined) items.push({ kind: 'invalid' })
  }
  return items
}

/** Splits the lines of one event into those of several that lack a blank line: `[DONE]` is always one of its own. */
function documentsIn(lines: readonly string[]): string[] {
  const documents: string[][] = []
  for (const line of lines) {
    const before = documents.at(-1)?.at(-1)
    const isNew =
      before === undefined ||
      before === '[DONE]' ||
      line === '[DONE]' ||
      (before.endsWith('}') && /^[{[]/.test(line))
    if (isNew) documents.push([line])
    else documents.at(-1)!.push(line)
  }
  return documents.map((document) => document.join('\n'))
}

export function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Whether an object between the events reports a failure. */
function saysError(value: object): boolean {
  return ['error', 'errors', 'message', 'detail', 'code', 'type'].some((name) => name in value)
}
