import type { Model } from '../../contracts/index.js'
import { CompatError } from '../../errors.js'
import type { ChatRequest, ParsedChatRequest } from '../../protocol/chat-request.js'
import { cleanLabel } from '../../protocol/text.js'

const MAX_DETAILS = 20
const SHOWN_CHARS = 64

/** What every model takes, whatever its list names. */
const ALWAYS_SUPPORTED = new Set(['model', 'messages', 'stream', 'stream_options', 'user'])

/** Fields that let a provider bill beyond the price: refused unless a list names them, also where there is no list. */
const NAMED_ONLY = new Set(['plugins', 'web_search_options', 'background', 'audio'])

const FREE_TOOL_TYPES = new Set(['function', 'custom'])

/**
 * Refuses a request with a parameter that its model does not take: 400 `unsupported_parameter`, `param` naming the
 * first such parameter, `details` at most 20. A model without `supportedParameters` takes all but those that would be
 * billed beyond its price.
 */
export function checkParameters(model: Model, request: ParsedChatRequest): void {
  const unsupported = unsupportedBy(model.supportedParameters, request.forward)
  if (unsupported.length === 0) return
  const details = unsupported.map((parameter) => ({
    param: parameter,
    message: `The model '${model.id}' does not support the parameter ${parameter}.`,
  }))
  throw new CompatError('unsupported_parameter', details[0]!.message, { param: unsupported[0], details })
}

/**
 * The parameters of a request that a model or route with this list does not take, at most 20; a hosted tool stands as
 * `tools.<type>`. Without a list, only those that would be billed beyond the price.
 */
export function unsupportedBy(supported: readonly string[] | undefined, request: ChatRequest): string[] {
  const unsupported: string[] = []
  for (const field of Object.keys(request)) {
    if (unsupported.length >= MAX_DETAILS) break
    const value = request[field]
    if (value === null || value === undefined || ALWAYS_SUPPORTED.has(field)) continue
    if (field === 'n' && value === 1) continue
    const refused = supported === undefined ? isNamedOnly(field, value) : !supported.includes(field)
    if (refused) addOnce(unsupported, cleanLabel(field, SHOWN_CHARS))
    else if (field === 'tools') addHostedTools(value, supported, unsupported)
  }
  return unsupported
}

function isNamedOnly(field: string, value: unknown): boolean {
  if (NAMED_ONLY.has(field)) return true
  if (field === 'store') return value === true
  if (field === 'service_tier') return value !== 'auto' && value !== 'default'
  if (field === 'modalities') return !Array.isArray(value) || value.some((modality) => modality !== 'text')
  return false
}

/** A tool without a type is refused as well: some providers take their hosted tools in that form. */
function addHostedTools(tools: unknown, supported: readonly string[] | undefined, found: string[]): void {
  for (const tool of Array.isArray(tools) ? tools : [tools]) {
    if (found.length >= MAX_DETAILS) return
    const type: unknown = (tool as { type?: unknown } | null | undefined)?.type
    if (typeof type !== 'string') {
      addOnce(found, 'tools.type')
    } else if (!FREE_TOOL_TYPES.has(type) && !supported?.includes(`tools.${type}`)) {
      addOnce(found, `tools.${cleanLabel(type, SHOWN_CHARS)}`)
    }
  }
}

function addOnce(list: string[], text: string): void {
  if (!list.includes(text)) list.push(text)
}
