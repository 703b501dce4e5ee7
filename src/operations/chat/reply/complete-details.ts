import { isObject, isText, type JsonObject } from '../../../protocol/json-values.js'

/** The formats in OpenRouter's schema of a detail. Its clients drop details in any other format. */
const FORMATS: ReadonlySet<unknown> = new Set([
  undefined,
  null,
  'unknown',
  'openai-responses-v1',
  'azure-openai-responses-v1',
  'xai-responses-v1',
  'anthropic-claude-v1',
  'google-gemini-v1',
])
/** Joins the thoughts of one message, so it belongs to none of them. */
export const BETWEEN_THOUGHTS = '\n\n'

/**
 * Completes the `reasoning_details` of a delta or message for clients that read `reasoning`. OpenRouter's clients
 * ignore `reasoning` if there is a detail that they can read. So each part of the text that is in no such detail gets
 * one, and a repeated detail is omitted. Details with other text than the reasoning, such as a summary, are unchanged.
 */
export function completeDetails(said: JsonObject): void {
  const { reasoning, reasoning_details: details } = said
  if (!isText(reasoning) || !Array.isArray(details)) return
  const completed: unknown[] = []
  let hasReadable = false
  let written = 0
  /** The rest of the text belongs after the last detail with text, and before any signature or encrypted detail. */
  let afterText = 0
  for (const detail of details) {
    const text = readableText(detail)
    if (text !== undefined) hasReadable = true
    if (isText(text)) {
      const follows = reasoning.startsWith(text, written)
      // Must come before any search: searching the rest of the text for each detail would take quadratic time.
      if (!follows && isSame(detail, completed.at(-1))) continue
      const start = follows ? written : reasoning.indexOf(text, written)
      if (start < 0) return
      addText(completed, completed.length, reasoning.slice(written, start))
      written = start + text.length
      afterText = completed.length + 1
    }
    completed.push(detail)
  }
  if (!hasReadable) return
  addText(completed, afterText, reasoning.slice(written))
  said.reasoning_details = completed
}

function isSame(detail: unknown, before: unknown): boolean {
  return JSON.stringify(detail) === JSON.stringify(before)
}

function addText(details: unknown[], place: number, text: string): void {
  if (text === '' || text === BETWEEN_THOUGHTS) return
  // This format keeps providers from mistaking it for part of a thought that they signed.
  details.splice(place, 0, { type: 'reasoning.text', text, format: 'unknown' })
}

/** Returns the text of a detail that OpenRouter's clients accept, which may be empty. Otherwise undefined. */
function readableText(detail: unknown): string | undefined {
  if (!isObject(detail)) return undefined
  const { data, format, id, index, signature, summary, text, type } = detail
  if (!FORMATS.has(format) || !isTextOrNull(id)) return undefined
  if (index !== undefined && typeof index !== 'number') return undefined
  switch (type) {
    case 'reasoning.text':
      return isTextOrNull(text) && isTextOrNull(signature) ? (text ?? '') : undefined
    case 'reasoning.summary':
      return typeof summary === 'string' ? summary : undefined
    case 'reasoning.encrypted':
      return typeof data === 'string' ? '' : undefined
    default:
      return undefined
  }
}

function isTextOrNull(value: unknown): value is string | null | undefined {
  return value === undefined || value === null || typeof value === 'string'
}
