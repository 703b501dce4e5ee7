import { ProviderError } from '../../errors.js'
import type { ChatMessage, ChatRequest } from '../../protocol/chat-request.js'
import { isObject } from '../provider-json.js'

/**
 * The body to post, as JSON text. Throws `unsupported-request` where a message holds an address that is neither
 * `https:` nor `data:`.
 */
export function buildRequestBody(request: ChatRequest, stream: boolean): string {
  const { stream: _, stream_options: streamOptions, messages, ...rest } = request
  return JSON.stringify({
    ...rest,
    messages: messages.map(prepareMessage),
    ...(stream && {
      stream: true,
      stream_options: { ...(isObject(streamOptions) && streamOptions), include_usage: true },
    }),
  })
}

function prepareMessage(message: ChatMessage, index: number): ChatMessage {
  if (Array.isArray(message.content)) {
    message.content.forEach((part: unknown, place) => {
      checkAddresses(part, `messages.${index}.content.${place}`)
    })
  }
  if (!('parsed' in message)) return message
  // Added by client libraries to what they got, and sent back; strict providers refuse it.
  const { parsed: _, ...sent } = message
  return sent
}

/** Looks at `…url` of a part and of the objects directly in it, whatever the part's type is, and at `file_data`. */
function checkAddresses(part: unknown, path: string, depth = 0): void {
  if (!isObject(part)) return
  for (const [name, value] of Object.entries(part)) {
    const param = `${path}.${name}`
    if (typeof value === 'string') {
      const bad = /url$/i.test(name) ? !PASSED.test(value) : name === 'file_data' && isOtherAddress(value)
      if (bad) {
        throw new ProviderError('unsupported-request', `${param} must be an https: or a data: address.`, {
          param,
          providerMessage: `${param} must be an https: or a data: address.`,
        })
      }
    } else if (depth === 0) {
      checkAddresses(value, param, depth + 1)
    }
  }
}

const PASSED = /^(?:https|data):/i
const SCHEME = /^\s*[a-z][a-z0-9+.-]*:/i

/** Base64 alone is no address. */
function isOtherAddress(value: string): boolean {
  return SCHEME.test(value) && !PASSED.test(value)
}
